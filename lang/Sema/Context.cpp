//===- Context.cpp - State shared by the parts of analysis ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Errors with their place in the user's files, descriptions for messages, and
// the nodes of the current graph.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Context.h"

#include "llvm/ADT/StringExtras.h"

namespace ptlc::sema {

Report &Report::note(lang::SourceRange range, const llvm::Twine &text) {
  if (builder)
    builder->note(range, text);
  return *this;
}

/// Reads the value of a `-D`: a word of the language or a number.
static Entity parseDefineValue(llvm::StringRef text) {
  if (text == "true" || text == "false")
    return text == "true";
  int64_t integer = 0;
  if (!text.getAsInteger(10, integer))
    return integer;
  double real = 0;
  if (!text.getAsDouble(real))
    return real;
  return Poison{};
}

Context::Context(lang::SourceManager &sources, const AnalyzeOptions &options,
                 lang::DiagnosticEngine &diags)
    : sources(sources), diags(diags) {
  addDim("batch", "batch", 0, {});
  for (const Define &define : options.defines) {
    Entity value = parseDefineValue(define.value);
    if (value.isPoison())
      error({}, "-D " + define.name + ": expected a number, true or false, found '" + define.value +
                    "'");
    defines.push_back({define.name, std::move(value), false});
  }
}

bool Context::isLibrary(lang::FileId file) const {
  return llvm::is_contained(program.libraryFiles, file);
}

Report Context::error(lang::SourceRange range, const llvm::Twine &text) {
  if (!range.isValid() || !isLibrary(range.file))
    return report(range, text);
  for (auto it = trail.rbegin(); it != trail.rend(); ++it) {
    if (isLibrary(it->file))
      continue;
    Report result = report(*it, text);
    result.note(range, "found here, in the standard library");
    return result;
  }
  return report(range, text);
}

Report Context::report(lang::SourceRange range, const llvm::Twine &text) {
  bool expanding = !trail.empty() && range.isValid();
  if (expanding && !reportedPlaces.emplace(range.file.index, range.begin.offset).second)
    return Report();
  return Report(diags.error(range, text));
}

std::string Context::lineOf(lang::SourceRange place, lang::SourceRange from) const {
  std::string text = "on line " + std::to_string(place.begin.line);
  if (place.file != from.file)
    text += " of " + sources.name(place.file).str();
  return text;
}

std::string Context::sourceText(const ast::Node &node) const {
  std::string result;
  for (char c : sources.text(node.range)) {
    bool blank = llvm::isSpace(c);
    if (!blank || (!result.empty() && result.back() != ' '))
      result += blank ? ' ' : c;
  }
  return result;
}

const Entity *Context::takeDefine(llvm::StringRef name) {
  const Entity *result = nullptr;
  for (ParsedDefine &define : defines) {
    if (define.name != name)
      continue;
    define.used = true;
    result = &define.value; // the last one wins, as on command lines elsewhere
  }
  return result;
}

DimId Context::addDim(llvm::StringRef name, std::string qualified, int64_t size,
                      lang::SourceRange range) {
  program.dims.push_back({name.str(), std::move(qualified), size, range});
  return program.dims.size() - 1;
}

std::string Context::quoted(llvm::ArrayRef<DimId> dims) const {
  std::string text;
  for (DimId dim : dims)
    text += (text.empty() ? "'" : ", '") + dimName(dim).str() + "'";
  return text;
}

std::string Context::describe(const Entity &entity) const {
  if (const auto *tensor = entity.as<Tensor>())
    return "a tensor " + typeName(type(*tensor));
  if (entity.is<DimEntity>())
    return "a dimension";
  if (entity.is<PartEntity>())
    return "a part";
  if (entity.is<StackEntity>())
    return "a stack";
  if (entity.is<TupleEntity>())
    return "a tuple";
  if (entity.is<Text>())
    return "a string";
  if (entity.is<RangeEntity>())
    return "a range";
  if (entity.is<FunctionEntity>())
    return "a function";
  if (entity.is<ModuleEntity>())
    return "a module";
  if (entity.is<FileEntity>())
    return "a file";
  if (entity.is<ClusterEntity>())
    return "a cluster";
  return entity.is<bool>() ? "a bool" : "a number";
}

Entity Context::number(const Entity &entity) const {
  const auto *dim = entity.as<DimEntity>();
  if (!dim)
    return entity;
  // Only the batch can be without a size: in a library, or after an error in `train`.
  if (size(dim->id) == 0)
    return Poison{};
  return size(dim->id);
}

const Type &Context::type(ValueId value) const {
  if (value < program.weights.size())
    return program.weights[value].type;
  const Graph &current = graph ? *graph : scratch;
  return current.values[value].type;
}

bool Context::isCountable(const Type &type) const {
  constexpr int64_t kMostElements = int64_t(1) << 48;
  int64_t elements = 1;
  for (DimId dim : type.dims)
    if (__builtin_mul_overflow(elements, std::max<int64_t>(size(dim), 1), &elements))
      return false;
  return elements <= kMostElements;
}

Graph &Context::target() {
  if (graph)
    return *graph;
  if (scratch.values.size() < program.weights.size())
    scratch.values.resize(program.weights.size());
  return scratch;
}

llvm::SmallVector<ValueId, 2> Context::emitMany(Op op, llvm::ArrayRef<ValueId> operands,
                                                llvm::ArrayRef<Type> types, Attrs attrs,
                                                lang::SourceRange range) {
  spend(range);
  auto tooLarge = [&](const Type &type) { return !isCountable(type); };
  if (llvm::any_of(types, tooLarge) &&
      llvm::none_of(operands, [&](ValueId operand) { return tooLarge(type(operand)); }))
    error(range, "this has more than 2^48 elements");
  Graph &into = target();
  NodeId id = into.nodes.size();
  Node node{op, llvm::SmallVector<ValueId, 3>(operands), {}, std::move(attrs), range, currentCall};
  for (const Type &type : types) {
    node.results.push_back(into.values.size());
    into.values.push_back({type, id, static_cast<uint32_t>(node.results.size() - 1)});
  }
  into.nodes.push_back(std::move(node));
  return {into.nodes.back().results.begin(), into.nodes.back().results.end()};
}

ValueId Context::emit(Op op, llvm::ArrayRef<ValueId> operands, Type type, Attrs attrs,
                      lang::SourceRange range) {
  return emitMany(op, operands, type, std::move(attrs), range).front();
}

ValueId Context::emitConstant(const Entity &number, Kind kind, lang::SourceRange range) {
  ConstantAttrs attrs;
  attrs.real = number.asDouble();
  if (const auto *integer = number.as<int64_t>())
    attrs.integer = *integer;
  else
    attrs.integer = kind == Kind::Float ? 0 : static_cast<int64_t>(attrs.real);
  return emit(Op::Constant, {}, Type{kind, {}}, attrs, range);
}

void Context::beginGraph(Graph &target, llvm::StringRef name) {
  graph = &target;
  target.name = name.str();
  for (const Weight &weight : program.weights)
    target.values.push_back({weight.type, kNone, 0});
  currentCall = 0;
  randomCalls.assign(program.parts.size(), 0);
}

bool Context::spend(lang::SourceRange range) {
  // Twenty times the calls, iterations and operations of a model of 512 layers.
  constexpr unsigned kMostSteps = 1 << 18;
  if (steps < kMostSteps && ++steps < kMostSteps)
    return true;
  if (steps == kMostSteps) {
    ++steps;
    error(range, "the program expands to more than " + llvm::Twine(kMostSteps) +
                     " calls, iterations and operations");
  }
  return false;
}

unsigned Context::nextRandom(PartId part) {
  if (randomCalls.size() <= part)
    randomCalls.resize(part + 1, 0);
  return randomCalls[part]++;
}

} // namespace ptlc::sema
