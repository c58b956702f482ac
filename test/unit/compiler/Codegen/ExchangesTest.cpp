//===- ExchangesTest.cpp - Whether exchanges of a pipeline meet -----------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Exchanges.h"

#include "compiler/Support/Stages.h"
#include "dialects/Rt/Rt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include <gmock/gmock.h>

using namespace mlir;
using namespace ptlc;
using ::testing::HasSubstr;

namespace {

/// Returns the message of the check for ranks whose `@logits` have these bodies, '' if all is well.
std::string check(std::initializer_list<std::string> bodies) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, ptl::PtlDialect, rt::RtDialect>();
  std::string text = "module {\n", message;
  for (const std::string &body : bodies)
    text += "module { func.func @logits(%x: tensor<f32>, %i: tensor<i32>) {\n" + body +
            "\nreturn } }\n";
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text + "}", &context);
  if (!module)
    return "can't parse: " + message;
  std::vector<codegen::Schedule> schedules;
  for (ModuleOp program : rankPrograms(*module))
    schedules.push_back(codegen::buildSchedule(program));
  EXPECT_EQ(succeeded(codegen::checkExchanges(schedules)), message.empty());
  return message;
}

std::string give(int peer, const char *value = "%x : (tensor<f32>)") {
  auto [name, type] = llvm::StringRef(value).split(" : ");
  return ("rt.exchange " + name + " with " + llvm::Twine(peer) + " : " + type + " -> ()\n").str();
}
std::string take(int peer) {
  static int number = 0;
  return "%t" + std::to_string(number++) + " = rt.exchange with " + std::to_string(peer) +
         " : () -> tensor<f32>\n";
}
std::string swap(int peer) {
  return "%s = rt.exchange %x with " + std::to_string(peer) + " : (tensor<f32>) -> tensor<f32>";
}

TEST(Exchanges, MeetInOneOrder) {
  EXPECT_EQ(check({give(1) + take(1), take(0) + give(2) + give(0), take(1)}), "");
  EXPECT_EQ(check({swap(1), swap(0)}), "");
}

TEST(Exchanges, EachSideWaitsForAnother) {
  EXPECT_THAT(check({give(1) + take(1), give(0) + take(0)}),
              HasSubstr("rank 0 of the pipeline would wait here for ever: rank 1 doesn't"));
  // In a ring of three.
  EXPECT_THAT(check({give(1) + take(2), give(2) + take(0), give(0) + take(1)}),
              HasSubstr("wait here for ever"));
}

TEST(Exchanges, OneSideIsMissing) {
  EXPECT_THAT(check({give(1), ""}), HasSubstr("rank 0 of the pipeline would wait"));
  EXPECT_THAT(check({give(1), take(0) + take(0)}), HasSubstr("rank 1 of the pipeline would wait"));
}

TEST(Exchanges, NoSuchRank) {
  EXPECT_THAT(check({give(2), ""}), HasSubstr("rank 0 of the pipeline would wait"));
  EXPECT_THAT(check({swap(0), ""}), HasSubstr("rank 0 of the pipeline would wait"));
}

TEST(Exchanges, OtherValues) {
  EXPECT_THAT(check({give(1, "%i : (tensor<i32>)"), take(0)}),
              HasSubstr("rank 0 of the pipeline would wait"));
}

} // namespace
