//===- GoldenTest.cpp - Generated tables equal recorded ones --------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The recorded tables come from an independent implementation. Inputs/packed.txt holds the size and
// the FNV-1a hash of each one's packed bytes, without what the header says about copies, clipping,
// storage and ties.
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Csv.h"
#include "compiler/Schedule/Packed.h"
#include "compiler/Schedule/Verify.h"
#include "test/unit/compiler/Schedule/Inputs.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstdio>

using namespace ptlc::schedule;

/// Names, sizes and hashes.
static std::vector<std::vector<std::string>> recorded() {
  std::vector<std::vector<std::string>> rows;
  for (const std::string &line : splitLines(readInput("packed.txt")))
    rows.push_back(splitCells(line, ' '));
  return rows;
}

/// What made the table of this name.
static Orders ordersFor(const std::string &name, const Table &table) {
  std::string kind = name.substr(0, name.find('_'));
  if (kind == "v-half" || kind == "v-min")
    return *vPattern(table.ranks, table.micros, 6);
  return ordersOf(kind, table.ranks, table.micros, table.chunks);
}

static LowerOptions optionsFor(const std::string &name, const Table &table) {
  LowerOptions options;
  options.edges = table.edges;
  options.tied = table.tied;
  options.norm = options.clip = table.clip;
  options.copies = table.copies;
  if (table.zero == 3)
    options.gathers = name.find("gatheruse") != name.npos ? Gathers::Use : Gathers::Keep;
  return options;
}

static std::string hashOf(const std::string &bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

TEST(Golden, GeneratedTablesEqualRecordedOnes) {
  EXPECT_EQ(recorded().size(), 18u);
  for (const std::vector<std::string> &row : recorded()) {
    Table table = readTableInput("golden/" + row[0] + ".csv");
    Orders orders = ordersFor(row[0], table);
    orders.name = row[0];
    EXPECT_EQ(printOrders(orders), readInput("golden/" + row[0] + ".compute.csv"));
    EXPECT_EQ(printTable(lowered(orders, optionsFor(row[0], table))),
              readInput("golden/" + row[0] + ".csv"));
  }
}

TEST(Golden, RecordedTablesAreRightAlsoWithTheirCopies) {
  for (const std::vector<std::string> &row : recorded()) {
    Table table = readTableInput("golden/" + row[0] + ".csv");
    for (const Table &each : {table, withCopies(table)})
      for (const Mistake &mistake : verify(each))
        ADD_FAILURE() << row[0] << ": " << text(mistake);
  }
}

TEST(Golden, PackedBytesEqualRecordedOnes) {
  for (const std::vector<std::string> &row : recorded()) {
    Table table = readTableInput("golden/" + row[0] + ".csv");
    std::string error;
    std::optional<std::string> bytes = pack(table, error);
    ASSERT_TRUE(bytes) << error;
    std::optional<Table> back = unpack(*bytes, error);
    ASSERT_TRUE(back) << error;
    back->name = table.name;
    EXPECT_EQ(*back, table) << row[0];
    table.tied.clear();
    table.clip = false;
    table.copies = 1;
    table.zero = 0;
    bytes = pack(table, error);
    ASSERT_TRUE(bytes) << error;
    EXPECT_EQ(std::to_string(bytes->size()), row[1]) << row[0];
    EXPECT_EQ(hashOf(*bytes), row[2]) << row[0];
  }
}

TEST(Golden, DamagedBytesAreNoTable) {
  std::string error;
  std::string bytes = *pack(readTableInput("golden/1f1b_p2_v1_m4_dp2_zero3.csv"), error);
  EXPECT_FALSE(unpack(bytes.substr(0, bytes.size() - 1), error));
  EXPECT_FALSE(unpack("PTLS", error));
  EXPECT_EQ(error, "these bytes are no packed schedule of version 1");
  std::string version = bytes;
  version[4] = 2;
  EXPECT_FALSE(unpack(version, error));
  // The first rank's number of instructions.
  size_t rank = 32 + 8 + 16;
  bytes[rank + 6] = 1;
  EXPECT_FALSE(unpack(bytes, error));
  EXPECT_EQ(error, "a number of the packed schedule leads out of it");
}

TEST(Golden, WhatDoesNotFitIsNotPacked) {
  Table table = lowered(oneForwardOneBackward(2, 2));
  table.tables[0].slots[0] = 70000;
  std::string error;
  EXPECT_FALSE(pack(table, error));
  EXPECT_EQ(error, "a packed schedule holds at most 65535 slots of a kind, not 70000");
}
