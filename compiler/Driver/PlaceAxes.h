//===- PlaceAxes.h - A plan's axes on the links of its cluster --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_DRIVER_PLACEAXES_H
#define PTLC_COMPILER_DRIVER_PLACEAXES_H

#include "compiler/Analysis/Cost/AxisOrders.h"
#include "compiler/Driver/Frontend.h"
#include "compiler/Driver/Report.h"

namespace ptlc {

/// Warns at each rule that cuts other dimensions than the batch over an axis that no node can hold:
/// what it communicates in every layer crosses nodes.
void warnOfWideAxes(const sema::Program &program, const sema::PlanSpec &plan,
                    lang::DiagnosticEngine &diagnostics);

/// What the ranks of each stage do together, in a step.
using Traffic = std::vector<std::vector<Collective>>;

/// The choice of an order of mesh axes.
class AxisPlacement {
public:
  /// Returns nullopt for one rank, or a plan without a cluster that says how many devices a node
  /// has and how fast links are.
  static std::optional<AxisPlacement> of(const sema::Program &program, const sema::PlanSpec &plan);

  /// Makes `plan.place` the order with the least time for what the program communicates, found by
  /// compiling it for links that are all alike. What `place` names stays outermost. Does nothing if
  /// no order differs from another, or the program can't be compiled (which will be reported when
  /// it is).
  void choose(Frontend &frontend, const sema::Program &program, sema::PlanSpec &plan);

  /// All orders for the traffic of each stage (trafficOf()), the best first.
  std::vector<cost::AxisOrder> rank(const Traffic &traffic) const;

  /// Prints time and bytes per class of link of all orders; the one in use is marked.
  void print(const Traffic &traffic, llvm::raw_ostream &os) const;

  /// The order in use, its time and bytes per class of link, and those of the best order.
  llvm::json::Object describe(const Traffic &traffic) const;

  /// Warns at `place` if an order that it excludes takes more than 10 % less time for
  /// communication.
  void warn(const Traffic &traffic, mlir::MLIRContext &context,
            const lang::SourceManager &sources) const;

private:
  cost::GroupTraffic groupTraffic(const Collective &collective, int64_t stage) const;
  void printEdges(const Traffic &traffic, llvm::raw_ostream &os) const;
  bool isOneNode() const;
  std::string nameOf(const cost::AxisOrder &order) const; ///< "pp, dp, tp"
  bool isChosen(const cost::AxisOrder &order) const { return order.axes == chosen; }

  std::vector<std::string> names;      ///< of the axes with several ranks
  std::vector<int64_t> sizes;          ///< of them
  std::vector<unsigned> places;        ///< in the plan's mesh
  std::vector<unsigned> given, chosen; ///< what `place` says; the order in use
  cost::Machine machine;
  lang::SourceRange range; ///< of `place`
};

} // namespace ptlc

#endif // PTLC_COMPILER_DRIVER_PLACEAXES_H
