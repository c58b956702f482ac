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

/// The choice of an order of mesh axes.
class AxisPlacement {
public:
  /// Returns nullopt if the order changes nothing: a plan without a cluster that says how many
  /// devices a node has and how fast links are, fewer than two axes with several ranks, or one node
  /// that holds all.
  static std::optional<AxisPlacement> of(const sema::Program &program, const sema::PlanSpec &plan);

  /// Makes `plan.place` the order with the least time for what the program communicates, found by
  /// compiling it for links that are all alike. What `place` names stays outermost. Does nothing if
  /// that decides all, or the program can't be compiled (which will be reported when it is).
  void choose(Frontend &frontend, const sema::Program &program, sema::PlanSpec &plan);

  /// All orders for this traffic, the best first.
  std::vector<cost::AxisOrder> rank(llvm::ArrayRef<Collective> collectives) const;

  /// Prints time and bytes per class of link of all orders; the one in use is marked.
  void print(llvm::ArrayRef<Collective> collectives, llvm::raw_ostream &os) const;

  /// Warns at `place` if an order that it excludes takes more than 10 % less time for
  /// communication.
  void warn(llvm::ArrayRef<Collective> collectives, mlir::MLIRContext &context,
            const lang::SourceManager &sources) const;

private:
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
