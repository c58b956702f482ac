//===- CsvTest.cpp - Mistakes of schedule files are named with their place -===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Csv.h"
#include "test/unit/compiler/Schedule/Inputs.h"

#include "gtest/gtest.h"

using namespace ptlc::schedule;

/// `line:cell: message` of what is wrong with the orders.
static std::string mistakeOf(const std::string &text) {
  CsvError error;
  if (readOrders(text, error))
    return {};
  return std::to_string(error.line) + ":" + std::to_string(error.cell) + ": " + error.message;
}

static const std::string kHeader = "ptl-schedule,1,compute,name=mine,p=2,v=1,m=1,place=0 1\n";

TEST(Csv, CellsMayBeEmptyAndPadded) {
  CsvError error;
  std::optional<Orders> orders =
      readOrders(kHeader + "F0.0,,,, BW0.0\r\n,F1.0 ,B1.0,W1.0\n\n", error);
  ASSERT_TRUE(orders) << error.message;
  EXPECT_EQ(printOrders(*orders), kHeader + "F0.0,BW0.0\nF1.0,B1.0,W1.0\n");
}

TEST(Csv, MistakesOfCells) {
  EXPECT_EQ(mistakeOf(kHeader + "F0.0,Q0.0\n"),
            "2:2: 'Q0.0' is not F, B, W or BW with stage.micro-batch");
  EXPECT_EQ(mistakeOf(kHeader + "F0.0,BW0\n"),
            "2:2: 'BW0' is not F, B, W or BW with stage.micro-batch");
  EXPECT_EQ(mistakeOf(kHeader + "F2.0\n"), "2:1: stage 2 is outside 0..1");
  EXPECT_EQ(mistakeOf(kHeader + "F0.0,F0.1\n"), "2:2: micro-batch 1 is outside 0..0");
  EXPECT_EQ(mistakeOf(kHeader + "F1.0\n"), "2:1: stage 1 lives on rank 1, this is rank 0");
  EXPECT_EQ(mistakeOf(kHeader + "F0.0,BW0.0,W0.0\n"),
            "2:3: W of stage 0 and micro-batch 0 is there twice");
  EXPECT_EQ(mistakeOf(kHeader + "F0.0,B0.0\n"), "2:0: W of stage 0 and micro-batch 0 is missing");
  EXPECT_EQ(mistakeOf(kHeader + "F0.0,BW0.0\n"),
            "2:0: expected a line for each of 2 ranks, found 1");
  EXPECT_EQ(mistakeOf(kHeader + "F0.0,BW0.0\nF1.0,BW1.0\nF1.0\n"),
            "4:0: expected a line for each of 2 ranks, found 3");
}

TEST(Csv, MistakesOfTheHeader) {
  EXPECT_EQ(mistakeOf(""), "1:0: expected a header 'ptl-schedule,1,compute,...'");
  EXPECT_EQ(mistakeOf("ptl-schedule,2,compute,name=x"),
            "1:0: expected a header 'ptl-schedule,1,compute,...'");
  EXPECT_EQ(mistakeOf("ptl-schedule,1,compute,name=x,p=2,v=1,place=0 1"),
            "1:0: the header lacks 'm='");
  EXPECT_EQ(mistakeOf("ptl-schedule,1,compute,name=x,p=0,v=1,m=1,place="),
            "1:0: 'p' takes a number from 1 to 32767, got '0'");
  EXPECT_EQ(mistakeOf("ptl-schedule,1,compute,name=x,p=2,v=1,m=1,place=0 2"),
            "1:0: 'place' has rank 2, but p is 2");
  EXPECT_EQ(mistakeOf("ptl-schedule,1,compute,name=x,p=2,v=2,m=1,place=0 1"),
            "1:0: 'place' needs a rank for each of p * v stages");
}

TEST(Csv, MistakesOfTables) {
  std::string text = printTable(lowered(oneForwardOneBackward(2, 1)));
  auto mistake = [&](const std::string &from, const std::string &to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    CsvError error;
    EXPECT_FALSE(readTable(changed, error));
    return std::to_string(error.line) + ": " + error.message;
  };
  EXPECT_EQ(mistake("SEND_A", "SEND"), "4: there is no instruction 'SEND'");
  EXPECT_EQ(mistake("0,1,SEND_A", "7,1,SEND_A"), "4: there is no rank '7'");
  EXPECT_EQ(mistake("+S0:0", "+Q0:0"), "3: '+Q0:0' is no operand such as +S2:0-");
  EXPECT_EQ(mistake("0>1*1", "0-1*1"), "1: '0-1*1' is no edge such as 0>1*4096");
  EXPECT_EQ(mistake("slots=G1", "slots=Q1"), "1: 'Q1S1Y1' are no counts of slots such as S4X2");
  EXPECT_EQ(mistake("0,0,F,0,0", "0,0,F,0,x"), "3: 'x' is no number");
  EXPECT_EQ(mistake("0,0,F,0,0,", "0,0,F,0,0"), "3: expected 11 cells, found 10");
}
