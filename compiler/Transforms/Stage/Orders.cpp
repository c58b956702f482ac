//===- Orders.cpp - The pipeline that the plan asks for -------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Stage/Orders.h"

#include "compiler/Schedule/Csv.h"
#include "compiler/Schedule/Generators.h"
#include "compiler/Support/Stages.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace ptlc;

static StringRef textOf(DictionaryAttr dictionary, StringRef name) {
  auto text = dictionary.getAs<StringAttr>(name);
  return text ? text.getValue() : StringRef();
}

static int64_t numberOf(DictionaryAttr dictionary, StringRef name) {
  auto number = dictionary.getAs<IntegerAttr>(name);
  return number ? number.getInt() : 1;
}

Location stage::placeOf(DictionaryAttr pipeline) {
  auto [rest, column] = textOf(pipeline, "line").rsplit(':');
  auto [file, line] = rest.rsplit(':');
  unsigned lineNumber = 0, columnNumber = 0;
  if (line.getAsInteger(10, lineNumber) || column.getAsInteger(10, columnNumber))
    return UnknownLoc::get(pipeline.getContext());
  return FileLineColLoc::get(pipeline.getContext(), file, lineNumber, columnNumber);
}

/// The size of the pipeline's axis.
static int64_t ranksOf(ModuleOp module, DictionaryAttr pipeline) {
  auto plan = module->getAttrOfType<DictionaryAttr>("ptl.plan");
  for (auto axis : plan.getAs<ArrayAttr>("mesh").getAsRange<DictionaryAttr>())
    if (textOf(axis, "name") == textOf(pipeline, "axis"))
      return numberOf(axis, "size");
  return 1;
}

/// Orders of a user's file, whose text the driver has read and checked.
static FailureOr<schedule::Orders> ordersOfFile(DictionaryAttr pipeline) {
  StringRef text = textOf(pipeline, "orders");
  schedule::CsvError error;
  std::optional<schedule::Orders> orders = schedule::readOrders({text.data(), text.size()}, error);
  if (!orders)
    return emitError(stage::placeOf(pipeline))
           << "can't make the schedule: line " << error.line << ": " << error.message;
  return *orders;
}

FailureOr<schedule::Orders> stage::ordersOf(ModuleOp module, DictionaryAttr pipeline) {
  auto plan = module->getAttrOfType<DictionaryAttr>("ptl.plan");
  int64_t ranks = ranksOf(module, pipeline), micros = numberOf(plan, "microbatches"),
          chunks = numberOf(pipeline, "chunks");
  StringRef name = textOf(pipeline, "schedule");
  if (name == "file")
    return ordersOfFile(pipeline);
  std::optional<schedule::Kind> kind = schedule::parseKind({name.data(), name.size()});
  if (!kind)
    return emitError(placeOf(pipeline)) << "there is no schedule '" << name << "'";
  if (chunks > kMaxChunks)
    return emitError(placeOf(pipeline))
           << "a rank has at most " << kMaxChunks << " stages, not " << chunks;
  std::string reason;
  std::optional<schedule::Orders> orders = schedule::generate(*kind, ranks, micros, chunks, reason);
  if (!orders)
    return emitError(placeOf(pipeline)) << "can't make the schedule: " << reason;
  return *orders;
}
