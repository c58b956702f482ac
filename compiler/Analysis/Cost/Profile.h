//===- Profile.h - What a rank's step consists of ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The numbers that memory and time are computed from, taken operation by operation
// from a program at stage `spmd`: local sizes, explicit collectives, nothing fused.
// A *unit* is one part of an outermost stack ("blocks.3"), or what stands before
// or behind all stacks; pipeline stages are rows of units.
//
// Sizes are doubles, so that a profile for any micro-batch can be had from two
// (see between()).
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_COST_PROFILE_H
#define PTLC_COMPILER_ANALYSIS_COST_PROFILE_H

#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace ptlc::cost {

enum class Work : uint8_t {
  Product,   ///< `batch` products (m, k) x (k, n)
  Attention, ///< fused: `flops`, and `bytes` of operands and results
  Stream,    ///< a kernel that reads and writes `bytes`
  Transfer   ///< a collective over `axes` on a buffer of `bytes`
};
enum class TransferKind : uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll, Permute };

/// Mesh axes as bits, by their place in Profile::axes.
using AxisMask = uint32_t;

/// One kernel or collective, once per micro-batch.
struct Task {
  Work work = Work::Stream;
  bool backward = false;
  bool weightGradient = false; ///< a product that gives the gradient of a weight
  bool activations = false;    ///< a product of two activations
  bool core = false;           ///< of an attention that is written out: from scores to their use
  bool attends = false; ///< the weighted sum of an attention, or all of it if that is one operation
  double batch = 1, m = 1, n = 1, k = 1;
  double width = 2; ///< bytes of an element of operands, of a product or attention
  double flops = 0, bytes = 0;
  TransferKind transfer = TransferKind::AllReduce;
  AxisMask axes = 0;
  /// Operations of the unit that may run while a transfer of the backward is under way.
  std::vector<unsigned> beside;
};

/// A value of the forward that the backward reads.
struct Kept {
  std::string name; ///< "blocks.0.attn.q", or what makes it
  std::string line, dims;
  double bytes = 0;
  bool core = false, attends = false; ///< what makes it: see Task
  bool isStatistic = false;           ///< a number per row
  bool isLoss = false; ///< logits and what the loss makes of them, which live piece by piece
  /// Of the result of an all-gather, the bytes of a rank's shard; else 0.
  double shardBytes = 0;
  AxisMask axes = 0; ///< of the all-gather
  std::vector<unsigned> beside;
};

/// What the backward needs of the forward.
enum class Remat : uint8_t {
  None,
  Attention, ///< scores, their softmax and drop-out, and the weighted sum are computed again
  Selective, ///< all of that but the weighted sum; inputs of products are gathered again
  Full       ///< the inputs of a part of a stack and statistics of rows are kept
};
inline constexpr unsigned kRemats = 4;

/// Elements of weights on a rank.
struct Elements {
  double all = 0, trained = 0;
  double states = 0; ///< times the states of their optimizers
  void add(const Elements &other, double times = 1) {
    all += times * other.all;
    trained += times * other.trained;
    states += times * other.states;
  }
};

struct Unit {
  std::string name; ///< "blocks.3"; "first" or "last" outside of stacks
  bool isPart = false;
  unsigned repeat = 1; ///< how many parts behind each other it stands for
  std::vector<Task> tasks;
  std::vector<Kept> kept;
  double inputBytes = 0; ///< values that other units made and it reads
  double phaseBytes = 0; ///< that the phases of a pipeline keep more, or less: see KeptFinder
  double lateBytes = 0;  ///< values of the backward that the gradients of weights read
  double workBytes = 0;  ///< operands and results of its largest operation, without the loss's
  double lossBytes = 0;  ///< of the largest value that the loss is made of: the logits

  // Set by Profile::sumUp().
  Elements own;                   ///< of weights that no other unit uses
  double keptBytes[kRemats] = {}; ///< for one micro-batch, without what the loss is made of
};

struct WeightShard {
  std::string path;
  double elements = 0;       ///< of one rank
  double globalElements = 0; ///< of the whole weight
  bool trained = true;
  unsigned states = 0;         ///< of its optimizer
  std::vector<unsigned> units; ///< that use it, ascending
  Elements sizes() const {
    return {elements, trained ? elements : 0, trained ? elements * states : 0};
  }
};

struct ProfileAxis {
  std::string name;
  int64_t size = 1;
};

struct Profile {
  std::vector<ProfileAxis> axes;
  AxisMask dataAxes = 0; ///< that divide the batch
  std::vector<Unit> units;
  std::vector<WeightShard> weights;
  double microbatches = 1;
  double samples = 0; ///< of a micro-batch, on all ranks

  std::vector<unsigned> shared; ///< weights that several units use

  /// Fills what is summed up over weights and kept values; to be called when these change.
  void sumUp();
  double parameters() const; ///< of the model
  double ranks() const;      ///< of the mesh
  /// Returns the place of axis `name`, or -1.
  int findAxis(llvm::StringRef name) const;
  double sizeOf(AxisMask mask) const;
};

/// How operations that work element by element become kernels.
enum class Kernels : uint8_t {
  Fused,   ///< as `fuse-rows` does: with everything up to the next product or collective
  Separate ///< norms, softmax, drop-out and sums are kernels of their own
};

struct ProfileOptions {
  std::vector<std::string> stacks; ///< paths of the program's stacks, in order of declaration
  bool half = false;               ///< f32 values will be stored in two bytes (`precision bf16`)
  Kernels kernels = Kernels::Fused;
};

/// Reads `@step` of `module`, which is at stage `spmd`. Returns nullopt if there is none.
std::optional<Profile> profileOf(mlir::ModuleOp module, const ProfileOptions &options);

/// The profile for micro-batches of `samples` samples per rank, from those for one and for two:
/// every size of a program is a + b * samples. Returns nullopt if the two differ in more than
/// sizes.
std::optional<Profile> between(const Profile &one, const Profile &two, double samples);

} // namespace ptlc::cost

#endif // PTLC_COMPILER_ANALYSIS_COST_PROFILE_H
