//===- Functions.cpp - loss and logits ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The two functions of the model that are called from outside. Their parameters
// become parameters of a graph; the declared types say how data are read.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Train.h"

#include "llvm/ADT/StringExtras.h"

namespace ptlc::sema {

FunctionExpander::FunctionExpander(Context &ctx, PartInstance &model)
    : ctx(ctx), model(model), fields(dataFields(ctx.program.train.data)) {
  frame.file = model.file;
  frame.part = &model;
  frame.partId = model.id;
}

bool FunctionExpander::checkField(const ast::Param &param, const DeclaredType &type) {
  llvm::StringRef name = param.name.text;
  auto fail = [&](const llvm::Twine &text) {
    ctx.error(param.range, "'" + name + "' comes from the data, so " + text);
    return false;
  };
  bool isTensor = type.form == DeclaredType::Form::Tensor && !type.hasRest;
  if (!isTensor || type.type.dims.empty())
    return fail("its type is a list of dimensions");
  if (type.type.dims.front() != kBatchDim)
    return fail("the first dimension of its type is 'batch'");
  if (!ctx.isCountable(type.type))
    return fail("it can't have more than 2^48 elements");
  bool isText = !fields.empty() && ctx.program.train.data.kind != DataKind::Npy;
  if (isText && (type.type.kind != Kind::Int || type.type.dims.size() != 2))
    return fail("its type is int[batch, …] with one dimension for the sequence");
  return true;
}

static Tensor addParameter(Graph &graph, const ast::Param &param, const DeclaredType &type) {
  ValueId id = graph.values.size();
  graph.values.push_back({type.type, kNone, 0});
  graph.parameters.push_back({param.name.str(), id, type.advice, param.range});
  return Tensor{id};
}

Arguments FunctionExpander::fieldArguments(const ast::FunctionDecl &loss, Graph &graph) {
  Arguments args;
  Evaluator evaluator(ctx, frame);
  lang::SourceRange data = ctx.program.train.data.range;
  for (const ast::Param &param : loss.params) {
    llvm::StringRef name = param.name.text;
    bool isField = llvm::is_contained(fields, name.str());
    if (param.defaultValue && !isField)
      continue;
    // A field in error is poison: the rest of the function can still be checked.
    Argument &argument = args.emplace_back();
    argument.label = name;
    argument.range = param.range;
    if (!param.type) {
      ctx.error(param.range, "'" + name + "' comes from the data, so it needs a type");
      continue;
    }
    if (!fields.empty() && !isField)
      ctx.error(param.range, "'loss' takes '" + name + "', which the data doesn't have")
          .note(data,
                "the data " + ctx.lineOf(data, param.range) + " has " + llvm::join(fields, ", "));
    std::optional<DeclaredType> type = evaluator.resolve(*param.type);
    if (type && checkField(param, *type))
      argument.value = addParameter(graph, param, *type);
  }
  return args;
}

void FunctionExpander::expandLoss() {
  const ast::ModuleDecl &decl = *model.decl;
  const Symbol *symbol = model.scope.find("loss");
  const auto *function = symbol ? symbol->value.as<FunctionEntity>() : nullptr;
  if (!function) {
    ctx.error(decl.range, "model '" + decl.name.text + "' has no 'fn loss'");
    return;
  }
  Graph &graph = ctx.program.loss;
  ctx.beginGraph(graph, "loss");
  graph.range = function->decl->range;
  Evaluator evaluator(ctx, frame);
  Arguments args = fieldArguments(*function->decl, graph);
  Entity result = ctx.number(evaluator.expand(*function, args, function->decl->range));
  if (result.is<int64_t>() || result.is<double>())
    result = Tensor{ctx.emitConstant(result, Kind::Float, function->decl->range)};
  const auto *tensor = result.as<Tensor>();
  bool isNumber = tensor && ctx.type(*tensor) == Type{};
  if (isNumber)
    graph.results.push_back(tensor->value);
  else if (!result.isPoison())
    ctx.error(function->decl->range, "'loss' must return one number, returns " +
                                         ctx.describe(result) + (tensor ? "; use mean(…)" : ""));
  ctx.endGraph();
}

void FunctionExpander::expandLogits() {
  const Symbol *symbol = model.scope.find("logits");
  const auto *function = symbol ? symbol->value.as<FunctionEntity>() : nullptr;
  if (!function || function->decl->params.size() != 1)
    return;
  const ast::Param &param = function->decl->params.front();
  Evaluator evaluator(ctx, frame);
  std::optional<DeclaredType> type = param.type ? evaluator.resolve(*param.type) : std::nullopt;
  bool takesTokens = type && type->form == DeclaredType::Form::Tensor && !type->hasRest &&
                     type->type.kind == Kind::Int && type->type.dims.size() == 2 &&
                     type->type.dims.front() == kBatchDim;
  if (!takesTokens)
    return; // a function of that name for other ends
  Graph graph;
  ctx.beginGraph(graph, "logits");
  graph.range = function->decl->range;
  Argument argument;
  argument.label = param.name.text;
  argument.value = addParameter(graph, param, *type);
  argument.range = param.range;
  Entity result = evaluator.expand(*function, {argument}, function->decl->range);
  if (const auto *tensor = result.as<Tensor>()) {
    const Type &found = ctx.type(*tensor);
    bool ofEachToken = found.kind == Kind::Float && found.dims.size() == 3 &&
                       found.has(type->type.dims[0]) && found.has(type->type.dims[1]);
    graph.results.push_back(tensor->value);
    if (ofEachToken)
      ctx.program.logits = std::move(graph);
  }
  ctx.endGraph();
}

} // namespace ptlc::sema
