//===- ProgramInfoTest.cpp - Descriptions that can't be right -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A valid description is read; each fault that is put into it is found before
// anything runs.
//===----------------------------------------------------------------------===//
#include "runtime/exec/Job.h"
#include "test/unit/runtime/exec/FakeProgram.h"
#include <functional>
#include <gmock/gmock.h>

using namespace ptlrt;
using nlohmann::json;
using ::testing::HasSubstr;

namespace {

class Description : public ::testing::Test {
protected:
  std::string refuse(const std::function<void(json &)> &change) {
    test::FakeProgram program(options);
    change(program.metadata);
    Expected<ProgramInfo> info = readProgram(program.descriptor());
    EXPECT_TRUE(info.isError());
    return info.message();
  }
  test::FakeOptions options;
};

TEST_F(Description, IsRead) {
  options.dp = 2;
  test::FakeProgram program(options);
  Expected<ProgramInfo> info = readProgram(program.descriptor());
  ASSERT_TRUE(info.isOk()) << info.message();
  EXPECT_EQ(info->mesh.describe(), "dp = 2");
  EXPECT_EQ(info->parameters(), 4);
  EXPECT_EQ(info->weights[0].states[0].name, "momentum");
  EXPECT_EQ(info->data.fields[2].limit, 10);
  EXPECT_EQ(info->schedule.warmup, 2);
  EXPECT_EQ(info->collectives[0].segments.size(), 3u);
  EXPECT_EQ(info->collectives[0].describe(info->mesh), "all_reduce sum over dp (line.ptl:5:7)");
}

TEST_F(Description, FaultsAreFound) {
  auto at = [](const char *pointer, json value) {
    return [=](json &metadata) { metadata[json::json_pointer(pointer)] = value; };
  };
  EXPECT_THAT(refuse(at("/weights/0/layout/offset", 1 << 20)),
              HasSubstr("'w' lies outside of the arena"));
  EXPECT_THAT(refuse(at("/weights/0/layout/offset", -4)), HasSubstr("outside of the arena"));
  EXPECT_THAT(refuse(at("/weights/0/layout/offset", 2)), HasSubstr("outside of the arena"));
  EXPECT_THAT(refuse(at("/weights/0/layout/cols", 4)), HasSubstr("'w' has 3 elements"));
  EXPECT_THAT(refuse(at("/weights/0/layout/stride", 1)), HasSubstr("stride 1"));
  EXPECT_THAT(refuse(at("/weights/0/states/0/layout/rows", 0)), HasSubstr("'w#momentum'"));
  EXPECT_THAT(refuse(at("/weights/0/init/kind", "nought")), HasSubstr("unknown initial value"));
  EXPECT_THAT(refuse(at("/data/fields/0/sharding/0/0", "tp")), HasSubstr("unknown axis 'tp'"));
  EXPECT_THAT(refuse(at("/data/fields/0/shape/0", 9)), HasSubstr("isn't the batch of 8"));
  EXPECT_THAT(refuse(at("/data/tail", "cut")), HasSubstr("unknown tail 'cut'"));
  EXPECT_THAT(refuse(at("/hypers/0/offset", 1 << 20)), HasSubstr("'lr' lies outside"));
  EXPECT_THAT(refuse(at("/schedule/kind", "cubic")), HasSubstr("unknown schedule 'cubic'"));
  EXPECT_THAT(refuse(at("/outputs/loss", -1)), HasSubstr("'loss' lies outside"));
  EXPECT_THAT(refuse(at("/mesh/0/size", 0)), HasSubstr("axis 'dp' has size 0"));
  EXPECT_THAT(refuse(at("/microbatches", 0)), HasSubstr("microbatches 0"));
  EXPECT_THAT(refuse(at("/collectives/0/kind", "scan")), HasSubstr("unknown collective 'scan"));
  EXPECT_THAT(refuse(at("/collectives/0/segments/0/rows", 1000)), HasSubstr("all_reduce"));
  for (const char *size : {"outer", "length", "middle", "other", "inner"})
    for (int wrong : {0, -1})
      EXPECT_THAT(refuse(at((std::string("/collectives/0/segments/0/") + size).c_str(), wrong)),
                  HasSubstr("a segment of all_reduce sum over dp (line.ptl:5:7) is"));
  EXPECT_THAT(refuse([](json &metadata) {
                metadata["collectives"][0]["kind"] = "all_gather";
                metadata["collectives"][0]["segments"][0]["length"] = 0;
              }),
              HasSubstr("is 1 x 0 x 1 x 1 x 1"));
  EXPECT_THAT(refuse(at("/batch", "many")), HasSubstr("type must be number"));
  EXPECT_THAT(refuse([](json &metadata) { metadata.erase("arena"); }), HasSubstr("arena"));
}

TEST_F(Description, WrongTables) {
  test::FakeProgram program(options);
  ptlrt_program_t descriptor = program.descriptor();
  descriptor.function_count = 3;
  EXPECT_THAT(readProgram(descriptor).message(), HasSubstr("the table calls function 3 of 3"));
  descriptor = program.descriptor();
  descriptor.version = 7;
  EXPECT_THAT(readProgram(descriptor).message(),
              HasSubstr("compiled for runtime interface 7, this runtime has 3; compile it again"));
  descriptor.magic = 1;
  EXPECT_THAT(readProgram(descriptor).message(), HasSubstr("isn't a compiled program"));
  descriptor = program.descriptor();
  descriptor.metadata_size -= 5;
  EXPECT_THAT(readProgram(descriptor).message(), HasSubstr("description is broken"));
}

TEST(Features, MissingOnesAreNamed) {
  std::vector<std::string> none{"+fma-of-the-future", "-avx512f"}, some{"+sse4.2", "popcnt"};
  EXPECT_TRUE(checkFeatures(none, "x").isOk());
  EXPECT_TRUE(checkFeatures(some, "x").isOk());
}

// Neither more threads than the cores that this process is bound to, nor more than its part of the
// machine: those cores may be other ranks', too.
TEST(Threads, AreShared) {
  EXPECT_EQ(threadsFor(16, 16, 4), 4);
  EXPECT_EQ(threadsFor(16, 8, 4), 4);
  EXPECT_EQ(threadsFor(16, 2, 4), 2);
  EXPECT_EQ(threadsFor(2, 1, 4), 1);
}

} // namespace
