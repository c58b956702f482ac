//===- TrainSpec.h - The checked train block ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every directive of `train`, with defaults filled in (PyTorch's) and paths
// resolved to weights. Ranges are those of the directives, for messages of
// later stages.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_SEMA_TRAINSPEC_H
#define PTLC_LANG_SEMA_TRAINSPEC_H

#include "lang/Diag/Diagnostics.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ptlc::sema {

enum class DataKind : uint8_t { Tokens, Text, Npy };
enum class Tail : uint8_t { Drop, Short, Wrap };

/// One file of a data directive. For npy the field is named; tokens and text have several files in
/// order and the fields `tokens` and `targets`.
struct DataFile {
  std::string field; ///< empty unless npy
  std::string file;  ///< as written; relative to where the executable runs
  lang::SourceRange range;
};
struct DataSpec {
  DataKind kind = DataKind::Tokens;
  std::vector<DataFile> files;
  bool shuffle = false;
  Tail tail = Tail::Drop;
  bool tailGiven = false; ///< written; else an evaluation takes all of its data
  lang::SourceRange range;
};

enum class OptimizerKind : uint8_t { AdamW, Sgd, Lion, Muon, Lamb };

/// One optimizer with the weights that it updates. Weight decay holds for weights of two or more
/// dimensions only.
struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::AdamW;
  double lr = 0;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8; ///< adamw, lamb; lion: betas; muon: eps
  double weightDecay = 0;
  double momentum = 0, dampening = 0;               ///< sgd; muon: momentum
  bool nesterov = false;                            ///< sgd, muon
  int64_t nsSteps = 5;                              ///< muon: Newton-Schulz iterations
  double polynomial[3] = {3.4445, -4.7750, 2.0315}; ///< muon: of each of them
  llvm::StringRef adjustLr = "original";            ///< muon, or "match_rms_adamw"
  std::vector<uint32_t> weights; ///< indices into Program::weights, trained ones, ascending
  lang::SourceRange range;
};

/// Factors on every learning rate, by step counted from 0. `Steps`: times `factor` at each of `at`.
enum class ScheduleKind : uint8_t { Constant, WarmupCosine, WarmupLinear, Steps };
struct ScheduleSpec {
  ScheduleKind kind = ScheduleKind::Constant;
  int64_t warmup = 0, total = 0;
  double minLr = 0;
  std::vector<int64_t> at;
  double factor = 1;
  lang::SourceRange range;
};

struct EvalSpec {
  DataSpec data;
  int64_t every = 0;
  std::optional<int64_t> batches; ///< absent: the whole file
  lang::SourceRange range;
};
struct CheckpointSpec {
  std::string directory;
  std::optional<int64_t> every; ///< absent: at the end only
  lang::SourceRange range;
};
/// Weights from a file, before the first step. With `to: path` the file's names are those below it.
struct InitSpec {
  std::string file;
  std::string prefix;            ///< "base" or empty
  std::vector<uint32_t> weights; ///< the weights that it gives values
  lang::SourceRange range;
};
enum class OnNonfinite : uint8_t { Stop, Skip };

struct TrainSpec {
  std::string model;
  DataSpec data;
  int64_t batch = 0;
  int64_t steps = 0;
  std::vector<OptimizerSpec> optimizers;
  ScheduleSpec schedule;
  std::optional<double> clip;
  uint64_t seed = 0;
  std::vector<EvalSpec> evals;
  std::optional<CheckpointSpec> checkpoint;
  std::vector<InitSpec> inits;
  OnNonfinite onNonfinite = OnNonfinite::Stop;
  lang::SourceRange range, batchRange, stepsRange, clipRange, seedRange, onNonfiniteRange;
};

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_TRAINSPEC_H
