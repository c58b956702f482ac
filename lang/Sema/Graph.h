//===- Graph.h - The checked program as a typed graph of operations -------===//
// SPDX-License-Identifier: Apache-2.0
//
// What semantic analysis makes of a function of the model: modules, functions
// and loops are expanded, names are resolved, and every operation of the
// language is a node whose operands and results have types made of named
// dimensions. Nothing here knows MLIR; the importer translates node by node.
//
// Element-wise nodes align their operands by dimension name: one operand (the
// result's order) has all names, the others may lack some. Their operands all
// have one element kind, since analysis inserts the casts that the language
// implies. `Type::dims` is in layout order, the major dimension first.
//===----------------------------------------------------------------------===//
#ifndef PTLC_LANG_SEMA_GRAPH_H
#define PTLC_LANG_SEMA_GRAPH_H

#include "lang/Diag/Diagnostics.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ptlc::sema {

using DimId = uint32_t;   // index into Program::dims; two dims are equal only if their ids are
using ValueId = uint32_t; // index into Graph::values
using NodeId = uint32_t;  // index into Graph::nodes
using CallId = uint32_t;  // index into Graph::calls
using PartId = uint32_t;  // index into Program::parts; 0 is the model itself

inline constexpr uint32_t kNone = ~0u;

/// The dimension of the data has this id in every program; its size is the global batch.
inline constexpr DimId kBatchDim = 0;

using DimList = llvm::SmallVector<DimId, 4>;

/// A named dimension. `name` is what a type and a plan's `shard` say ("seq"); `qualified` is unique
/// in the program: "seq" in the main file, "llama.seq" in an imported one, "blocks.0.half" in a
/// part.
struct Dim {
  std::string name;
  std::string qualified;
  int64_t size = 0;
  lang::SourceRange range;
};

enum class Kind : uint8_t { Float, Int, Bool };

/// Element kind and dimensions in layout order; no dimension is a scalar.
struct Type {
  Kind kind = Kind::Float;
  DimList dims;

  bool operator==(const Type &) const = default;
  bool has(DimId dim) const;
};

/// The operations of the language; Ops.def says what each takes and gives.
enum class Op : uint8_t {
#define PTLC_SEMA_OP(NAME, TEXT) NAME,
#include "lang/Sema/Ops.def"
#undef PTLC_SEMA_OP
};

/// The name of an operation as the language and dumps write it: "add", "cross_entropy".
llvm::StringRef opName(Op op);

struct ConstantAttrs {
  double real = 0;     ///< the value; exact for bool and for int up to 2^53
  int64_t integer = 0; ///< the value if the type is int or bool
};
struct DimsAttrs {
  DimList dims;
};
struct NormAttrs {
  DimId over = 0;
  double eps = 1e-5;
};
struct RopeAttrs {
  DimId over = 0, along = 0;
  double theta = 10000.0;
};
struct IndexAttrs {
  DimId dim = 0;
  int64_t index = 0;
};
/// `from` becomes `to`; in both lists the first name is the major one. In the result, `to` stands
/// where the first of `from` stood.
struct Arrow {
  DimList from, to;
};
/// The arrows are independent: no name occurs in two of them.
struct ReshapeAttrs {
  llvm::SmallVector<Arrow, 2> arrows;
};
/// Operand i lies along from[i]; the other names are those of the first operand.
struct ConcatAttrs {
  DimList from;
  DimId to = 0;
};
/// Slice: elements [offset, offset + size(to)) of `from`. Pad: `offset` values before, the rest
/// after. TopK: the size(to) largest along `from`.
struct ResizeAttrs {
  DimId from = 0, to = 0;
  int64_t offset = 0;
  double value = 0;
};
struct CrossEntropyAttrs {
  DimId over = 0;
  std::optional<int64_t> ignore;
  bool reduce = true; ///< mean over valid targets; else one value per target, 0 where ignored
};
struct AttentionAttrs {
  DimId over = 0;  ///< the keys' dimension, in k and v; in q, too, it is self-attention
  DimId depth = 0; ///< the last dimension of q and k
  bool causal = false;
  std::optional<int64_t> window; ///< query i sees keys j with i - window < j
  double scale = 1;              ///< explicit: 1/sqrt(depth) when the program says nothing
  std::optional<Arrow> group;    ///< heads -> kv_heads, one name each
};
struct RandomAttrs {
  double p = 0;      ///< Dropout only
  std::string place; ///< "part#n": the key of the random stream
};
using Attrs = std::variant<std::monostate, ConstantAttrs, DimsAttrs, NormAttrs, RopeAttrs,
                           IndexAttrs, ReshapeAttrs, ConcatAttrs, ResizeAttrs, CrossEntropyAttrs,
                           AttentionAttrs, RandomAttrs>;

/// Weights come first (value i is weight i of the program), then the parameters, then results.
struct Value {
  Type type;
  NodeId node = kNone; ///< what computes it; kNone for weights and parameters
  uint32_t result = 0; ///< which result of `node`
};

struct Node {
  Op op;
  llvm::SmallVector<ValueId, 3> operands;
  llvm::SmallVector<ValueId, 1> results;
  Attrs attrs;
  lang::SourceRange range; ///< the expression
  CallId call = 0;         ///< the call that it is in; calls[call].part is the part
};

/// One expansion of a function: what a diagnostic inside a library climbs, and what the importer
/// groups by to show functions. Calls are in the order in which they begin; calls[0] is the root.
struct Call {
  CallId parent = kNone;
  std::string function;                    ///< "forward"
  std::string module;                      ///< "Attention"; empty for a function of a file
  PartId part = 0;                         ///< the part whose function it is
  lang::SourceRange range;                 ///< the call's expression, in the parent's function
  lang::SourceRange definition;            ///< the function's declaration
  llvm::SmallVector<ValueId, 4> arguments; ///< the tensors among them, in order of the parameters
  llvm::SmallVector<ValueId, 2> results;   ///< tensors
};

/// Advice of the model's author for a dimension of a weight, a field or a named value: `ffn @ tp`.
/// Void on a mesh that lacks the axis; weaker than any rule of a plan.
struct Advice {
  DimId dim = 0;
  llvm::SmallVector<std::string, 2> axes; ///< outer first; empty means `none`
  lang::SourceRange range;
};

/// A parameter, `let` or `var` that a plan's path may name: part path + "." + name. A variable that
/// is assigned again has an entry for each value, in order.
struct NamedValue {
  PartId part = 0;
  std::string name;
  ValueId value = 0;
  CallId call = 0;
  std::vector<Advice> advice;
  lang::SourceRange range;
};

struct Parameter {
  std::string name;
  ValueId value = 0;
  std::vector<Advice> advice;
  lang::SourceRange range;
};
struct Metric {
  std::string name;
  ValueId value = 0;
  lang::SourceRange range;
};

/// One function of the model, expanded.
struct Graph {
  std::string name; ///< "loss", "logits"
  std::vector<Value> values;
  std::vector<Node> nodes; ///< in program order: operands come first
  std::vector<Call> calls;
  std::vector<Parameter> parameters;
  std::vector<NamedValue> names;
  std::vector<Metric> metrics;
  llvm::SmallVector<ValueId, 1> results;
  lang::SourceRange range;

  const Type &type(ValueId value) const { return values[value].type; }
};

} // namespace ptlc::sema

#endif // PTLC_LANG_SEMA_GRAPH_H
