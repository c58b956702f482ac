//===- TrainingFixture.h - Runs of the program written by hand ------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Data of thirty samples, a way to run a command line and to read what it wrote.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_UNIT_RUNTIME_EXEC_TRAININGFIXTURE_H
#define PTLC_TEST_UNIT_RUNTIME_EXEC_TRAININGFIXTURE_H

#include "runtime/data/Safetensors.h"
#include "runtime/main/RunMain.h"
#include "test/unit/runtime/TestFiles.h"
#include "test/unit/runtime/exec/FakeProgram.h"
#include <cmath>
#include <functional>

namespace ptlrt::test {

using nlohmann::json;

inline constexpr int64_t kSamples = 30;

class TrainingFixture : public FolderTest {
protected:
  TrainingFixture() {
    options.folder = folder;
    for (int64_t i = 0; i < kSamples; ++i) {
      for (int64_t d = 0; d < 3; ++d)
        x.push_back(std::sin(static_cast<float>(3 * i + d)));
      y.push_back(2 * x[3 * i] - x[3 * i + 1] + 0.5f);
      k.push_back(i % 10);
    }
    write("x.npy", npyBytes("<f4", "30, 3", bytesOf(x)));
    write("y.npy", npyBytes("<f4", "30,", bytesOf(y)));
    write("k.npy", npyBytes("<i8", "30,", bytesOf(k)));
  }

  /// Runs the program; standard error is in `errors` afterwards.
  int run(std::vector<std::string> arguments, std::function<void(json &)> change = {}) {
    FakeProgram program(options);
    if (change)
      change(program.metadata);
    arguments.insert(arguments.begin(), "line");
    std::vector<const char *> argv;
    for (const std::string &argument : arguments)
      argv.push_back(argument.c_str());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    int status = runMain(program.descriptor(), nullptr, static_cast<int>(argv.size()), argv.data());
    output = ::testing::internal::GetCapturedStdout();
    errors = ::testing::internal::GetCapturedStderr();
    return status;
  }
  std::vector<json> log(const std::string &name = "log.jsonl") {
    std::vector<json> lines;
    std::ifstream file(path(name));
    for (std::string line; std::getline(file, line);)
      lines.push_back(json::parse(line));
    return lines;
  }
  std::vector<float> tensor(const std::string &file, const std::string &name,
                            std::vector<int64_t> shape) {
    Expected<SafetensorsFile> opened = SafetensorsFile::open(path(file));
    EXPECT_TRUE(opened.isOk()) << opened.message();
    Expected<const uint8_t *> data = opened->floats(name, shape);
    EXPECT_TRUE(data.isOk()) << data.message();
    std::vector<float> values(shape.empty() ? 1 : shape[0]);
    std::memcpy(values.data(), *data, values.size() * 4);
    return values;
  }

  FakeOptions options;
  std::vector<float> x, y;
  std::vector<int64_t> k;
  std::string output, errors;
};

} // namespace ptlrt::test

#endif // PTLC_TEST_UNIT_RUNTIME_EXEC_TRAININGFIXTURE_H
