//===- RowPlan.cpp - Loops and storage of a row kernel --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Outputs pull in what they need: reductions get loops first, then the outputs'
// stores; loops are ordered by depth at the end, and only then is it known which
// dear values are used by several loops and worth a scratch row.
//===----------------------------------------------------------------------===//
#include "compiler/Analysis/Kernel/RowPlan.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace ptlc;
using namespace ptlc::kernel;

/// Scratch rows live on the stack of a worker thread.

bool kernel::movesIndices(const Node &node) {
  switch (node.kind) {
  case NodeKind::Gather:
  case NodeKind::Reindex:
  case NodeKind::Pad:
  case NodeKind::Concat:
  case NodeKind::Block:
    return true;
  default:
    return false;
  }
}

/// True if computing the value again costs more than storing and loading it.
static bool isDear(const Node &node) {
  if (node.kind == NodeKind::Random || node.kind == NodeKind::Gather)
    return true;
  if (node.kind != NodeKind::Map)
    return false;
  switch (node.map) {
  case Map::Exp:
  case Map::Log:
  case Map::Sin:
  case Map::Cos:
  case Map::Tanh:
  case Map::Sigmoid:
  case Map::Pow:
  case Map::Gelu:
  case Map::Silu:
  case Map::GeluGrad:
  case Map::SiluGrad:
    return true;
  default:
    return false;
  }
}

static bool isReduction(const Node &node) {
  return node.kind == NodeKind::Reduce || node.kind == NodeKind::TopK;
}

/// The dimensions of operand `index` that the node evaluates at other indices.
static DimList movedDims(const Node &node, unsigned index) {
  switch (node.kind) {
  case NodeKind::Gather:
    return index == 0 ? DimList{node.over[0]} : DimList();
  case NodeKind::Reindex: {
    DimList result;
    for (const ReindexGroup &group : node.groups)
      llvm::append_range(result, group.from);
    return result;
  }
  case NodeKind::Pad:
  case NodeKind::Block:
    return index == 0 ? DimList{node.over[0]} : DimList();
  case NodeKind::Concat:
    return {node.over[index]};
  default:
    return {};
  }
}

static bool intersects(llvm::ArrayRef<DimId> a, llvm::ArrayRef<DimId> b) {
  return llvm::any_of(a, [&](DimId dim) { return llvm::is_contained(b, dim); });
}

std::optional<RowPlan> RowPlan::create(const Graph &graph, std::string &error) {
  RowPlan plan(graph);
  error = plan.plan();
  if (!error.empty())
    return std::nullopt;
  return plan;
}

std::string RowPlan::plan() {
  for (unsigned i = 0; i < graph.outputs.size(); ++i)
    if (std::string error = addOutput(i); !error.empty())
      return error;
  keepDearValues();
  if (scratchBytes > kScratchLimit)
    return "a row needs " + std::to_string(scratchBytes) + " bytes of scratch memory, more than " +
           std::to_string(kScratchLimit);
  return "";
}

const Scratch *RowPlan::scratch(const Node *node) const {
  auto it = scratch_.find(node);
  return it == scratch_.end() ? nullptr : &it->second;
}

std::optional<unsigned> RowPlan::madeIn(const Node *node) const {
  for (unsigned i = 0; i < loops_.size(); ++i)
    for (const Action &action : loops_[i].actions)
      if (action.node == node && action.kind != Action::Store)
        return i;
  return std::nullopt;
}

void RowPlan::add(unsigned depth, DimList dims, Action action, unsigned folded) {
  for (Loop &loop : loops_)
    if (loop.depth == depth && loop.dims == dims && loop.folded == folded &&
        action.kind != Action::Select)
      return (void)loop.actions.push_back(action);
  auto later = llvm::find_if(loops_, [&](const Loop &loop) { return loop.depth > depth; });
  loops_.insert(later, {depth, std::move(dims), {action}, folded});
}

/// How many of the last dimensions of `loop` are those that `node` folds; 0 if it also folds
/// others.
static unsigned foldedDims(const Node &node, const DimList &loop, size_t left) {
  size_t count = loop.size() - left;
  return intersects(llvm::ArrayRef(loop).take_front(left), node.over) ? 0 : count;
}

unsigned RowPlan::depthOf(const Node *node) {
  if (auto it = depths.find(node); it != depths.end())
    return it->second;
  unsigned depth = 0;
  for (const Node *operand : node->operands)
    depth = std::max(depth, depthOf(operand));
  if (isReduction(*node))
    ++depth;
  return depths[node] = depth;
}

/// Materialised values below a node that moves indices must be of the same row.
std::string RowPlan::checkRows(const Node *node, DimList moved, unsigned budget) const {
  if (isReduction(*node) || node->kind == NodeKind::ScatterAdd) {
    for (DimId dim : node->dims)
      if (graph.isRow(dim) && llvm::is_contained(moved, dim))
        return "a reduction is read at another '" + graph.dims[dim].name + "' than its own";
    return "";
  }
  for (unsigned i = 0; i < node->operands.size(); ++i) {
    DimList below = moved;
    llvm::append_range(below, movedDims(*node, i));
    if (std::string error = checkRows(node->operands[i], below, budget); !error.empty())
      return error;
  }
  return "";
}

/// Adds loops for the reductions below `node`, operands first.
std::string RowPlan::visit(Node *node) {
  if (std::exchange(visited[node], true))
    return "";
  for (Node *operand : node->operands)
    if (std::string error = visit(operand); !error.empty())
      return error;
  if (movesIndices(*node))
    if (std::string error = checkRows(node, {}, 0); !error.empty())
      return error;
  if (isReduction(*node))
    return addReduction(node);
  if (node->kind == NodeKind::ScatterAdd)
    return "the result of scatter_add is used in the kernel that makes it";
  return "";
}

std::string RowPlan::addReduction(Node *node) {
  if (intersects(node->over, graph.iterate))
    return "a sum over rows is used in the kernel that makes it";
  DimList left = graph.inner(node->dims);
  DimList loop = graph.inner(node->operandDims);
  unsigned depth = depthOf(node) - 1;
  if (node->kind == NodeKind::Reduce && left.empty()) {
    add(depth, loop, {Action::Reduce, node});
    return "";
  }
  scratch_[node] = {left};
  scratchNodes_.push_back(node);
  scratchBytes += graph.volume(left) * byteSize(node->elem);
  if (node->kind == NodeKind::Reduce) {
    unsigned folded = foldedDims(*node, loop, left.size());
    add(depth, std::move(loop), {Action::Accumulate, node}, folded);
    return "";
  }
  if (node->kind == NodeKind::TopK)
    llvm::erase(left, node->over[1]);
  add(depth, left, {Action::Select, node});
  return "";
}

std::string RowPlan::addOutput(unsigned index) {
  const Output &output = graph.outputs[index];
  Node *node = output.node;
  bool overRows = node->kind == NodeKind::ScatterAdd ||
                  (node->kind == NodeKind::Reduce && intersects(node->over, graph.iterate));
  if (!overRows) {
    for (DimId dim : graph.iterate)
      if (!llvm::is_contained(output.dims, dim) && graph.dims[dim].size > 1)
        return "a result lacks dimension '" + graph.dims[dim].name +
               "' of the rows, and isn't a sum over it";
    if (std::string error = visit(node); !error.empty())
      return error;
    add(depthOf(node), graph.inner(output.dims), {Action::Store, node, index});
    return "";
  }
  sequential_ = true;
  for (Node *operand : node->operands)
    if (std::string error = visit(operand); !error.empty())
      return error;
  unsigned depth = 0;
  for (Node *operand : node->operands)
    depth = std::max(depth, depthOf(operand));
  bool scatter = node->kind == NodeKind::ScatterAdd;
  add(depth, graph.inner(node->operandDims),
      {scatter ? Action::Scatter : Action::AddRow, node, index});
  return "";
}

bool RowPlan::isMaterialised(const Node *node) const {
  return isReduction(*node) || scratch_.count(node);
}

void RowPlan::forEachNeeded(unsigned loop, Kept kept,
                            llvm::function_ref<void(Node *, Access)> f) const {
  llvm::DenseSet<std::pair<Node *, unsigned>> seen;
  llvm::SmallVector<std::pair<Node *, Access>> stack;
  for (const Action &action : loops_[loop].actions) {
    if (action.kind == Action::Store || action.kind == Action::Keep) {
      stack.push_back({action.node, InPlace});
      continue;
    }
    // TopK reads its operand at indices of loops of its own; what scatter_add starts from is read
    // elsewhere.
    Access access = action.kind == Action::Select ? Moved : InPlace;
    for (auto [i, operand] : llvm::enumerate(action.node->operands))
      stack.push_back({operand, action.kind == Action::Scatter && i == 2 ? OtherRow : access});
  }
  while (!stack.empty()) {
    auto [node, access] = stack.pop_back_val();
    if (!seen.insert({node, access}).second)
      continue;
    f(node, access);
    if (isReduction(*node) ||
        (kept == Kept::Loaded && scratch_.count(node) && madeIn(node) != loop))
      continue;
    for (auto [i, operand] : llvm::enumerate(node->operands)) {
      DimList moved = movedDims(*node, i);
      Access own = moved.empty() ? InPlace : intersects(moved, graph.iterate) ? OtherRow : Moved;
      stack.push_back({operand, std::max(access, own)});
    }
  }
}

/// A dear value is stored by its first loop and loaded by the others; one that lacks dimensions of
/// the loop (a rotation's angle, the same for all heads) is computed before it.
void RowPlan::keepDearValues() {
  for (const std::unique_ptr<Node> &owned : llvm::reverse(graph.nodes)) {
    Node *node = owned.get();
    DimList inner = graph.inner(node->dims);
    int64_t volume = graph.volume(inner), bytes = volume * byteSize(node->elem);
    if (!isDear(*node) || inner.empty() || scratchBytes + bytes > kScratchLimit)
      continue;
    llvm::SmallVector<unsigned> users;
    Access access = InPlace;
    int64_t evaluations = 0;
    for (unsigned i = 0; i < loops_.size(); ++i) {
      bool needed = false;
      forEachNeeded(i, Kept::Loaded, [&](Node *other, Access how) {
        if (other != node)
          return;
        needed = true;
        access = std::max(access, how);
      });
      if (!needed)
        continue;
      users.push_back(i);
      evaluations += graph.volume(loops_[i].dims);
    }
    // Rows of other indices are not at hand.
    if (access != OtherRow && (users.size() > 1 || evaluations >= 2 * volume))
      keep(node, users.front(), access == Moved);
  }
}

void RowPlan::keep(Node *node, unsigned firstLoop, bool before) {
  DimList inner = graph.inner(node->dims);
  scratch_[node] = {inner};
  scratchNodes_.push_back(node);
  scratchBytes += graph.volume(inner) * byteSize(node->elem);
  Loop &first = loops_[firstLoop];
  if (!before && !first.folded && sameSet(first.dims, inner))
    return (void)first.actions.insert(first.actions.begin(), {Action::Keep, node});
  loops_.insert(loops_.begin() + firstLoop, {first.depth, inner, {{Action::Keep, node}}});
}

bool RowPlan::mayOverwrite(unsigned argument, unsigned output) const {
  const Output &result = graph.outputs[output];
  const Argument &operand = graph.arguments[argument];
  if (operand.dims != result.dims || byteSize(operand.elem) != byteSize(result.node->elem))
    return false;
  std::optional<unsigned> store;
  for (unsigned i = 0; i < loops_.size(); ++i)
    for (const Action &action : loops_[i].actions)
      if (action.output == output &&
          (action.kind == Action::Store || action.kind == Action::Scatter))
        store = i;
  if (!store)
    return false;
  bool scatter = result.node->kind == NodeKind::ScatterAdd;
  if (scatter &&
      !(result.node->operands.size() > 2 && result.node->operands[2]->kind == NodeKind::Input &&
        result.node->operands[2]->argument == argument))
    return false;
  bool allowed = true;
  for (unsigned i = 0; i < loops_.size(); ++i)
    forEachNeeded(i, Kept::Computed, [&](Node *node, Access access) {
      if (node->kind != NodeKind::Input || node->argument != argument)
        return;
      if (scatter ? node != result.node->operands[2] : (access != InPlace || i > *store))
        allowed = false;
      // Two loops over one row may visit a dimension in another order; only the storing one is
      // known.
      if (!scatter && i == *store && !sameSet(graph.inner(node->dims), loops_[i].dims))
        allowed = false;
    });
  return allowed;
}
