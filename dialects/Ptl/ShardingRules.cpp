//===- ShardingRules.cpp - How operations of ptl may be cut ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Almost every rule is "by name": the factors are the names of the dimensions,
// and those that the results lack are reductions. What differs is said in a few
// lines per operation. Composite operations keep the dimension that they run
// over whole: where a cut of it is wanted, the operation is expanded, and the
// rules of its primitives apply.
//===----------------------------------------------------------------------===//
#include "dialects/Ptl/Infer.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::ptl;

static ValueFactors factorsByName(ShardingRule &rule, Value value, FactorKind kind) {
  ValueFactors dims;
  for (auto [dim, size] :
       llvm::zip_equal(getDims(value), cast<RankedTensorType>(value.getType()).getShape()))
    dims.push_back({rule.add(dim, size, kind)});
  return dims;
}

/// Every operand and result by name: names that a result has pass, the others are of `missing`
/// kind.
static ShardingRule ruleByName(Operation *op, FactorKind missing = FactorKind::Sum) {
  ShardingRule rule;
  for (Value result : op->getResults())
    rule.results.push_back(factorsByName(rule, result, FactorKind::Pass));
  for (Value operand : op->getOperands())
    rule.operands.push_back(factorsByName(rule, operand, missing));
  return rule;
}

static void setLinear(ShardingRule &rule, Linearity linearity, ArrayRef<unsigned> operands) {
  rule.linearity = linearity;
  rule.linearOperands.assign(operands.begin(), operands.end());
}

/// Makes the factors called `names` whole.
static void keepWhole(ShardingRule &rule, ArrayRef<StringRef> names) {
  for (StringRef name : names)
    if (std::optional<unsigned> factor = rule.find(name))
      rule.factors[*factor].kind = FactorKind::Whole;
}

static void setPositional(ShardingRule &rule, StringRef name) {
  if (std::optional<unsigned> factor = rule.find(name))
    rule.positional.push_back(*factor);
}

//===----------------------------------------------------------------------===//
// Element-wise operations and sources
//===----------------------------------------------------------------------===//

ShardingRule ConstantOp::getShardingRule() { return ruleByName(*this); }

ShardingRule IotaOp::getShardingRule() {
  ShardingRule rule = ruleByName(*this);
  setPositional(rule, getDim());
  return rule;
}

ShardingRule RandomOp::getShardingRule() {
  ShardingRule rule = ruleByName(*this);
  for (unsigned factor = 0; factor < rule.factors.size(); ++factor)
    rule.positional.push_back(factor);
  return rule;
}

ShardingRule StopGradientOp::getShardingRule() {
  ShardingRule rule = ruleByName(*this);
  setLinear(rule, Linearity::All, {0});
  return rule;
}

ShardingRule ElementwiseOp::getShardingRule() {
  using K = ElementwiseKind;
  ShardingRule rule = ruleByName(*this);
  if (!isFloatTensor(getResult().getType()) && getKind() != K::Add && getKind() != K::Sub)
    return rule;
  switch (getKind()) {
  case K::Add:
  case K::Sub:
    setLinear(rule, Linearity::All, {0, 1});
    break;
  case K::Mul:
    setLinear(rule, Linearity::One, {0, 1});
    break;
  case K::Div:
  case K::Neg:
    setLinear(rule, Linearity::All, {0});
    break;
  case K::Cast: // to float; a sum of booleans isn't one of the casts
    if (!elementType(getOperands()[0]).isInteger(1))
      setLinear(rule, Linearity::All, {0});
    break;
  case K::Select:
    setLinear(rule, Linearity::All, {1, 2});
    break;
  case K::GeluGrad:
  case K::SiluGrad:
    setLinear(rule, Linearity::All, {1});
    break;
  default:
    break;
  }
  return rule;
}

//===----------------------------------------------------------------------===//
// Shape operations
//===----------------------------------------------------------------------===//

ShardingRule BroadcastOp::getShardingRule() {
  ShardingRule rule = ruleByName(*this);
  setLinear(rule, Linearity::All, {0});
  return rule;
}

/// Gives each dimension of both sides of an arrow its factors: the common refinement of their
/// sizes, from the major end. Sizes that don't divide each other leave the rest of the arrow whole.
static void addArrow(ShardingRule &rule, ArrowAttr arrow, Value x, Value result,
                     llvm::StringMap<DimFactors> &operand, llvm::StringMap<DimFactors> &produced) {
  ArrayRef<StringAttr> from = arrow.getFrom(), to = arrow.getTo();
  size_t i = 0, j = 0;
  int64_t left = getDimSize(x, from[0].getValue()), right = getDimSize(result, to[0].getValue());
  while (i < from.size() && j < to.size()) {
    bool divides = left % right == 0 || right % left == 0;
    int64_t size = std::min(left, right);
    // A whole dimension lends its name; a part of two gets both names.
    StringAttr name = to[j];
    if (right != getDimSize(result, to[j].getValue()) || size != right)
      name = size == getDimSize(x, from[i].getValue())
                 ? from[i]
                 : StringAttr::get(name.getContext(), from[i].getValue() + "/" + to[j].getValue());
    if (!divides) {
      unsigned rest = rule.add(name, left, FactorKind::Whole);
      rule.factors[rest].kind = FactorKind::Whole;
      return;
    }
    unsigned factor = rule.add(name, size);
    operand[from[i].getValue()].push_back(factor);
    produced[to[j].getValue()].push_back(factor);
    left /= size;
    right /= size;
    if (left == 1 && ++i < from.size())
      left = getDimSize(x, from[i].getValue());
    if (right == 1 && ++j < to.size())
      right = getDimSize(result, to[j].getValue());
    // Dimensions of size 1 at the end have no factor.
    if ((left == 1 && i >= from.size()) || (right == 1 && j >= to.size()))
      break;
  }
}

ShardingRule ReshapeOp::getShardingRule() {
  ShardingRule rule;
  llvm::StringMap<DimFactors> operand, result;
  for (ArrowAttr arrow : getArrowRange())
    addArrow(rule, arrow, getX(), getResult(), operand, result);
  auto collect = [&](Value value, llvm::StringMap<DimFactors> &arrows, auto inArrow) {
    ValueFactors dims;
    for (StringAttr dim : getDims(value))
      dims.push_back(inArrow(dim) ? arrows[dim.getValue()]
                                  : DimFactors{rule.add(dim, getDimSize(value, dim.getValue()))});
    return dims;
  };
  auto isFrom = [&](StringAttr dim) {
    return llvm::any_of(getArrowRange(),
                        [&](ArrowAttr arrow) { return llvm::is_contained(arrow.getFrom(), dim); });
  };
  auto isTo = [&](StringAttr dim) {
    return llvm::any_of(getArrowRange(),
                        [&](ArrowAttr arrow) { return llvm::is_contained(arrow.getTo(), dim); });
  };
  rule.operands.push_back(collect(getX(), operand, isFrom));
  rule.results.push_back(collect(getResult(), result, isTo));
  setLinear(rule, Linearity::All, {0});
  return rule;
}

ShardingRule ConcatOp::getShardingRule() {
  ShardingRule rule = ruleByName(*this);
  SmallVector<StringRef> names{getTo()};
  SmallVector<unsigned> all;
  for (auto [index, name] : llvm::enumerate(getFrom().getAsValueRange<StringAttr>())) {
    names.push_back(name);
    all.push_back(index);
  }
  keepWhole(rule, names);
  setLinear(rule, Linearity::All, all);
  return rule;
}

ShardingRule SliceOp::getShardingRule() {
  ShardingRule rule = ruleByName(*this);
  keepWhole(rule, {getFrom(), getTo()});
  setLinear(rule, Linearity::All, {0});
  return rule;
}

ShardingRule PadOp::getShardingRule() {
  ShardingRule rule = ruleByName(*this);
  keepWhole(rule, {getFrom(), getTo()});
  if (getValue().isZero())
    setLinear(rule, Linearity::All, {0});
  return rule;
}

ShardingRule GatherOp::getShardingRule() {
  ShardingRule rule = ruleByName(*this); // the result lacks `dim`: a sum over the owners of rows
  setLinear(rule, Linearity::All, {0});
  setPositional(rule, getDim());
  return rule;
}

ShardingRule ScatterAddOp::getShardingRule() {
  ShardingRule rule = ruleByName(*this);
  if (getInit())
    setLinear(rule, Linearity::All, {1, 2});
  else
    setLinear(rule, Linearity::All, {1});
  setPositional(rule, getDim());
  return rule;
}

//===----------------------------------------------------------------------===//
// Contractions and reductions
//===----------------------------------------------------------------------===//

ShardingRule DotOp::getShardingRule() {
  ShardingRule rule = ruleByName(*this);
  setLinear(rule, Linearity::One, {0, 1});
  return rule;
}

ShardingRule ReduceOp::getShardingRule() {
  FactorKind kind = getKind() == FoldKind::Sum   ? FactorKind::Sum
                    : getKind() == FoldKind::Max ? FactorKind::Max
                                                 : FactorKind::Min;
  ShardingRule rule = ruleByName(*this, kind);
  if (getKind() == FoldKind::Sum)
    setLinear(rule, Linearity::All, {0});
  return rule;
}

ShardingRule ArgmaxOp::getShardingRule() { return ruleByName(*this, FactorKind::Whole); }

ShardingRule TopKOp::getShardingRule() {
  ShardingRule rule = ruleByName(*this, FactorKind::Whole);
  keepWhole(rule, {getTo()});
  return rule;
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

static ShardingRule ruleAlong(Operation *op, StringRef over) {
  ShardingRule rule = ruleByName(op);
  keepWhole(rule, {over});
  return rule;
}

ShardingRule SoftmaxOp::getShardingRule() { return ruleAlong(*this, getOver()); }
ShardingRule LogSoftmaxOp::getShardingRule() { return ruleAlong(*this, getOver()); }
ShardingRule LayerNormOp::getShardingRule() { return ruleAlong(*this, getOver()); }
ShardingRule RmsNormOp::getShardingRule() { return ruleAlong(*this, getOver()); }
ShardingRule CrossEntropyOp::getShardingRule() { return ruleAlong(*this, getOver()); }

// Gradients are linear in the gradient that they get.
static ShardingRule gradientAlong(Operation *op, StringRef over, unsigned gradient) {
  ShardingRule rule = ruleAlong(op, over);
  setLinear(rule, Linearity::All, {gradient});
  return rule;
}
ShardingRule SoftmaxGradOp::getShardingRule() { return gradientAlong(*this, getOver(), 1); }
ShardingRule LogSoftmaxGradOp::getShardingRule() { return gradientAlong(*this, getOver(), 1); }
ShardingRule LayerNormGradOp::getShardingRule() { return gradientAlong(*this, getOver(), 0); }
ShardingRule RmsNormGradOp::getShardingRule() { return gradientAlong(*this, getOver(), 0); }
ShardingRule CrossEntropyGradOp::getShardingRule() { return gradientAlong(*this, getOver(), 0); }

ShardingRule RopeOp::getShardingRule() {
  ShardingRule rule = ruleAlong(*this, getOver());
  setLinear(rule, Linearity::All, {0});
  setPositional(rule, getAlong());
  return rule;
}

/// Queries, keys and values: aligned names pass; the keys' dimension and both depths are whole. In
/// self-attention the keys' dimension is a factor of its own, "over.key". Heads that share key
/// heads are compound: (key heads, heads per key head).
template <typename OpT>
static ShardingRule attentionRule(OpT op, ArrayRef<size_t> keyOperands,
                                  ArrayRef<size_t> keyResults) {
  ShardingRule rule;
  MLIRContext *context = op.getContext();
  ArrowAttr group = op.getGroupAttr();
  auto factorsOf = [&](Value value, bool ofKeys) {
    ValueFactors dims;
    for (StringAttr dim : getDims(value)) {
      int64_t size = getDimSize(value, dim.getValue());
      if (dim == op.getOverAttr() && ofKeys) {
        std::string name = op.isSelfAttention() ? (dim.getValue() + ".key").str() : dim.str();
        dims.push_back({rule.add(StringAttr::get(context, name), size, FactorKind::Whole)});
      } else if (op.isSelfAttention() && dim.getValue() == (op.getOver() + ".query").str()) {
        dims.push_back({rule.add(op.getOverAttr(), size)});
      } else if (group && dim == group.getFrom().front()) {
        StringAttr keyHeads = group.getTo().front();
        int64_t count = getDimSize(op.getK(), keyHeads.getValue());
        unsigned major = rule.add(keyHeads, count);
        dims.push_back(
            {major, rule.add(StringAttr::get(context, dim.getValue() + ".group"), size / count)});
      } else {
        bool depth = dim == op.getDepthAttr() || dim == op.getValueDepthAttr();
        dims.push_back({rule.add(dim, size, depth ? FactorKind::Whole : FactorKind::Pass)});
      }
    }
    return dims;
  };
  // By position: one value may be q, k and v.
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    rule.operands.push_back(factorsOf(operand, llvm::is_contained(keyOperands, index)));
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    rule.results.push_back(factorsOf(result, llvm::is_contained(keyResults, index)));
  if (op.isSelfAttention())
    setPositional(rule, op.getOver());
  return rule;
}

ShardingRule AttentionOp::getShardingRule() { return attentionRule(*this, {1, 2, 3}, {}); }

// dk and dv lack the queries' dimension and the heads of a group: they are pending where these are
// cut.
ShardingRule AttentionGradOp::getShardingRule() { return attentionRule(*this, {2, 3, 6}, {1, 2}); }

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

ShardingRule MicrobatchOp::getShardingRule() {
  ShardingRule rule;
  rule.results.push_back(factorsByName(rule, getResult(), FactorKind::Pass));
  rule.operands = {factorsByName(rule, getX(), FactorKind::Pass), {}};
  setLinear(rule, Linearity::All, {0});
  return rule;
}

/// The root of a sum isn't a sum of roots, so no factor may be cut by the general rule; the
/// partitioner adds squares of norms. Each operand has factors of its own.
ShardingRule GlobalNormOp::getShardingRule() {
  ShardingRule rule;
  for (auto [index, operand] : llvm::enumerate(getOperands())) {
    ValueFactors dims;
    for (StringAttr dim : getDims(operand))
      dims.push_back({rule.add(StringAttr::get(getContext(), dim.getValue() + "#" + Twine(index)),
                               getDimSize(operand, dim.getValue()), FactorKind::Whole)});
    rule.operands.push_back(dims);
  }
  rule.results.push_back({});
  return rule;
}

ShardingRule OptimizeOp::getShardingRule() {
  // Weights may have equal names and different shardings: each weight has factors of its own.
  ShardingRule rule;
  auto factorsOf = [&](size_t weight, Value value) {
    ValueFactors dims;
    for (StringAttr dim : getDims(value))
      dims.push_back({rule.add(StringAttr::get(getContext(), dim.getValue() + "#" + Twine(weight)),
                               getDimSize(value, dim.getValue()))});
    return dims;
  };
  size_t weights = getWeights().size();
  for (ValueRange group :
       {ValueRange(getWeights()), ValueRange(getGrads()), ValueRange(getStates())})
    for (auto [index, value] : llvm::enumerate(group))
      rule.operands.push_back(factorsOf(index % weights, value));
  rule.operands.resize(getNumOperands());
  for (auto [index, value] : llvm::enumerate(getResults()))
    rule.results.push_back(factorsOf(index % weights, value));
  return rule;
}
