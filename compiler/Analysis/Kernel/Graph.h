//===- Graph.h - What a row kernel computes, free of any target -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// A kernel is a graph of primitive nodes over named dimensions. A node has a
// value for each tuple of indices of its dimensions; nothing says yet in which
// order, or whether it is stored. Since dimensions are identified rather than
// counted, a broadcast needs no node: an operand that lacks a dimension simply
// ignores its index. RowPlan.h decides on loops and storage; back ends evaluate
// nodes on demand, walking from what is stored to the inputs.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_ANALYSIS_KERNEL_GRAPH_H
#define PTLC_COMPILER_ANALYSIS_KERNEL_GRAPH_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ptlc::kernel {

/// Index into Graph::dims.
using DimId = uint32_t;
using DimList = llvm::SmallVector<DimId, 4>;

/// Element types. I1 is a byte in memory; I64 holds the step and counts of samples. BF16 is two
/// bytes in memory and f32 in registers: a node of it is an f32 that bf16 can represent.
enum class Elem : uint8_t { F32, I32, I1, I64, BF16 };

/// True for numbers that registers hold as f32.
inline bool isFloat(Elem elem) { return elem == Elem::F32 || elem == Elem::BF16; }

/// Bytes of one element in memory.
int64_t byteSize(Elem elem);

/// True if the lists, each without repetitions, hold the same dimensions in any order.
bool sameSet(llvm::ArrayRef<DimId> a, llvm::ArrayRef<DimId> b);

/// A dimension of the iteration space; two of one name differ if their sizes do.
struct Dim {
  std::string name;
  int64_t size;
};

enum class NodeKind : uint8_t {
  Input,      ///< element of argument `argument`
  Scalar,     ///< run-time scalar `argument` (see ScalarSource)
  Constant,   ///< `value`
  Iota,       ///< index along its only dimension, plus the start of `cuts`
  Random,     ///< `word` says how; global index from `cuts`
  Map,        ///< element-wise `map`
  Reduce,     ///< `combine` over `over`
  Gather,     ///< operand 0 at index operand 1 along `over[0]`
  ScatterAdd, ///< operand 1 added at index operand 0 along `over[0]` of the result; operand 2:
              ///< initial value
  Reindex,    ///< operand 0 at indices given by `groups`
  Pad,        ///< operand 0 shifted by `offset`, `value` outside; over[0] -> over[1]
  Concat, ///< operands one after the other; over[i] is the piece of operand i, last is the whole
  Mask,   ///< operand 0 where all indices of `cuts` are valid, else `value`
  Block,  ///< piece number operand 1 of operand 0 along over[0] (whole), over[1] (piece)
  TopK,   ///< values and, as `result` 1, indices of the largest; over[0] -> over[1]
};

/// In the order of ptl::ElementwiseKind.
enum class Map : uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  Pow,
  Max,
  Min,
  Neg,
  Exp,
  Log,
  Sqrt,
  Rsqrt,
  Sin,
  Cos,
  Tanh,
  Sigmoid,
  Abs,
  Relu,
  Gelu,
  Silu,
  Floor,
  Ceil,
  Recip,
  Sign,
  GeluGrad,
  SiluGrad,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  And,
  Or,
  Not,
  Select,
  Cast,
  OneMinusPower ///< 1 - x^y, y an integer, in f64: the bias correction of optimizers
};

enum class Combine : uint8_t { Sum, Max, Min };

/// Where a run-time scalar comes from. Cut scalars depend on the rank's coordinates.
struct ScalarSource {
  enum class Kind : uint8_t { Seed, Micro, CutStart, CutValid } kind;
  mlir::Attribute cut; ///< of a cut scalar: spmd.cut
  bool operator==(const ScalarSource &) const = default;
};

/// A dimension of which this rank holds a part.
struct Cut {
  DimId dim;
  int64_t global;
  unsigned start, valid; ///< scalar numbers
};

/// Old dimensions (of the operand) and the new ones that make the same row-major index.
struct ReindexGroup {
  DimList from, to;
  int64_t offset = 0; ///< added to the index (slice)
};

struct Node {
  NodeKind kind;
  Elem elem;
  DimList dims; ///< in the order of the type that it came from
  mlir::Location loc;
  llvm::SmallVector<Node *, 3> operands;
  unsigned id = 0;
  unsigned argument = 0; ///< Input, Scalar
  double value = 0;      ///< Constant, Pad, Mask
  Map map = Map::Add;
  Combine combine = Combine::Sum;
  DimList over;        ///< see NodeKind
  DimList operandDims; ///< Reduce, ScatterAdd: order of the operand's (updates') type
  llvm::SmallVector<ReindexGroup, 2> groups;
  llvm::SmallVector<Cut, 2> cuts;
  int64_t offset = 0;
  unsigned result = 0;
  bool normal = false; ///< Random: normal instead of uniform
  uint64_t place = 0;  ///< Random: hash of the place

  Node(NodeKind kind, Elem elem, DimList dims, mlir::Location loc)
      : kind(kind), elem(elem), dims(std::move(dims)), loc(loc) {}
  bool has(DimId dim) const { return llvm::is_contained(dims, dim); }
};

/// What a kernel writes: a node, in the order of dimensions of the result's type.
struct Output {
  Node *node;
  DimList dims;
  mlir::Location loc;
};

/// An argument: its type, in order.
struct Argument {
  Elem elem;
  DimList dims;
};

struct Graph {
  std::vector<Dim> dims;
  std::vector<std::unique_ptr<Node>> nodes; ///< operands first
  std::vector<Argument> arguments;          ///< memory operands
  std::vector<ScalarSource> scalars;
  std::vector<Output> outputs;
  DimList iterate; ///< the dimensions that number the rows, major first

  DimId dim(llvm::StringRef name, int64_t size);
  Node *add(NodeKind kind, Elem elem, DimList dims, mlir::Location loc);
  unsigned scalar(ScalarSource source);
  bool isRow(DimId dim) const { return llvm::is_contained(iterate, dim); }
  int64_t volume(llvm::ArrayRef<DimId> list) const;
  /// The dimensions of `list` that do not number rows.
  DimList inner(llvm::ArrayRef<DimId> list) const;
  /// Text that is equal for kernels that compute the same; names do not matter.
  std::string key() const;
};

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_ANALYSIS_KERNEL_GRAPH_H
