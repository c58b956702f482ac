//===- Groups.cpp - Which operations share a kernel -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Fuse/Groups.h"

#include "compiler/Analysis/Kernel/Outline.h"
#include "compiler/Support/Programs.h"
#include "compiler/Transforms/Fuse/RowShape.h"
#include "dialects/Rt/Rt.h"
#include "dialects/Spmd/AllReduceAxis.h"
#include "llvm/ADT/PriorityQueue.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::fuse;

/// A kernel's operations lie at most so far apart: what is far away is rarely in a cache, and the
/// search for dependences stays short. sortBlock() finds the cycles that a short search may miss.
static constexpr unsigned kSpan = 256;

bool fuse::isFusable(Operation *op) {
  return !kernel::isFree(op) && isa<ptl::ElementwiseOp, ptl::ReduceOp, ptl::GatherOp, ptl::SliceOp,
                                    ptl::PadOp, ptl::ConcatOp, ptl::RandomOp, spmd::MaskOp>(op);
}

bool fuse::isRowSum(Operation *op, ArrayRef<StringAttr> iterate) {
  auto reduce = dyn_cast<ptl::ReduceOp>(op);
  return reduce && llvm::any_of(reduce.getOver().getNames(),
                                [&](StringAttr name) { return llvm::is_contained(iterate, name); });
}

/// The dimensions that the operation visits.
static ArrayRef<StringAttr> visited(Operation *op) {
  if (auto reduce = dyn_cast<ptl::ReduceOp>(op))
    return ptl::getDims(reduce.getX());
  return ptl::getDims(op->getResult(0));
}

static int64_t visitedSize(Operation *op, StringAttr name) {
  if (auto reduce = dyn_cast<ptl::ReduceOp>(op))
    return ptl::getDimSize(reduce.getX(), name);
  return ptl::getDimSize(op->getResult(0), name);
}

/// Operands as kernels see them: free operations are looked through.
static void visitProducers(Operation *op, llvm::function_ref<void(Value)> f) {
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (kernel::isFree(producer))
      visitProducers(producer, f);
    else
      f(operand);
  }
}

/// What ranks with other programs do together, and keeps its order.
static SmallVector<Operation *> exchangesOf(Block &block) {
  SmallVector<Operation *> list;
  if (StringAttr axis = axisOfPrograms(block.getParentOp()->getParentOfType<ModuleOp>()))
    for (Operation &op : block)
      if (isa<rt::ExchangeOp>(op) || spmd::isAllReduceOver(&op, axis))
        list.push_back(&op);
  return list;
}

Groups::Groups(Block &block) : block(block) {
  unsigned position = 0;
  for (Operation &op : block)
    positions[&op] = position++;
  Operation *last = nullptr;
  for (Operation *op : exchangesOf(block))
    earlier[op] = std::exchange(last, op);
  for (Operation &op : block)
    if (isFusable(&op))
      place(&op);
}

std::optional<unsigned> Groups::of(Operation *op) const {
  auto it = numbers.find(op);
  return it == numbers.end() ? std::nullopt : std::optional(it->second);
}

SmallVector<unsigned> Groups::candidates(Operation *op) const {
  llvm::SetVector<unsigned> producers, siblings;
  visitProducers(op, [&](Value value) {
    if (auto group = value.getDefiningOp() ? of(value.getDefiningOp()) : std::nullopt)
      producers.insert(*group);
    for (Operation *user : value.getUsers())
      if (auto group = of(user))
        siblings.insert(*group);
  });
  SmallVector<unsigned> order = producers.takeVector();
  llvm::sort(order, std::greater<>());
  SmallVector<unsigned> more = siblings.takeVector();
  llvm::sort(more, std::greater<>());
  llvm::append_range(order, more);
  return order;
}

/// Where rows are added to a sum one by one, their order must be that of the operand: kernels with
/// other rows would round otherwise.
static bool keepsOrder(ptl::ReduceOp sum, ArrayRef<StringAttr> rows) {
  ArrayRef<StringAttr> dims = ptl::getDims(sum.getX()), over = sum.getOver().getNames();
  size_t inner = dims.size() - over.size();
  bool isOfRows = inner > 0 && llvm::all_of(dims.drop_back(inner), [&](StringAttr dim) {
                    return llvm::is_contained(over, dim);
                  });
  return !isOfRows ||
         (!rows.empty() && rows.size() <= dims.size() && rows == dims.take_front(rows.size()));
}

bool Groups::canJoin(Operation *op, unsigned number) const {
  const Group &group = groups[number];
  if (group.operations.empty())
    return false;
  // Without rows all is one piece of work.
  if (group.iterate.empty() && !iterateAlone(op).empty())
    return false;
  if (auto reduce = dyn_cast<ptl::ReduceOp>(op); reduce && !keepsOrder(reduce, group.iterate))
    return false;
  if (positions.lookup(op) > positions.lookup(group.operations.front()) + kSpan)
    return false;
  for (StringAttr name : group.iterate)
    if (!llvm::is_contained(visited(op), name) ||
        visitedSize(op, name) != visitedSize(group.operations.front(), name))
      return false;
  bool joins = true;
  // A moved dimension must lie within the row, and so must what is looked up.
  auto moves = [&](StringRef name) {
    joins &= llvm::none_of(group.iterate, [&](StringAttr row) { return row.getValue() == name; });
  };
  if (auto slice = dyn_cast<ptl::SliceOp>(op))
    moves(slice.getFrom());
  if (auto pad = dyn_cast<ptl::PadOp>(op))
    moves(pad.getFrom());
  if (auto concat = dyn_cast<ptl::ConcatOp>(op))
    for (auto name : concat.getFrom().getAsRange<StringAttr>())
      moves(name.getValue());
  if (auto gather = dyn_cast<ptl::GatherOp>(op)) {
    Operation *table = gather.getTable().getDefiningOp();
    joins &= !table || of(table) != number;
  }
  if (auto reduce = dyn_cast<ptl::ReduceOp>(op); reduce && isRowSum(op, group.iterate))
    joins &= reduce.getKind() == ptl::FoldKind::Sum;
  return joins && !dependsAround(op, number);
}

/// Walks backwards from `operations`, which are or would be in the groups `numbers`, through what
/// lies outside of these; true if that leads back into them.
bool Groups::dependsAround(ArrayRef<Operation *> operations, ArrayRef<unsigned> inside) const {
  unsigned first = ~0u;
  for (unsigned number : inside)
    first = std::min(first, positions.lookup(groups[number].operations.front()));
  llvm::DenseSet<Operation *> seen;
  SmallVector<Operation *> stack;
  bool around = false;
  // Of the operations' own operands only sums over rows come too late; of others any value of the
  // groups.
  auto push = [&](Operation *producer, bool direct) {
    if (!producer || producer->getBlock() != &block)
      return;
    std::optional<unsigned> number = of(producer);
    if (number && llvm::is_contained(inside, *number))
      around |= !direct || isRowSum(producer, groups[*number].iterate);
    else if (positions.lookup(producer) + 2 * kSpan > first && seen.insert(producer).second)
      stack.push_back(producer);
  };
  for (Operation *op : operations)
    visitProducers(op, [&](Value operand) { push(operand.getDefiningOp(), true); });
  while (!stack.empty() && !around) {
    Operation *current = stack.pop_back_val();
    // A group is one kernel: all that it reads comes before all that it makes.
    SmallVector<Operation *> unit = {current};
    if (std::optional<unsigned> other = of(current))
      unit = groups[*other].operations;
    for (Operation *member : unit)
      member->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          push(operand.getDefiningOp(), false);
      });
    push(earlier.lookup(current), false);
  }
  return around;
}

/// True if two groups that one operation reads can be one kernel.
bool Groups::canMerge(unsigned a, unsigned b) const {
  const Group &x = groups[a], &y = groups[b];
  if (x.iterate != y.iterate || x.operations.empty() || y.operations.empty())
    return false;
  for (StringAttr name : x.iterate)
    if (visitedSize(x.operations.front(), name) != visitedSize(y.operations.front(), name))
      return false;
  auto span = [&](const Group &group) {
    return std::pair(positions.lookup(group.operations.front()),
                     positions.lookup(group.operations.back()));
  };
  if (std::max(span(x).second, span(y).second) > std::min(span(x).first, span(y).first) + kSpan)
    return false;
  SmallVector<Operation *> all(x.operations);
  llvm::append_range(all, y.operations);
  // A table that one looks up must not be made by the other.
  for (Operation *op : all)
    if (auto gather = dyn_cast<ptl::GatherOp>(op))
      if (Operation *table = gather.getTable().getDefiningOp();
          table && (of(table) == a || of(table) == b))
        return false;
  return !dependsAround(all, {a, b});
}

void Groups::merge(unsigned from, unsigned into) {
  SmallVector<Operation *> &target = groups[into].operations;
  for (Operation *op : groups[from].operations) {
    numbers[op] = into;
    target.push_back(op);
  }
  groups[from].operations.clear();
  llvm::sort(target,
             [&](Operation *a, Operation *b) { return positions.lookup(a) < positions.lookup(b); });
}

void Groups::place(Operation *op) {
  for (unsigned number : candidates(op))
    if (canJoin(op, number)) {
      groups[number].operations.push_back(op);
      numbers[op] = number;
      mergeProducers(op, number);
      return;
    }
  numbers[op] = groups.size();
  groups.push_back({{op}, iterateAlone(op)});
}

/// What `op` reads from other groups can come from its own.
void Groups::mergeProducers(Operation *op, unsigned number) {
  llvm::SetVector<unsigned> others;
  visitProducers(op, [&](Value value) {
    if (auto group = value.getDefiningOp() ? of(value.getDefiningOp()) : std::nullopt;
        group && *group != number)
      others.insert(*group);
  });
  for (unsigned other : others)
    if (canMerge(number, other))
      merge(other, number);
}

void Groups::addClone(Operation *op, unsigned number) {
  numbers[op] = number;
  groups[number].operations.insert(groups[number].operations.begin(), op);
}

namespace {
/// Units of a block: the operations of a group, or one of none. Free operations belong to none;
/// they are looked through, since each kernel gets a copy.
class Units {
public:
  Units(Block &block, const Groups &groups);
  /// The units so that each comes behind those that it reads; nullopt if there is no such order.
  std::optional<SmallVector<unsigned>> sorted();
  ArrayRef<Operation *> operator[](unsigned unit) const { return members[unit]; }
  std::optional<unsigned> of(Operation *op) const {
    auto it = numbers.find(op);
    return it == numbers.end() ? std::nullopt : std::optional(it->second);
  }

private:
  void connect(unsigned unit);
  void order(unsigned first, unsigned second);
  void keepExchanges(Block &block);

  std::vector<SmallVector<Operation *>> members;
  llvm::DenseMap<Operation *, unsigned> numbers;
  SmallVector<unsigned> places; ///< the last operation's
  std::vector<llvm::SmallSetVector<unsigned, 4>> users;
  SmallVector<unsigned> waiting;
};
} // namespace

Units::Units(Block &block, const Groups &groups) {
  llvm::DenseMap<unsigned, unsigned> unitOfGroup;
  unsigned position = 0;
  for (Operation &op : block) {
    if (kernel::isFree(&op))
      continue;
    unsigned unit = members.size();
    if (std::optional<unsigned> group = groups.of(&op))
      unit = unitOfGroup.try_emplace(*group, unit).first->second;
    if (unit == members.size()) {
      members.emplace_back();
      places.push_back(0);
    }
    members[unit].push_back(&op);
    numbers[&op] = unit;
    places[unit] = position++;
  }
  users.resize(members.size());
  waiting.assign(members.size(), 0);
  for (unsigned unit = 0; unit < members.size(); ++unit)
    connect(unit);
  keepExchanges(block);
}

void Units::order(unsigned first, unsigned second) {
  if (first != second && users[first].insert(second))
    ++waiting[second];
}

void Units::keepExchanges(Block &block) {
  std::optional<unsigned> last;
  for (Operation *op : exchangesOf(block)) {
    std::optional<unsigned> unit = of(op);
    if (last && unit)
      order(*last, *unit);
    last = unit;
  }
}

void Units::connect(unsigned unit) {
  for (Operation *member : members[unit])
    member->walk([&](Operation *op) {
      visitProducers(op, [&](Value value) {
        std::optional<unsigned> producer =
            value.getDefiningOp() ? of(value.getDefiningOp()) : std::nullopt;
        if (producer)
          order(*producer, unit);
      });
    });
}

std::optional<SmallVector<unsigned>> Units::sorted() {
  // Of those that are ready, the one that comes first in the block.
  auto later = [&](unsigned a, unsigned b) { return places[a] > places[b]; };
  llvm::PriorityQueue<unsigned, std::vector<unsigned>, decltype(later)> ready(later);
  for (unsigned unit = 0; unit < members.size(); ++unit)
    if (!waiting[unit])
      ready.push(unit);
  SmallVector<unsigned> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (unsigned user : users[order.back()])
      if (!--waiting[user])
        ready.push(user);
  }
  if (order.size() != members.size())
    return std::nullopt;
  return order;
}

/// Puts a free operation right behind what it reads.
static void settle(Operation *op, Block &block, const Units &units) {
  Operation *behind = nullptr;
  for (Value operand : op->getOperands()) {
    Operation *producer = operand.getDefiningOp();
    if (!producer || producer->getBlock() != &block)
      continue;
    std::optional<unsigned> unit = units.of(producer);
    behind = unit ? units[*unit].back() : producer;
  }
  if (behind)
    op->moveAfter(behind);
  else
    op->moveBefore(&block, block.begin());
}

bool Groups::sortBlock() {
  Units units(block, *this);
  std::optional<SmallVector<unsigned>> order = units.sorted();
  if (!order)
    return false;
  SmallVector<Operation *> free;
  for (Operation &op : block)
    if (kernel::isFree(&op))
      free.push_back(&op);
  Operation *end = block.getTerminator();
  for (unsigned unit : *order)
    for (Operation *op : units[unit])
      if (op != end)
        op->moveBefore(end);
  for (Operation *op : free)
    settle(op, block, units);
  return true;
}
