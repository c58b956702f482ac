//===- BatchLinearity.cpp - How values depend on the batch ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One pass over the nodes. A value that depends on weights is *moving* if it is
// a total over the batch; an operation must be linear in its moving operands,
// and may not bring one together with values of single examples, since these
// would need the total of pieces that haven't run. Reductions other than sums
// mix examples, and so does any operation along the batch itself.
//===----------------------------------------------------------------------===//
#include "lang/Sema/BatchLinearity.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace ptlc::sema {

namespace {
class BatchAnalysis {
public:
  BatchAnalysis(const Program &program, const Graph &graph) : program(program), graph(graph) {
    facts.batchDims = {kBatchDim};
    facts.isData.assign(graph.values.size(), false);
    facts.isTotal.assign(graph.values.size(), false);
    for (const Parameter &parameter : graph.parameters)
      facts.isData[parameter.value] = true;
  }

  BatchFacts run();

private:
  bool visit(const Node &node);
  bool fold(const Node &node);
  bool loss(const Node &node, bool isScalar, llvm::ArrayRef<DimId> over);
  bool product(const Node &node);
  bool quotient(const Node &node);
  bool sum(const Node &node);
  bool along(const Node &node, DimId dim);
  bool reshape(const Node &node);
  bool nonLinear(const Node &node);

  bool isBatch(DimId dim) const { return llvm::is_contained(facts.batchDims, dim); }
  bool hasBatch(ValueId value) const {
    return llvm::any_of(graph.type(value).dims, [&](DimId dim) { return isBatch(dim); });
  }
  bool anyBatch(const Node &node) const {
    return llvm::any_of(node.operands, [&](ValueId value) { return hasBatch(value); });
  }
  bool isMoving(ValueId value) const { return facts.isTotal[value] && !facts.isData[value]; }
  size_t moving(const Node &node) const {
    return llvm::count_if(node.operands, [&](ValueId value) { return isMoving(value); });
  }
  /// Data alone that depends on a total over the batch.
  bool needsDataTotal(const Node &node) const {
    return llvm::any_of(node.operands, [&](ValueId value) {
      return facts.isData[value] && facts.isTotal[value] && hasBatch(value);
    });
  }
  void violate(const Node &node, std::string text) {
    NodeId id = graph.values[node.results.front()].node;
    if (!facts.violation)
      facts.violation = BatchFacts::Violation{id, std::move(text)};
  }

  const Program &program;
  const Graph &graph;
  BatchFacts facts;
};
} // namespace

/// The operation as the program writes it.
static std::string written(Op op) {
  switch (op) {
  case Op::Add:
    return "'+'";
  case Op::Sub:
    return "'-'";
  case Op::Mul:
    return "'*'";
  case Op::Div:
    return "'/'";
  case Op::Mod:
    return "'%'";
  case Op::Eq:
    return "'=='";
  case Op::Ne:
    return "'!='";
  case Op::Lt:
    return "'<'";
  case Op::Le:
    return "'<='";
  case Op::Gt:
    return "'>'";
  case Op::Ge:
    return "'>='";
  case Op::Max2:
    return "'max'";
  case Op::Min2:
    return "'min'";
  default:
    return "'" + opName(op).str() + "'";
  }
}

bool BatchAnalysis::fold(const Node &node) {
  const DimList &over = std::get<DimsAttrs>(node.attrs).dims;
  bool overBatch = llvm::any_of(over, [&](DimId dim) { return isBatch(dim); });
  bool isSum = node.op == Op::Sum || node.op == Op::Mean;
  if (!isSum) {
    if (overBatch)
      violate(node, written(node.op) + " over the batch mixes its examples");
    return nonLinear(node) || overBatch;
  }
  if (overBatch && (moving(node) || needsDataTotal(node)))
    violate(node, "a total over the batch is summed over the batch again");
  bool weighted = node.op == Op::Mean && node.operands.size() == 2 &&
                  !facts.isData[node.operands[1]] && overBatch;
  if (weighted)
    violate(node, "'mean' divides by a count over the batch that depends on weights");
  return overBatch || moving(node) > 0;
}

bool BatchAnalysis::loss(const Node &node, bool isScalar, llvm::ArrayRef<DimId> over) {
  for (DimId dim : over)
    if (isBatch(dim))
      violate(node, written(node.op) + " over '" + program.dims[dim].name +
                        "' compares examples of the batch");
  if (moving(node) || needsDataTotal(node))
    violate(node, written(node.op) + " of a total over the batch is not linear");
  return isScalar && anyBatch(node);
}

bool BatchAnalysis::product(const Node &node) {
  llvm::SmallVector<DimId, 2> dims;
  for (ValueId value : node.operands)
    for (DimId dim : graph.type(value).dims)
      if (isBatch(dim) && !llvm::is_contained(dims, dim))
        dims.push_back(dim);
  if (moving(node) > 1)
    violate(node, written(node.op) + " multiplies two totals over the batch");
  else if (moving(node) && anyBatch(node))
    violate(node, written(node.op) + " uses a total over the batch for each example");
  if (dims.size() > 1)
    violate(node, written(node.op) + " compares every example of the batch with every other");
  bool sums = false;
  if (node.op == Op::Dot)
    for (DimId dim : std::get<DimsAttrs>(node.attrs).dims)
      sums |= isBatch(dim);
  return sums || moving(node) > 0;
}

bool BatchAnalysis::quotient(const Node &node) {
  if (isMoving(node.operands[1]))
    violate(node, "'/' by a total over the batch that depends on weights");
  else if (isMoving(node.operands[0]) && anyBatch(node))
    violate(node, "'/' uses a total over the batch for each example");
  return isMoving(node.operands[0]);
}

bool BatchAnalysis::sum(const Node &node) {
  bool isChoice = node.op == Op::Where;
  if (isChoice && isMoving(node.operands[0]))
    violate(node, "'where' chooses by a total over the batch");
  else if (moving(node) && anyBatch(node))
    violate(node, written(node.op) + " uses a total over the batch for each example");
  return moving(node) > 0;
}

bool BatchAnalysis::along(const Node &node, DimId dim) {
  if (isBatch(dim))
    violate(node, written(node.op) + " along '" + program.dims[dim].name +
                      "' mixes examples of the batch");
  return moving(node) > 0;
}

bool BatchAnalysis::reshape(const Node &node) {
  for (const Arrow &arrow : std::get<ReshapeAttrs>(node.attrs).arrows) {
    for (DimId dim : llvm::drop_begin(arrow.from))
      if (isBatch(dim))
        violate(node, "'reshape' puts '" + program.dims[dim].name +
                          "' inside another dimension, which scatters the pieces of the batch");
    if (!isBatch(arrow.from.front()) || arrow.to.empty())
      continue;
    if (facts.reshape == kNone)
      facts.reshape = graph.values[node.results.front()].node;
    int64_t before = 1, after = 1;
    for (DimId dim : llvm::drop_begin(arrow.from))
      before *= program.size(dim);
    for (DimId dim : llvm::drop_begin(arrow.to))
      after *= program.size(dim);
    int64_t group = after / std::gcd(before, after);
    facts.granularity = std::lcm(facts.granularity, group);
    if (!isBatch(arrow.to.front()))
      facts.batchDims.push_back(arrow.to.front());
  }
  return moving(node) > 0;
}

bool BatchAnalysis::nonLinear(const Node &node) {
  if (moving(node))
    violate(node, written(node.op) + " of a total over the batch is not linear");
  return false;
}

bool BatchAnalysis::visit(const Node &node) {
  switch (node.op) {
  case Op::Sum:
  case Op::Mean:
  case Op::Max:
  case Op::Min:
  case Op::ArgMax:
    return fold(node);
  case Op::CrossEntropy: {
    const auto &attrs = std::get<CrossEntropyAttrs>(node.attrs);
    return loss(node, attrs.reduce, {attrs.over});
  }
  case Op::Mse:
    return loss(node, true, {});
  case Op::Mul:
  case Op::Dot:
    return product(node);
  case Op::Div:
    return quotient(node);
  case Op::Add:
  case Op::Sub:
  case Op::Where:
    return sum(node);
  case Op::IndexNumber:
    return along(node, std::get<IndexAttrs>(node.attrs).dim);
  case Op::Gather:
    return along(node, std::get<DimsAttrs>(node.attrs).dims.front());
  case Op::Slice:
  case Op::Pad:
    return along(node, std::get<ResizeAttrs>(node.attrs).from);
  case Op::Concat:
    return along(node, std::get<ConcatAttrs>(node.attrs).from.front());
  case Op::Reshape:
    return reshape(node);
  case Op::Neg:
  case Op::ToFloat:
  case Op::StopGradient:
  case Op::Reorder:
  case Op::Expand:
  case Op::Stack:
  case Op::Dropout:
    return moving(node) > 0;
  case Op::Softmax:
  case Op::LogSoftmax:
    return along(node, std::get<DimsAttrs>(node.attrs).dims.front()) && nonLinear(node);
  case Op::LayerNorm:
  case Op::RmsNorm:
    return along(node, std::get<NormAttrs>(node.attrs).over) && nonLinear(node);
  case Op::Rope:
    return along(node, std::get<RopeAttrs>(node.attrs).over) ||
           along(node, std::get<RopeAttrs>(node.attrs).along);
  case Op::TopK:
    return along(node, std::get<ResizeAttrs>(node.attrs).from) && nonLinear(node);
  case Op::Attention:
    return along(node, std::get<AttentionAttrs>(node.attrs).over) && nonLinear(node);
  default:
    return nonLinear(node);
  }
}

BatchFacts BatchAnalysis::run() {
  for (const Node &node : graph.nodes) {
    bool isData = llvm::all_of(node.operands, [&](ValueId value) { return facts.isData[value]; });
    bool isTotal = visit(node);
    if (isData)
      isTotal |= llvm::any_of(node.operands, [&](ValueId value) { return facts.isTotal[value]; });
    for (ValueId result : node.results) {
      facts.isData[result] = isData;
      facts.isTotal[result] = isTotal;
    }
  }
  llvm::sort(facts.batchDims);
  return std::move(facts);
}

BatchFacts analyzeBatch(const Program &program, const Graph &graph) {
  return BatchAnalysis(program, graph).run();
}

void checkShortTail(const Program &program, lang::DiagnosticEngine &diags) {
  const DataSpec *data = program.train.data.tail == Tail::Short ? &program.train.data : nullptr;
  for (const EvalSpec &eval : program.train.evals)
    if (!data && eval.data.tail == Tail::Short)
      data = &eval.data;
  if (!data || program.loss.results.empty())
    return;
  BatchFacts facts = analyzeBatch(program, program.loss);
  NodeId culprit = facts.violation ? facts.violation->node : facts.reshape;
  if (culprit == kNone)
    return;
  const Node &node = program.loss.nodes[culprit];
  std::string text = facts.violation ? facts.violation->text : "'reshape' changes the batch";
  diags.error(program.userPlace(program.loss, node), text + ", so a short batch can't be padded")
      .note(data->range, "'tail: short' on line " + std::to_string(data->range.begin.line));
}

bool checkMicrobatches(const Program &program, const PlanSpec &plan,
                       lang::DiagnosticEngine &diags) {
  if (plan.microbatches <= 1)
    return true;
  BatchFacts facts = analyzeBatch(program, program.loss);
  std::string place = "'microbatches' on line " + std::to_string(plan.microbatchesRange.begin.line);
  if (facts.violation) {
    const Node &node = program.loss.nodes[facts.violation->node];
    diags
        .error(program.userPlace(program.loss, node),
               facts.violation->text + ", so the batch can't be cut into micro-batches")
        .note(plan.microbatchesRange, place);
    return false;
  }
  int64_t piece = (program.size(kBatchDim) + plan.microbatches - 1) / plan.microbatches;
  if (piece % facts.granularity == 0)
    return true;
  diags.error(plan.microbatchesRange, "micro-batches of " + llvm::Twine(piece) +
                                          " examples cut through groups of " +
                                          llvm::Twine(facts.granularity));
  return false;
}

} // namespace ptlc::sema
