//===- PlanSpec.h - Checked plans and clusters ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every directive of every plan, with names, axes, paths, levels and units
// checked and resolved. What a plan means for the program is decided by later
// stages; this only says what was asked, where, and how strongly.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_SEMA_PLANSPEC_H
#define PTLC_LANG_SEMA_PLANSPEC_H

#include "lang/Sema/Graph.h"

namespace ptlc::sema {

struct Program;

/// What a path names. A stack without an index is all its parts.
struct PathRef {
  enum class Target : uint8_t { Part, Weight, Value };
  Target target = Target::Part;
  std::string text;                       ///< as written
  llvm::SmallVector<PartId, 4> parts;     ///< Part: what is meant; Weight, Value: their owners
  llvm::SmallVector<uint32_t, 4> weights; ///< Weight: those; Part: all inside; ascending
  std::string valueName;                  ///< Value: its name in the functions of `parts`
  unsigned strength = 0;                  ///< longer paths win; an index counts as a name
  lang::SourceRange range;
};
/// A stack, or a range of its parts, that a directive runs along.
struct StackRef {
  std::string text;
  llvm::SmallVector<PartId, 8> parts;
  lang::SourceRange range;
};

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  lang::SourceRange range;
};
/// Axes of the mesh by index, the outer first; empty means `none`.
struct AxisList {
  llvm::SmallVector<unsigned, 2> axes;
  lang::SourceRange range;
};

/// `shard d: axes`, one rule for one dimension name. Strength, from strong to weak: `in`,
/// `between`, neither.
struct ShardRule {
  std::string dim; ///< as written
  DimList dims;    ///< all dimensions that it names
  AxisList axes;
  std::vector<PathRef> in;
  std::optional<StackRef> between;
  lang::SourceRange range;
};
struct ZeroRule {
  int level = 0;
  AxisList over;
  std::vector<PathRef> in;
  lang::SourceRange range;
};
enum class Precision : uint8_t { F32, BF16, F16 };
struct PrecisionRule {
  Precision precision = Precision::F32;
  std::vector<PathRef> in;
  lang::SourceRange range;
};
enum class Remat : uint8_t { None, Attention, Selective, Full, Auto };
struct RematRule {
  Remat remat = Remat::None;
  std::vector<PathRef> in;
  lang::SourceRange range;
};
enum class PipeSchedule : uint8_t { GPipe, OneFOneB, Interleaved, ZbH1, ZbV, File };
struct PipelineRule {
  std::vector<StackRef> stacks;
  AxisList over;
  PipeSchedule schedule = PipeSchedule::OneFOneB;
  int64_t chunks = 1;        ///< of `interleaved`
  std::string file;          ///< of `file`
  std::vector<PathRef> cuts; ///< a stage begins at each
  lang::SourceRange range;
};
enum class Comparison : uint8_t { Le, Lt, Ge, Gt };
/// `assert memory <= 10 GB`: value in bytes, seconds or as a fraction.
struct Promise {
  enum class What : uint8_t { Memory, Traffic, Bubble, Time };
  What what = What::Memory;
  std::optional<unsigned> axis; ///< Traffic; absent: all axes together
  Comparison comparison = Comparison::Le;
  double value = 0;
  lang::SourceRange range;
};

/// A machine description. Rates are per second; absent: not said.
struct ClusterSpec {
  std::string name;
  std::optional<double> nodes, devices, intra, inter, memory, peak, peakF32;
  std::optional<double> bandwidth, units, intraLatency, interLatency;
  lang::SourceRange range;
};

struct PlanSpec {
  std::string name; ///< "_" for the plan that `--mesh` alone means, "" for one device
  std::vector<MeshAxis> mesh;
  std::optional<unsigned> cluster; ///< index into Program::clusters
  std::vector<ShardRule> shards;
  std::optional<PipelineRule> pipeline;
  int64_t microbatches = 1;
  std::vector<ZeroRule> zeros;
  std::vector<PrecisionRule> precisions;
  std::vector<RematRule> remats;
  std::vector<unsigned> place; ///< axes, outermost link first; empty: the compiler chooses
  std::optional<bool> overlap;
  std::optional<double> bucketBytes;
  bool reproducible = false;
  std::vector<Promise> promises;
  lang::SourceRange range, microbatchesRange, placeRange, bucketRange, reproducibleRange;

  int64_t ranks() const; ///< the product of the axes' sizes
  /// The axes of `list` that have more than one device: the others change nothing.
  llvm::SmallVector<unsigned, 2> wide(const AxisList &list) const;
  /// Whether a rule over `list` says nothing on this mesh; `none` always says something.
  bool isVoid(const AxisList &list) const { return !list.axes.empty() && wide(list).empty(); }
};

/// `--mesh dp=4`.
struct MeshOverride {
  std::string axis;
  int64_t size = 1;
};

/// The plan to compile: `name` if it isn't empty, else one device, both with the sizes of `mesh`
/// put in (a mesh without a plan shards the batch over `dp`). Reports on `diags` and returns
/// nullopt if there is no such plan or axis, or the plan can't hold on these sizes.
std::optional<PlanSpec> selectPlan(const Program &program, llvm::StringRef name,
                                   llvm::ArrayRef<MeshOverride> mesh,
                                   lang::DiagnosticEngine &diags);

/// Reports each directive of `plan` that this compiler can check but not yet carry out, at its
/// line. Directives that change nothing on this mesh (axes of size 1) pass. Returns true if all can
/// be.
bool refuseUnsupported(const PlanSpec &plan, lang::DiagnosticEngine &diags);

/// Reports what forbids cutting the batch into the micro-batches that `plan` asks for: a non-linear
/// use of a total over the batch, or pieces that cut through a group. Returns true if nothing does.
/// `analyze` has asked this of every plan; later stages needn't.
bool checkMicrobatches(const Program &program, const PlanSpec &plan, lang::DiagnosticEngine &diags);

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_PLANSPEC_H
