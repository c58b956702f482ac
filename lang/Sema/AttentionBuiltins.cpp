//===- AttentionBuiltins.cpp - attention ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// q and k end in the depth, k and v lie along `over`, v ends in its own depth.
// All other names of k and v are aligned with q's; with `group: heads ->
// kv_heads` each name kv_heads serves heads / kv_heads of q's. The result has
// q's names with v's depth last. If q lies along `over`, too, this is
// self-attention, and `causal` and `window` have a meaning.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Builtins.h"

#include <cmath>

namespace ptlc::sema {

namespace {
/// Checks the pieces of a call one after the other; each returns false after an error.
class AttentionCheck {
public:
  explicit AttentionCheck(BuiltinCall &call) : call(call), ctx(call.ctx) {}

  bool operands();
  bool options();
  bool group();
  bool alignment();
  bool mask();
  Entity emit();

private:
  bool fail(const llvm::Twine &text) {
    call.error(text);
    return false;
  }
  std::string name(const Type &type) { return ctx.typeName(type); }

  BuiltinCall &call;
  Context &ctx;
  Type q, k, v;
  llvm::SmallVector<ValueId, 4> values;
  AttentionAttrs attrs;
};
} // namespace

bool AttentionCheck::operands() {
  if (!call.takes(3))
    return false;
  Type *types[] = {&q, &k, &v};
  for (auto [argument, type] : llvm::zip(call.positional, types)) {
    std::optional<Tensor> tensor = call.floats(*argument);
    if (!tensor)
      return false;
    *type = ctx.type(*tensor);
    values.push_back(tensor->value);
    if (type->dims.empty())
      return fail("'attention' needs tensors with a depth, not " + name(*type));
  }
  const Argument *over = call.find("over");
  if (!over)
    return fail("'attention' needs 'over:'");
  std::optional<DimList> dims = call.dims(*over);
  if (!dims)
    return false;
  if (dims->size() != 1)
    return fail("'attention' runs over one dimension");
  attrs.over = dims->front();
  attrs.depth = q.dims.back();
  for (auto [type, letter] : {std::pair(&k, "k"), std::pair(&v, "v")})
    if (!type->has(attrs.over))
      return fail("'attention' runs over '" + ctx.dimName(attrs.over) + "', which " + letter + " " +
                  name(*type) + " lacks");
  if (k.dims.back() != attrs.depth)
    return fail("q and k must end in the same dimension, are " + name(q) + " and " + name(k));
  if (attrs.depth == attrs.over || v.dims.back() == attrs.over)
    return fail("'attention' can't run over '" + ctx.dimName(attrs.over) +
                "', in which its operands end");
  return true;
}

bool AttentionCheck::options() {
  std::optional<bool> causal = call.flag("causal", false);
  std::optional<int64_t> window = call.integer("window", 1);
  std::optional<double> scale =
      call.real("scale", 1.0 / std::sqrt(static_cast<double>(ctx.size(attrs.depth))));
  if (!causal || !window || !scale)
    return false;
  attrs.causal = *causal;
  attrs.scale = *scale;
  if (call.find("window"))
    attrs.window = *window;
  if (*window < 1)
    return fail("'window' must be at least 1, is " + llvm::Twine(*window));
  llvm::StringRef option = attrs.causal ? "causal" : attrs.window ? "window" : "";
  if (!option.empty() && !q.has(attrs.over))
    return fail("'" + option + "' needs queries along '" + ctx.dimName(attrs.over) + "'; q is " +
                name(q));
  return true;
}

bool AttentionCheck::group() {
  const Argument *argument = call.find("group");
  if (!argument)
    return true;
  std::optional<std::pair<DimId, DimId>> arrow = call.arrow(*argument);
  if (!arrow)
    return false;
  auto [heads, shared] = *arrow;
  if (!q.has(heads) || q.has(shared) || heads == attrs.depth || heads == attrs.over)
    return fail("'group' goes from a dimension of q " + name(q) +
                " to one of k and v; q's is "
                "'" +
                ctx.dimName(heads) + "' here, k's '" + ctx.dimName(shared) + "'");
  for (auto [type, letter] : {std::pair(&k, "k"), std::pair(&v, "v")})
    if (!type->has(shared) || type->has(heads))
      return fail("'group' needs '" + ctx.dimName(shared) + "' in place of '" + ctx.dimName(heads) +
                  "' in " + letter + " " + name(*type));
  if (ctx.size(heads) % ctx.size(shared) != 0)
    return fail("'group' needs '" + ctx.dimName(heads) + "' = " + llvm::Twine(ctx.size(heads)) +
                " to be a multiple of '" + ctx.dimName(shared) +
                "' = " + llvm::Twine(ctx.size(shared)));
  attrs.group = Arrow{{heads}, {shared}};
  return true;
}

bool AttentionCheck::alignment() {
  auto aligned = [&](DimId dim) {
    bool isShared = attrs.group && attrs.group->to.front() == dim;
    return dim == attrs.over || isShared || (q.has(dim) && dim != attrs.depth);
  };
  for (auto [type, letter] : {std::pair(&k, "k"), std::pair(&v, "v")}) {
    DimList extra;
    for (DimId dim : llvm::drop_end(type->dims))
      if (!aligned(dim))
        extra.push_back(dim);
    if (extra.empty())
      continue;
    call.error(llvm::Twine(letter) + " " + name(*type) + " has " + ctx.quoted(extra) +
               ", which q " + name(q) + " lacks")
        .note({},
              "fewer key/value heads are said with group: heads -> " + ctx.dimName(extra.front()));
    return false;
  }
  DimId depth = v.dims.back();
  bool twice = depth != attrs.depth && (q.has(depth) || aligned(depth));
  return !twice || fail("the result would have '" + ctx.dimName(depth) + "' twice: q is " +
                        name(q) + ", v is " + name(v));
}

bool AttentionCheck::mask() {
  const Argument *argument = call.find("mask");
  if (!argument)
    return true;
  const auto *tensor = argument->value.as<Tensor>();
  if (argument->arrow || !tensor || ctx.type(*tensor).kind != Kind::Bool)
    return fail("the mask of 'attention' is a bool tensor, not " +
                (argument->arrow ? "'->'" : ctx.describe(argument->value)));
  const Type &type = ctx.type(*tensor);
  DimList extra;
  for (DimId dim : type.dims)
    if (dim != attrs.over && (!q.has(dim) || dim == attrs.depth))
      extra.push_back(dim);
  if (!extra.empty())
    return fail("the mask " + name(type) + " has " + ctx.quoted(extra) + ", which the scores lack");
  values.push_back(tensor->value);
  return true;
}

Entity AttentionCheck::emit() {
  Type result{Kind::Float, {}};
  for (DimId dim : q.dims)
    if (dim != attrs.depth)
      result.dims.push_back(dim);
  result.dims.push_back(v.dims.back());
  return call.emit(Op::Attention, values, std::move(result), attrs);
}

static Entity attentionFunction(BuiltinCall &call) {
  AttentionCheck check(call);
  bool ok =
      check.operands() && check.options() && check.group() && check.alignment() && check.mask();
  return ok ? check.emit() : Poison{};
}

llvm::ArrayRef<Builtin> attentionBuiltins() {
  static const Builtin table[] = {
      {"attention", {"over", "causal", "window", "mask", "scale", "group"}, attentionFunction},
  };
  return table;
}

} // namespace ptlc::sema
