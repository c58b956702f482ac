//===- GraphImporter.h - One function of the model --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Translates the nodes of a sema::Graph in order. The graph aligns operands by
// name and has n-ary contractions, means and losses; the ptl dialect has explicit
// broadcasts, binary products and sums, so each node becomes a few operations.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_IMPORT_GRAPHIMPORTER_H
#define PTLC_COMPILER_IMPORT_GRAPHIMPORTER_H

#include "compiler/Import/Directives.h"
#include "compiler/Import/OutlineCalls.h"
#include "dialects/Ptl/Ptl.h"
#include "lang/Sema/Program.h"
#include "mlir/IR/Builders.h"

namespace ptlc::import {

/// What a function is imported for.
struct GraphContext {
  bool dropout = true;     ///< off for evaluation and sampling
  mlir::Value step;        ///< tensor<i64>: key of random numbers
  mlir::Value valid;       ///< tensor<i64>: valid samples of a short batch; null: all are
  Constraints constraints; ///< of weights, parameters and results
};

class GraphImporter {
public:
  GraphImporter(mlir::OpBuilder &builder, const sema::Program &program, const sema::Graph &graph,
                const lang::SourceManager &sources, lang::DiagnosticEngine &diags)
      : builder(builder), program(program), graph(graph), sources(sources), diags(diags),
        values(graph.values.size()) {}

  /// The value of a weight or parameter; set all of them before run().
  void bind(sema::ValueId id, mlir::Value value) { values[id] = value; }

  /// Builds all nodes at the builder's place. Returns failure after an error on `diags`.
  mlir::LogicalResult run(const GraphContext &context);

  mlir::Value value(sema::ValueId id) const { return values[id]; }
  /// Which call of the graph each operation belongs to, after run().
  const CallOf &calls() const { return callOf; }

  mlir::RankedTensorType tensorType(const sema::Type &type) const;
  mlir::Location location(lang::SourceRange range, sema::CallId call) const;

private:
  void noteCalls(mlir::Operation *before, sema::CallId call);
  // By family, each returns the node's result (the first one). GraphImporter.cpp
  mlir::Value build(const sema::Node &node);
  mlir::Value buildElementwise(const sema::Node &node);
  mlir::Value buildConstant(const sema::Node &node);
  // ImportShapes.cpp
  mlir::Value buildShape(const sema::Node &node);
  mlir::Value buildReshape(const sema::Node &node);
  mlir::Value buildGather(const sema::Node &node);
  mlir::Value buildStack(const sema::Node &node);
  mlir::Value buildOneHot(const sema::Node &node);
  mlir::Value buildTopK(const sema::Node &node);
  // ImportReductions.cpp
  mlir::Value buildDot(const sema::Node &node);
  mlir::Value buildReduce(const sema::Node &node);
  mlir::Value buildMean(const sema::Node &node, mlir::Value x, mlir::Value mask);
  mlir::Value countOf(mlir::Value mask, const sema::DimList &folded, mlir::RankedTensorType result);
  mlir::Value buildMse(const sema::Node &node);
  mlir::Value validMask(const sema::DimList &folded);
  // ImportComposites.cpp
  mlir::Value buildComposite(const sema::Node &node);
  mlir::Value buildCrossEntropy(const sema::Node &node);
  mlir::Value buildAttention(const sema::Node &node);
  mlir::Value buildDropout(const sema::Node &node);

  // Small pieces.
  mlir::Value operand(const sema::Node &node, unsigned index) const {
    return values[node.operands[index]];
  }
  mlir::RankedTensorType resultType(const sema::Node &node) const {
    return tensorType(graph.type(node.results[0]));
  }
  mlir::StringAttr nameOf(sema::DimId dim) const;
  mlir::SmallVector<mlir::StringAttr> namesOf(const sema::DimList &dims) const;
  /// Repeats and reorders `x` to the dimensions of `like`, keeping x's elements.
  mlir::Value align(mlir::Value x, mlir::RankedTensorType like);
  /// Puts what directives say of the value on it.
  void constrain(sema::ValueId id);
  mlir::Value elementwise(ptl::ElementwiseKind kind, mlir::ValueRange operands);
  mlir::Value cast(mlir::Value x, mlir::Type element);
  mlir::Value constant(double value, mlir::RankedTensorType type);
  mlir::Value constantLike(double value, mlir::Value like);
  mlir::Value sumAll(mlir::Value x);
  /// x where the mask (whose names are among x's) holds, else `other`.
  mlir::Value masked(mlir::Value x, mlir::Value mask, double other);
  int64_t sizeOf(const sema::DimList &dims) const;

  mlir::OpBuilder &builder;
  const sema::Program &program;
  const sema::Graph &graph;
  const lang::SourceManager &sources;
  lang::DiagnosticEngine &diags;
  GraphContext context;
  mlir::Location loc = builder.getUnknownLoc();
  mlir::SmallVector<mlir::Value> values;
  CallOf callOf;
};

} // namespace ptlc::import

#endif // PTLC_COMPILER_IMPORT_GRAPHIMPORTER_H
