//===- CommandLineTest.cpp - Options of a compiled program ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What is accepted, and the messages for what isn't.
//===----------------------------------------------------------------------===//
#include "runtime/main/CommandLine.h"
#include <gmock/gmock.h>

using namespace ptlrt;
using ::testing::HasSubstr;

namespace {

using Parsed = std::variant<Options, PrintAndLeave>;

Expected<Parsed> parse(std::vector<const char *> arguments) {
  arguments.insert(arguments.begin(), "model");
  return parseCommandLine(static_cast<int>(arguments.size()), arguments.data());
}
Options accept(std::vector<const char *> arguments) {
  Expected<Parsed> parsed = parse(std::move(arguments));
  EXPECT_TRUE(parsed.isOk()) << parsed.message();
  return parsed.isOk() ? std::get<Options>(*parsed) : Options();
}
std::string refuse(std::vector<const char *> arguments) {
  Expected<Parsed> parsed = parse(std::move(arguments));
  EXPECT_TRUE(parsed.isError());
  return parsed.message();
}

TEST(CommandLine, Training) {
  Options options = accept({"--steps", "20", "--data", "a.bin", "--data", "b.bin", "--set",
                            "lr=1e-3", "--quiet", "--threads=2", "--seed", "7"});
  EXPECT_EQ(options.command, Command::Train);
  EXPECT_EQ(options.steps, 20);
  EXPECT_EQ(options.data, (std::vector<std::string>{"a.bin", "b.bin"}));
  EXPECT_EQ(options.set, std::vector<std::string>{"lr=1e-3"});
  EXPECT_EQ(options.seed, 7u);
  EXPECT_EQ(options.threads, 2);
  EXPECT_TRUE(options.quiet);
  EXPECT_EQ(options.resume, std::nullopt);
  EXPECT_EQ(accept({"train", "--steps", "3"}).steps, 3);
  // What a shell makes of *.bin.
  EXPECT_EQ(accept({"train", "--data", "a.bin", "b.bin", "--quiet"}).data,
            (std::vector<std::string>{"a.bin", "b.bin"}));
}

TEST(CommandLine, ResumeMayLackItsFolder) {
  EXPECT_EQ(accept({"--resume"}).resume, "");
  EXPECT_EQ(accept({"--resume", "--quiet"}).resume, "");
  EXPECT_EQ(accept({"--resume", "runs/a"}).resume, "runs/a");
  EXPECT_EQ(accept({"sample", "--resume", "runs/a"}).resume, "runs/a");
}

TEST(CommandLine, ChecksSteps) {
  EXPECT_EQ(accept({"--check"}).check, 3);
  EXPECT_EQ(accept({"--check", "--quiet"}).check, 3);
  EXPECT_EQ(accept({"train", "--check=7", "--set", "lr=1"}).check, 7);
  EXPECT_EQ(accept({}).check, std::nullopt);
  EXPECT_EQ(refuse({"--check", "0"}),
            "'--check' takes a whole number from 1 to 2147483647, got '0'");
  EXPECT_THAT(refuse({"--check", "many"}), HasSubstr("got 'many'"));
  for (const char *other : {"--steps=1", "--save=x", "--save-grads=x", "--log=x", "--trace=x",
                            "--report=x", "--checkpoint-dir=x", "--checkpoint-every=1", "--keep=1",
                            "--counters", "--check-replicas"}) {
    std::string name = std::string(other).substr(0, std::string_view(other).find('='));
    EXPECT_EQ(refuse({"--check", other}), "'--check' and '" + name + "' can't be given together");
  }
}

TEST(CommandLine, OtherCommands) {
  Options options = accept(
      {"sample", "--prompt", "To be", "--tokens", "10", "--temperature", "0", "--top-k", "5"});
  EXPECT_EQ(options.command, Command::Sample);
  EXPECT_EQ(options.prompt, "To be");
  EXPECT_EQ(options.temperature, 0);
  EXPECT_EQ(options.topK, 5);
  EXPECT_EQ(accept({"info"}).command, Command::Info);
  Expected<Parsed> help = parse({"--help"});
  ASSERT_TRUE(help.isOk());
  EXPECT_THAT(std::get<PrintAndLeave>(*help).text, HasSubstr("--checkpoint-dir"));
  EXPECT_THAT(std::get<PrintAndLeave>(*parse({"--version"})).text, HasSubstr("interface 3"));
}

TEST(CommandLine, Refused) {
  EXPECT_EQ(refuse({"--stepz", "3"}), "unknown option '--stepz'; did you mean '--steps'?");
  EXPECT_EQ(refuse({"sample", "--promt", "a"}),
            "unknown option '--promt'; did you mean '--prompt'?");
  EXPECT_EQ(refuse({"trian"}), "unknown command 'trian'; did you mean 'train'?");
  EXPECT_THAT(refuse({"--steps", "3x"}), HasSubstr("'--steps' takes a whole number"));
  EXPECT_THAT(refuse({"--steps", "-3"}), HasSubstr("'--steps' takes a whole number from 0"));
  EXPECT_THAT(refuse({"--threads", "0"}), HasSubstr("'--threads' takes a whole number from 1"));
  EXPECT_THAT(refuse({"sample", "--temperature", "warm"}), HasSubstr("got 'warm'"));
  EXPECT_THAT(refuse({"--log"}), HasSubstr("--log"));
}

} // namespace
