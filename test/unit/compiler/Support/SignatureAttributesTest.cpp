//===- SignatureAttributesTest.cpp - Attributes of many arguments ---------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Support/SignatureAttributes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace ptlc;

namespace {

/// A declaration of two arguments and two results.
class SignatureAttributesTest : public ::testing::Test {
protected:
  SignatureAttributesTest() : builder(&context) {
    context.loadDialect<func::FuncDialect>();
    Type f32 = builder.getF32Type();
    function = func::FuncOp::create(builder.getUnknownLoc(), "f",
                                    builder.getFunctionType({f32, f32}, {f32, f32}));
  }

  MLIRContext context;
  Builder builder;
  OwningOpRef<func::FuncOp> function;
};

TEST_F(SignatureAttributesTest, ChangesArriveWithCommitAndKeepTheRest) {
  function->setArgAttr(1, "ptl.kept", builder.getStringAttr("old"));
  function->setArgAttr(1, "ptl.role", builder.getStringAttr("old"));
  SignatureAttributes attributes = SignatureAttributes::ofArguments(*function);
  attributes.set(1, "ptl.role", builder.getStringAttr("data"));
  EXPECT_EQ(function->getArgAttr(1, "ptl.role"), builder.getStringAttr("old"));
  attributes.commit();
  EXPECT_EQ(function->getArgAttr(1, "ptl.role"), builder.getStringAttr("data"));
  EXPECT_EQ(function->getArgAttr(1, "ptl.kept"), builder.getStringAttr("old"));
  EXPECT_FALSE(function->getArgAttr(0, "ptl.role"));
  EXPECT_FALSE(function->getResultAttr(1, "ptl.role"));
}

TEST_F(SignatureAttributesTest, ResultsAreApartFromArguments) {
  SignatureAttributes attributes = SignatureAttributes::ofResults(*function);
  attributes.set(0, "ptl.role", builder.getStringAttr("loss"));
  attributes.commit();
  EXPECT_EQ(function->getResultAttr(0, "ptl.role"), builder.getStringAttr("loss"));
  EXPECT_FALSE(function->getResultAttr(1, "ptl.role"));
  EXPECT_FALSE(function->getArgAttr(0, "ptl.role"));
}

} // namespace
