//===- Mapping.cpp - Which thread does what in a row kernel ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The limits keep every kernel within the registers that ptxas may give a
// thread: 255 up to 256 threads a block, 128 for 512, 64 for 1024. They were
// checked with ptxas for the models of the tests, not tuned on a GPU.
//===----------------------------------------------------------------------===//
#include "compiler/Conversion/KernelToGpu/Mapping.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace ptlc;
using namespace ptlc::kernel;

/// Words of operands that a thread holds at once, by the threads of a row.
static int64_t mostResidentWords(unsigned team) {
  return team <= Mapping::kWarp ? 32 : team <= 512 ? 28 : 16;
}
/// Words of sums over rows that a thread holds.
static constexpr int64_t kSumWords = 32;
static constexpr unsigned kMostThreads = 1024;
/// Threads of rows that are read again, of those that are only passed through, and of a block of
/// short rows. LLVM unrolls the loops over long rows, so more threads would have too few registers.
static constexpr unsigned kFoldThreads = 512, kStreamThreads = 256, kBlock = 128;
/// Rows of a team that sums over rows: a part of the sum is written once per so many rows.
static constexpr int64_t kRowsPerPart = 16;
/// Blocks that keep the largest GPUs (132 multiprocessors) busy where more gain nothing.
static constexpr int64_t kManyBlocks = 264;
/// Parts of a sum over rows, which another kernel adds up one by one.
static constexpr int64_t kMostParts = 512;

bool kernel::isVectorAlong(const Graph &graph, llvm::ArrayRef<DimId> dims, const Strides &strides,
                           Elem elem, DimId along) {
  if (byteSize(elem) > 4)
    return false;
  bool found = false;
  for (auto [dim, stride] : llvm::zip_equal(dims, strides)) {
    if (dim == along && stride != 1)
      return false;
    if (dim != along && graph.dims[dim].size > 1 && stride % Mapping::kVector != 0)
      return false;
    found |= dim == along;
  }
  return found;
}

namespace {
class Mapper {
public:
  Mapper(const Graph &graph, const RowPlan &plan, const Binding &binding)
      : graph(graph), plan(plan), binding(binding) {}
  std::string run(Mapping &mapping);

private:
  std::string check() const;
  std::string check(const Action &action, const Loop &loop) const;
  std::string checkShared(const Mapping &mapping) const;
  int64_t mostFolds() const;
  std::string findKept(Mapping &mapping) const;
  void chooseGrid(Mapping &mapping) const;
  unsigned lanesOf(const Loop &loop) const;
  int64_t vectors(unsigned loop, unsigned lanes) const {
    return llvm::divideCeil(graph.volume(plan.loops()[loop].dims), lanes);
  }
  int64_t residentWords(const Mapping &mapping) const;
  int64_t sumWords(const Mapping &mapping) const;
  void chooseTeam(Mapping &mapping) const;
  bool any(Action::Kind kind) const {
    return llvm::any_of(plan.loops(), [&](const Loop &loop) {
      return llvm::any_of(loop.actions, [&](const Action &a) { return a.kind == kind; });
    });
  }

  const Graph &graph;
  const RowPlan &plan;
  const Binding &binding;
};
} // namespace

std::string Mapper::check(const Action &action, const Loop &loop) const {
  const Node &node = *action.node;
  if (action.kind == Action::Select)
    return "top_k";
  if (action.kind == Action::AddRow) {
    DimList left = graph.inner(graph.outputs[action.output].dims);
    return left.empty() || sameSet(left, loop.dims)
               ? ""
               : "a sum over rows and over some of the dimensions of a row";
  }
  if (action.kind == Action::Scatter) {
    DimList left = graph.outputs[action.output].dims;
    llvm::erase(left, node.over[0]);
    return sameSet(left, loop.dims) && graph.inner(node.operands[0]->dims).empty()
               ? ""
               : "a scatter whose ids differ within a row";
  }
  return "";
}

std::string Mapper::check() const {
  for (const auto &node : graph.nodes)
    if (node->kind == NodeKind::Random && node->normal)
      return "normal random numbers";
  if (any(Action::AddRow) && any(Action::Scatter))
    return "a kernel that both adds rows and scatters them";
  for (const Loop &loop : plan.loops())
    for (const Action &action : loop.actions)
      if (std::string error = check(action, loop); !error.empty())
        return error;
  return "";
}

/// Folds of one loop, and of the values that sums over rows end with.
int64_t Mapper::mostFolds() const {
  int64_t sums = 0;
  for (const Loop &loop : plan.loops())
    sums += llvm::count_if(loop.actions, [](const Action &a) { return a.kind == Action::AddRow; });
  int64_t folds =
      llvm::count_if(graph.nodes, [](const auto &node) { return node->kind == NodeKind::Reduce; });
  return std::max<int64_t>({1, sums, folds});
}

/// Folds that leave dimensions of the row need a word for each value and team of the block.
std::string Mapper::checkShared(const Mapping &mapping) const {
  int64_t bytes = 0;
  for (const Loop &loop : plan.loops())
    for (const Action &action : loop.actions)
      if (action.kind == Action::Accumulate)
        bytes += graph.volume(plan.scratch(action.node)->dims) * mapping.teamsPerBlock() *
                 Mapping::kWord;
  if ((any(Action::Reduce) && mapping.team > Mapping::kWarp) ||
      (any(Action::AddRow) && mapping.block > Mapping::kWarp))
    bytes += mapping.exchangeWords() * Mapping::kWord;
  if (bytes <= Mapping::kSharedBytes)
    return "";
  return "a row that needs " + std::to_string(bytes) + " bytes of shared memory (at most " +
         std::to_string(Mapping::kSharedBytes) + ")";
}

/// Sums that keep row dimensions must keep the same ones.
std::string Mapper::findKept(Mapping &mapping) const {
  for (const Loop &loop : plan.loops())
    for (const Action &action : loop.actions) {
      if (action.kind != Action::AddRow)
        continue;
      DimList kept;
      for (DimId dim : graph.iterate)
        if (llvm::is_contained(graph.outputs[action.output].dims, dim))
          kept.push_back(dim);
      if (!kept.empty() && !mapping.kept.empty() && kept != mapping.kept)
        return "sums over different dimensions of the rows";
      if (!kept.empty())
        mapping.kept = kept;
    }
  return "";
}

/// Vectors along the innermost dimension where some tensor holds it contiguous.
unsigned Mapper::lanesOf(const Loop &loop) const {
  if (loop.dims.empty())
    return 1;
  DimId last = loop.dims.back();
  int64_t size = graph.dims[last].size;
  if (size < Mapping::kVector || (loop.dims.size() > 1 && size % Mapping::kVector != 0))
    return 1;
  for (auto [argument, strides, slot] :
       llvm::zip_equal(graph.arguments, binding.arguments, binding.argumentSlots))
    if (binding.aligned[slot] && isVectorAlong(graph, argument.dims, strides, argument.elem, last))
      return Mapping::kVector;
  for (auto [output, strides, slot] :
       llvm::zip_equal(graph.outputs, binding.outputs, binding.outputSlots))
    if (binding.aligned[slot] &&
        isVectorAlong(graph, output.dims, strides, output.node->elem, last))
      return Mapping::kVector;
  return 1;
}

/// Words that a thread holds if all of its part of a row is unrolled.
int64_t Mapper::residentWords(const Mapping &mapping) const {
  int64_t words = 0;
  llvm::SmallVector<DimList> seen;
  for (auto [number, loop] : llvm::enumerate(plan.loops())) {
    if (loop.dims.empty() || llvm::is_contained(seen, loop.dims))
      continue;
    seen.push_back(loop.dims);
    unsigned lanes = mapping.lanes[number];
    int64_t own = llvm::divideCeil(vectors(number, lanes), mapping.team) * lanes;
    int64_t operands = llvm::count_if(graph.arguments, [&](const Argument &argument) {
      return !graph.inner(argument.dims).empty();
    });
    words += own * std::max<int64_t>(1, operands);
  }
  return words;
}

int64_t Mapper::sumWords(const Mapping &mapping) const {
  int64_t words = 0;
  for (auto [number, loop] : llvm::enumerate(plan.loops()))
    for (const Action &action : loop.actions)
      if (action.kind == Action::AddRow)
        words += llvm::divideCeil(vectors(number, mapping.lanes[number]), mapping.team) *
                 mapping.lanes[number];
  return words;
}

void Mapper::chooseTeam(Mapping &mapping) const {
  int64_t most = 1;
  for (unsigned i = 0; i < plan.loops().size(); ++i)
    most = std::max(most, vectors(i, mapping.lanes[i]));
  unsigned least = mapping.owned ? Mapping::kWarp : 1;
  mapping.resident = true;
  mapping.team = std::max<unsigned>(least, llvm::PowerOf2Ceil(most));
  if (mapping.team <= Mapping::kWarp && residentWords(mapping) <= mostResidentWords(mapping.team))
    return;
  for (mapping.team = std::min<unsigned>(mapping.team, Mapping::kWarp);
       mapping.team <= kMostThreads; mapping.team *= 2)
    if (residentWords(mapping) <= mostResidentWords(mapping.team))
      return;
  mapping.resident = false;
  bool folds = any(Action::Reduce);
  mapping.team =
      std::clamp<unsigned>(llvm::PowerOf2Ceil(most), least, folds ? kFoldThreads : kStreamThreads);
}

std::string Mapper::run(Mapping &mapping) {
  if (std::string error = check(); !error.empty())
    return error;
  for (const Loop &loop : plan.loops())
    mapping.lanes.push_back(lanesOf(loop));
  mapping.owned = any(Action::Scatter);
  chooseTeam(mapping);
  mapping.block = mapping.owned || mapping.team > Mapping::kWarp ? mapping.team
                                                                 : std::max(kBlock, mapping.team);
  mapping.folds = mostFolds();
  if (std::string error = checkShared(mapping); !error.empty())
    return error;
  mapping.rows = graph.volume(graph.iterate);
  mapping.sumsInRegisters = mapping.resident && sumWords(mapping) <= kSumWords;
  if (std::string error = findKept(mapping); !error.empty())
    return error;
  chooseGrid(mapping);
  return "";
}

void Mapper::chooseGrid(Mapping &mapping) const {
  int64_t perBlock = mapping.teamsPerBlock();
  if (mapping.owned) {
    mapping.grid = kManyBlocks;
    mapping.iterations = mapping.rows;
  } else if (!mapping.kept.empty()) {
    int64_t kept = graph.volume(mapping.kept);
    mapping.grid = llvm::divideCeil(kept, perBlock);
    mapping.iterations = mapping.rows / kept;
  } else if (any(Action::AddRow)) {
    int64_t most = std::max<int64_t>(1, std::min(kManyBlocks, kMostParts / perBlock));
    mapping.grid =
        std::clamp<int64_t>(llvm::divideCeil(mapping.rows, kRowsPerPart * perBlock), 1, most);
    mapping.iterations = llvm::divideCeil(mapping.rows, mapping.grid * perBlock);
  } else {
    mapping.grid = llvm::divideCeil(mapping.rows, perBlock);
  }
}

std::optional<Mapping> kernel::mapToThreads(const Graph &graph, const RowPlan &plan,
                                            const Binding &binding, std::string &error) {
  Mapping mapping;
  error = Mapper(graph, plan, binding).run(mapping);
  return error.empty() ? std::optional(mapping) : std::nullopt;
}
