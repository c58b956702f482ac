//===- CommandLine.cpp - The options of a compiled program ----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// CLI11 does the parsing; its exceptions end here. Values are checked here, too,
// so that messages name the option.
//===----------------------------------------------------------------------===//
#include "runtime/main/CommandLine.h"

#include "ptlrt/ptlrt.h"
#include "runtime/core/Number.h"
#include "runtime/core/Suggest.h"
#include <CLI/CLI.hpp>

namespace ptlrt {

namespace {

/// The parser and the texts that need a second look.
class CommandLine {
public:
  CommandLine();
  Expected<std::variant<Options, PrintAndLeave>> parse(int argc, const char *const *argv);

private:
  void addCommon(CLI::App &command);
  void addTrain(CLI::App &command);
  void addSample(CLI::App &command);
  /// An option that takes a whole number in a range.
  void number(CLI::App &command, const std::string &name, const std::string &help, int64_t least,
              int64_t most, std::function<void(int64_t)> store);
  Status readCheck();
  Status describe(const CLI::ParseError &error) const;
  Status unknownOption() const;

  CLI::App app{"Trains the model that this program was compiled from."};
  CLI::App *train, *sample, *info;
  Options options;
  std::string resumeFolder;
  std::vector<CLI::Option *> resumeOptions;
  std::string checkSteps;
  Status badValue;
};

} // namespace

void CommandLine::number(CLI::App &command, const std::string &name, const std::string &help,
                         int64_t least, int64_t most, std::function<void(int64_t)> store) {
  command
      .add_option_function<std::string>(
          name,
          [=, this](const std::string &text) {
            std::optional<int64_t> value = parseInteger(text);
            if (value && *value >= least && *value <= most)
              store(*value);
            else if (badValue.isOk())
              badValue = failure("'{}' takes a whole number from {} to {}, got '{}'", name, least,
                                 most, text);
          },
          help)
      ->type_name("N");
}

void CommandLine::addCommon(CLI::App &command) {
  command.add_option("--init", options.init, "weights to begin with (safetensors)")
      ->type_name("FILE");
  resumeOptions.push_back(
      command
          .add_option("--resume", resumeFolder,
                      "go on from the newest checkpoint in DIR, or from the program's own folder")
          ->type_name("[DIR]")
          ->expected(0, 1));
  number(command, "--seed", "seed of initial weights, dropout, order of samples", 0, INT64_MAX,
         [this](int64_t value) { options.seed = value; });
  number(command, "--threads", "threads of each rank (default: cores / ranks)", 1, 4096,
         [this](int64_t value) { options.threads = value; });
  number(command, "--ranks", "check that the program was compiled for N ranks", 1, INT32_MAX,
         [this](int64_t value) { options.ranks = value; });
}

void CommandLine::addTrain(CLI::App &command) {
  number(command, "--steps", "train until step N", 0, INT64_MAX / 2,
         [this](int64_t value) { options.steps = value; });
  command
      .add_option("--data", options.data,
                  "data files instead of the program's; arrays: "
                  "field=FILE")
      ->type_name("FILE")
      ->take_all();
  command
      .add_option("--set", options.set,
                  "change a number of the optimizer: lr=0.001, "
                  "opt1.lr=0.01")
      ->type_name("NAME=X")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--save", options.save, "write the weights at the end")->type_name("FILE");
  command
      .add_option("--save-grads", options.saveGradients,
                  "write the gradients of the first step, before clipping")
      ->type_name("FILE");
  command.add_option("--log", options.log, "write one JSON object per step")->type_name("FILE");
  command.add_option("--trace", options.trace, "write a Chrome trace")->type_name("FILE");
  command.add_option("--report", options.report, "write bytes and memory as JSON")
      ->type_name("FILE");
  command.add_option("--checkpoint-dir", options.checkpointFolder, "write checkpoints there")
      ->type_name("DIR");
  number(command, "--checkpoint-every", "write a checkpoint every N steps (0: at the end)", 0,
         INT64_MAX, [this](int64_t value) { options.checkpointEvery = value; });
  number(command, "--keep", "keep the N newest checkpoints (default: all)", 0, INT64_MAX / 2,
         [this](int64_t value) { options.keep = value; });
  command.add_flag("--counters", options.counters, "print the bytes that ranks exchanged");
  command.add_flag("--check-replicas", options.checkReplicas,
                   "compare the ranks' weights after every step");
  command
      .add_option("--check", checkSteps,
                  "only take N steps (default: 3), also on one rank, and compare losses, "
                  "gradients, weights, replicas")
      ->type_name("[N]")
      ->expected(0, 1);
  command.add_flag("--quiet,-q", options.quiet, "print errors only");
}

void CommandLine::addSample(CLI::App &command) {
  command.add_option("--prompt", options.prompt, "the text (or token ids) to go on from")
      ->type_name("TEXT");
  number(command, "--tokens", "tokens to add (default: 200)", 0, INT64_MAX / 2,
         [this](int64_t value) { options.tokens = value; });
  command
      .add_option_function<std::string>(
          "--temperature",
          [this](const std::string &text) {
            std::optional<double> value = parseNumber(text);
            if (value && *value >= 0)
              options.temperature = *value;
            else if (badValue.isOk())
              badValue = failure("'--temperature' takes a number of at least 0, got '{}'", text);
          },
          "0: always the likeliest token (default: 0.8)")
      ->type_name("T");
  number(command, "--top-k", "choose among the K likeliest tokens (default: all)", 0, INT64_MAX,
         [this](int64_t value) { options.topK = value; });
}

CommandLine::CommandLine() {
  app.set_version_flag("--version",
                       fmt::format("ptl program, runtime interface {}", PTLRT_ABI_VERSION));
  addCommon(app);
  addTrain(app);
  train = app.add_subcommand("train", "train (the default)");
  addCommon(*train);
  addTrain(*train);
  sample = app.add_subcommand("sample", "print text from a trained language model");
  addCommon(*sample);
  addSample(*sample);
  info = app.add_subcommand("info", "print what the program is");
  app.require_subcommand(0, 1);
}

Status CommandLine::readCheck() {
  const CLI::App &command = train->parsed() ? *train : app;
  const CLI::Option *check = command.get_option("--check");
  if (check->count() == 0)
    return Status::ok();
  std::optional<int64_t> steps = checkSteps.empty() ? 3 : parseInteger(checkSteps);
  if (!steps || *steps < 1 || *steps > INT32_MAX)
    return failure("'--check' takes a whole number from 1 to {}, got '{}'", INT32_MAX, checkSteps);
  options.check = *steps;
  for (const char *other :
       {"--steps", "--save", "--save-grads", "--log", "--trace", "--report", "--checkpoint-dir",
        "--checkpoint-every", "--keep", "--counters", "--check-replicas"})
    if (command.get_option(other)->count() > 0)
      return failure("'--check' and '{}' can't be given together", other);
  return Status::ok();
}

/// CLI11 calls arguments that it has no use for extras; name the first.
Status CommandLine::unknownOption() const {
  std::string text;
  for (const std::string &extra : app.remaining(true)) {
    text = extra;
    break;
  }
  const CLI::App *command = &app;
  for (const CLI::App *chosen : app.get_subcommands())
    command = chosen;
  std::vector<std::string> names;
  bool isOption = text.starts_with("-");
  if (isOption)
    for (const CLI::Option *option : command->get_options())
      for (const std::string &name : option->get_lnames())
        names.push_back("--" + name);
  else
    names = {"train", "sample", "info"};
  return failure("unknown {} '{}'{}", isOption ? "option" : "command", text,
                 didYouMean(text.substr(0, text.find('=')), names));
}

Status CommandLine::describe(const CLI::ParseError &error) const {
  if (dynamic_cast<const CLI::ExtrasError *>(&error))
    return unknownOption();
  std::string text = error.what();
  if (!text.empty() && isupper(static_cast<unsigned char>(text[0])))
    text[0] = static_cast<char>(tolower(static_cast<unsigned char>(text[0])));
  return Status::error(text);
}

Expected<std::variant<Options, PrintAndLeave>> CommandLine::parse(int argc,
                                                                  const char *const *argv) {
  using Result = std::variant<Options, PrintAndLeave>;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    const CLI::App *command = &app;
    for (const CLI::App *chosen : app.get_subcommands())
      command = chosen;
    return Result(PrintAndLeave{command->help()});
  } catch (const CLI::CallForVersion &) {
    return Result(PrintAndLeave{app.version() + "\n"});
  } catch (const CLI::ParseError &error) {
    return describe(error);
  }
  PTLRT_TRY(badValue);
  PTLRT_TRY(readCheck());
  if (sample->parsed())
    options.command = Command::Sample;
  if (info->parsed())
    options.command = Command::Info;
  for (const CLI::Option *option : resumeOptions)
    if (option->count() > 0)
      options.resume = resumeFolder;
  return Result(options);
}

Expected<std::variant<Options, PrintAndLeave>> parseCommandLine(int argc, const char *const *argv) {
  return CommandLine().parse(argc, argv);
}

} // namespace ptlrt
