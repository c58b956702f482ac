//===- Import.cpp - From a checked program to the ptl dialect -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Builds the module of stage `flat`: its functions with their roles, and the
// attributes that say what `train` and the plan ask for.
//===----------------------------------------------------------------------===//
#include "compiler/Import/Import.h"

#include "compiler/Import/GraphImporter.h"
#include "compiler/Import/ProgramAttributes.h"
#include "compiler/Support/SignatureAttributes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

using namespace ptlc;
using namespace ptlc::import;
using namespace mlir;

namespace {
/// Which values of an integer field are legal: ids index a dimension.
struct IdRange {
  int64_t limit = 0; ///< ids lie in [0, limit); 0: anything goes
  std::optional<int64_t> ignore;
};

/// What one function is made for.
struct FunctionSpec {
  StringRef name;
  const sema::Program *program;
  const sema::Graph *graph;
  bool dropout;
  bool valid;
  bool metrics;
};

class ModuleImporter {
public:
  ModuleImporter(MLIRContext &context, const sema::Program &program, const sema::PlanSpec &plan,
                 const lang::SourceManager &sources, lang::DiagnosticEngine &diags,
                 ImportStage stage)
      : builder(&context), program(program), plan(plan), sources(sources), diags(diags),
        stage(stage), directives(program, plan) {}

  OwningOpRef<ModuleOp> run(const sema::Program *sampling);

private:
  LogicalResult importFunction(const FunctionSpec &spec);
  void describeArguments(func::FuncOp function, const FunctionSpec &spec);
  void describeResults(func::FuncOp function, const sema::Graph &graph, bool metrics);

  OpBuilder builder;
  const sema::Program &program;
  const sema::PlanSpec &plan;
  const lang::SourceManager &sources;
  lang::DiagnosticEngine &diags;
  ImportStage stage;
  Outlined outlined;
  Directives directives;
  OwningOpRef<ModuleOp> module;
};
} // namespace

/// Follows a field through operations that keep its values to what uses them as indices.
static void findUses(const sema::Program &program, const sema::Graph &graph, sema::ValueId field,
                     IdRange &range) {
  llvm::SmallVector<sema::ValueId> same = {field};
  auto limit = [&](sema::DimId dim) {
    int64_t size = program.size(dim);
    range.limit = range.limit ? std::min(range.limit, size) : size;
  };
  for (const sema::Node &node : graph.nodes) {
    bool moves = node.op == sema::Op::Reorder || node.op == sema::Op::Reshape ||
                 node.op == sema::Op::Expand || node.op == sema::Op::Slice;
    if (moves && llvm::is_contained(same, node.operands[0]))
      same.push_back(node.results[0]);
    if (node.op == sema::Op::Gather && llvm::is_contained(same, node.operands[1]))
      limit(std::get<sema::DimsAttrs>(node.attrs).dims[0]);
    if (node.op == sema::Op::CrossEntropy && llvm::is_contained(same, node.operands[1])) {
      const auto &attrs = std::get<sema::CrossEntropyAttrs>(node.attrs);
      limit(attrs.over);
      range.ignore = attrs.ignore;
    }
  }
}

/// Returns the node that changes the batch in a way that rows beyond the valid ones would spoil.
static const sema::Node *mixesBatch(const sema::Graph &graph) {
  auto has = [](const sema::DimList &dims) { return llvm::is_contained(dims, sema::kBatchDim); };
  for (const sema::Node &node : graph.nodes) {
    if (auto *reshape = std::get_if<sema::ReshapeAttrs>(&node.attrs))
      for (const sema::Arrow &arrow : reshape->arrows)
        if (has(arrow.from))
          return &node;
    if (auto *resize = std::get_if<sema::ResizeAttrs>(&node.attrs))
      if (resize->from == sema::kBatchDim)
        return &node;
    if (auto *concat = std::get_if<sema::ConcatAttrs>(&node.attrs))
      if (has(concat->from))
        return &node;
    bool along = node.op == sema::Op::Softmax || node.op == sema::Op::LogSoftmax ||
                 node.op == sema::Op::ArgMax || node.op == sema::Op::Gather;
    if (along && has(std::get<sema::DimsAttrs>(node.attrs).dims))
      return &node;
  }
  return nullptr;
}

void ModuleImporter::describeArguments(func::FuncOp function, const FunctionSpec &spec) {
  StringAttr role = builder.getStringAttr("ptl.role"), path = builder.getStringAttr("ptl.path");
  SignatureAttributes attributes = SignatureAttributes::ofArguments(function);
  unsigned index = 0;
  for (const sema::Weight &weight : spec.program->weights) {
    attributes.set(index, role, builder.getStringAttr("weight"));
    attributes.set(index, path, builder.getStringAttr(weight.path));
    attributes.set(index, "ptl.init", initAttribute(builder, weight.init));
    if (weight.frozen)
      attributes.set(index, "ptl.frozen", builder.getUnitAttr());
    index++;
  }
  for (const sema::Parameter &parameter : spec.graph->parameters) {
    attributes.set(index, role, builder.getStringAttr("data"));
    attributes.set(index, path, builder.getStringAttr(parameter.name));
    if (spec.graph->type(parameter.value).kind == sema::Kind::Int) {
      IdRange range;
      findUses(*spec.program, *spec.graph, parameter.value, range);
      attributes.set(index, "ptl.limit", builder.getI64IntegerAttr(range.limit));
      if (range.ignore)
        attributes.set(index, "ptl.ignore", builder.getI64IntegerAttr(*range.ignore));
    }
    index++;
  }
  attributes.set(index++, role, builder.getStringAttr("step"));
  if (spec.valid)
    attributes.set(index, role, builder.getStringAttr("valid"));
  attributes.commit();
}

void ModuleImporter::describeResults(func::FuncOp function, const sema::Graph &graph,
                                     bool metrics) {
  bool loss = graph.type(graph.results[0]).dims.empty();
  function.setResultAttr(0, "ptl.role", builder.getStringAttr(loss ? "loss" : "logits"));
  for (unsigned i = 0; metrics && i < graph.metrics.size(); i++) {
    function.setResultAttr(i + 1, "ptl.role", builder.getStringAttr("metric"));
    function.setResultAttr(i + 1, "ptl.path", builder.getStringAttr(graph.metrics[i].name));
  }
}

LogicalResult ModuleImporter::importFunction(const FunctionSpec &spec) {
  const sema::Graph &graph = *spec.graph;
  GraphImporter importer(builder, *spec.program, graph, sources, diags);
  SmallVector<Type> inputs, results;
  for (const sema::Weight &weight : spec.program->weights)
    inputs.push_back(importer.tensorType(weight.type));
  for (const sema::Parameter &parameter : graph.parameters)
    inputs.push_back(importer.tensorType(graph.type(parameter.value)));
  auto counter = RankedTensorType::get({}, builder.getI64Type());
  inputs.append(spec.valid ? 2 : 1, counter);
  results.push_back(importer.tensorType(graph.type(graph.results[0])));
  for (unsigned i = 0; spec.metrics && i < graph.metrics.size(); i++)
    results.push_back(importer.tensorType({sema::Kind::Float, {}}));

  Location loc = importer.location(graph.range, sema::kNone);
  auto function =
      func::FuncOp::create(builder, loc, spec.name, builder.getFunctionType(inputs, results));
  describeArguments(function, spec);
  describeResults(function, graph, spec.metrics);
  Block *body = function.addEntryBlock();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(body);

  unsigned index = 0;
  for (const sema::Weight &weight : spec.program->weights) {
    body->getArgument(index).setLoc(importer.location(weight.range, sema::kNone));
    importer.bind(index, body->getArgument(index));
    index++;
  }
  for (const sema::Parameter &parameter : graph.parameters) {
    body->getArgument(index).setLoc(importer.location(parameter.range, sema::kNone));
    importer.bind(parameter.value, body->getArgument(index++));
  }
  GraphContext context;
  context.constraints = directives.constraintsOf(*spec.program, graph);
  context.dropout = spec.dropout;
  context.step = body->getArgument(index++);
  context.valid = spec.valid ? body->getArgument(index) : Value();
  if (failed(importer.run(context)))
    return failure();
  SmallVector<Value> returned = {importer.value(graph.results[0])};
  for (unsigned i = 0; spec.metrics && i < graph.metrics.size(); i++)
    returned.push_back(importer.value(graph.metrics[i].value));
  func::ReturnOp::create(builder, loc, returned);
  if (stage == ImportStage::Model)
    outlineCalls(function, *spec.program, graph, importer.calls(), outlined);
  return success();
}

OwningOpRef<ModuleOp> ModuleImporter::run(const sema::Program *sampling) {
  const sema::TrainSpec &train = program.train;
  std::string place = placeOf(train.range, sources);
  lang::SourceRange at = plan.range.file.isValid() ? plan.range : train.range;
  module = ModuleOp::create(FileLineColLoc::get(builder.getContext(), sources.name(at.file),
                                                at.begin.line, at.begin.column));
  builder.setInsertionPointToEnd(module->getBody());
  Operation *op = module->getOperation();
  const sema::Node *mixing = mixesBatch(program.loss);
  op->setAttr("ptl.model", builder.getStringAttr(train.model));
  op->setAttr("ptl.source", builder.getStringAttr(sources.name(train.range.file)));
  op->setAttr("ptl.train", trainAttribute(builder, program, sources, !mixing));
  op->setAttr("ptl.plan", planAttribute(builder, program, plan, directives, sources));

  bool isShort = train.data.tail == sema::Tail::Short;
  if (isShort && mixing) {
    diags.error(train.data.range, "'tail: short' needs a loss that treats samples one by one")
        .note(mixing->range, "here the batch is mixed");
    return {};
  }
  LogicalResult result = importFunction({"loss", &program, &program.loss, true, isShort, true});
  if (succeeded(result) && !train.evals.empty())
    result = importFunction({"eval", &program, &program.loss, false, !mixing, true});
  if (succeeded(result) && sampling && sampling->logits)
    result = importFunction({"logits", sampling, &*sampling->logits, false, false, false});
  if (failed(result))
    return {};
  return std::move(module);
}

OwningOpRef<ModuleOp> ptlc::importProgram(MLIRContext &context, const sema::Program &program,
                                          const sema::Program *sampling, const sema::PlanSpec &plan,
                                          const lang::SourceManager &sources,
                                          lang::DiagnosticEngine &diags, ImportStage stage) {
  return ModuleImporter(context, program, plan, sources, diags, stage).run(sampling);
}
