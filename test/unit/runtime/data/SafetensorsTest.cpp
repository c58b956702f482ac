//===- SafetensorsTest.cpp - Weight files, whole and broken ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A round trip, then one broken file after the other: each must be refused with a
// message that names the file and what is wrong.
//===----------------------------------------------------------------------===//
#include "runtime/data/Safetensors.h"
#include "test/unit/runtime/TestFiles.h"
#include <csignal>
#include <gmock/gmock.h>
#include <sys/resource.h>

using namespace ptlrt;
using ::testing::HasSubstr;

namespace {

class Safetensors : public test::FolderTest {
protected:
  static TensorSource sourceOf(std::string name, std::vector<int64_t> shape, float first) {
    return {std::move(name), std::move(shape), [first](int64_t begin, int64_t count, float *to) {
              for (int64_t i = 0; i < count; ++i)
                to[i] = first + static_cast<float>(begin + i);
              return Status::ok();
            }};
  }
  static std::string file(const std::string &header, const std::string &data) {
    return test::bytesOf(std::vector<uint64_t>{header.size()}) + header + data;
  }
  /// The message that opening a file with these bytes gives; it must name the file.
  std::string refuse(const std::string &bytes) {
    std::string name = write("broken.safetensors", bytes);
    Expected<SafetensorsFile> opened = SafetensorsFile::open(name);
    EXPECT_TRUE(opened.isError());
    EXPECT_THAT(opened.message(), HasSubstr(name));
    return opened.message();
  }
};

TEST_F(Safetensors, RoundTrip) {
  // Larger than the writer's buffer, a scalar, an empty tensor, a name that JSON must escape.
  std::vector<TensorSource> tensors{sourceOf("big", {300, 1000}, 0), sourceOf("scalar", {}, 7),
                                    sourceOf("empty", {0, 3}, 0), sourceOf("a \"b\"", {2}, -1)};
  std::string name = path("w.safetensors");
  ASSERT_EQ(writeSafetensors(name, tensors).message(), "");
  Expected<SafetensorsFile> opened = SafetensorsFile::open(name);
  ASSERT_TRUE(opened.isOk()) << opened.message();
  EXPECT_EQ(opened->tensors().size(), 4u);
  for (const TensorSource &tensor : tensors) {
    Expected<const uint8_t *> data = opened->floats(tensor.name, tensor.shape);
    ASSERT_TRUE(data.isOk()) << data.message();
    int64_t count = 1;
    for (int64_t size : tensor.shape)
      count *= size;
    std::vector<float> expected(count);
    ASSERT_TRUE(tensor.read(0, count, expected.data()).isOk());
    EXPECT_EQ(count == 0 ? 0 : std::memcmp(*data, expected.data(), count * 4), 0) << tensor.name;
  }
  EXPECT_THAT(opened->floats("none", {1}).message(), HasSubstr("has no tensor 'none'"));
  EXPECT_THAT(opened->floats("a \"b\"", {3}).message(), HasSubstr("is [2], expected [3]"));
}

TEST_F(Safetensors, OtherTypesAreNotFloats) {
  std::string name =
      write("h.safetensors",
            file(R"({"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", std::string(4, 0)));
  Expected<SafetensorsFile> opened = SafetensorsFile::open(name);
  ASSERT_TRUE(opened.isOk()) << opened.message();
  EXPECT_THAT(opened->floats("a", {2}).message(), HasSubstr("has type BF16, expected F32"));
}

TEST_F(Safetensors, BrokenFiles) {
  std::string four(4, 0), eight(8, 0);
  EXPECT_THAT(refuse("abc"), HasSubstr("too short"));
  EXPECT_THAT(refuse(test::bytesOf(std::vector<uint64_t>{1000}) + "{}"),
              HasSubstr("should be 1000 bytes long"));
  EXPECT_THAT(refuse(test::bytesOf(std::vector<uint64_t>{UINT64_MAX}) + "{}"),
              HasSubstr("header should be"));
  EXPECT_THAT(refuse(file("{\"a\":", "")), HasSubstr("isn't a JSON object"));
  EXPECT_THAT(refuse(file("[1]", "")), HasSubstr("isn't a JSON object"));
  EXPECT_THAT(refuse(file(R"({"a":{"shape":[1],"data_offsets":[0,4]}})", four)),
              HasSubstr("tensor 'a' has no valid dtype"));
  EXPECT_THAT(refuse(file(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", four)),
              HasSubstr("tensor 'a' has no valid shape"));
  EXPECT_THAT(refuse(file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", four)),
              HasSubstr("tensor 'a' has no valid data_offsets"));
  EXPECT_THAT(refuse(file(R"({"a":{"dtype":"X9","shape":[1],"data_offsets":[0,4]}})", four)),
              HasSubstr("unknown type 'X9'"));
  EXPECT_THAT(refuse(file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", four)),
              HasSubstr("tensor 'a' is F32 [2], but has the bytes 0 to 4"));
  EXPECT_THAT(refuse(file(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", four)),
              HasSubstr("truncated"));
  EXPECT_THAT(
      refuse(file(R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})",
                  "")),
      HasSubstr("but has the bytes"));
  EXPECT_THAT(refuse(file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                          R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                          eight)),
              HasSubstr("'a' and 'b' overlap"));
  EXPECT_THAT(refuse(file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", eight)),
              HasSubstr("bytes 0 to 4 belong to no tensor"));
  EXPECT_THAT(refuse(file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", eight)),
              HasSubstr("end at byte 4, the file has 8"));
  EXPECT_THAT(refuse(file(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                          R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                          eight)),
              HasSubstr("names 'a' twice"));
}

TEST_F(Safetensors, MissingFile) {
  EXPECT_THAT(SafetensorsFile::open(path("none")).message(),
              HasSubstr("none': No such file or directory"));
}

/// Limits the size of files that this process may write, as a full disk would.
class FileLimit {
public:
  explicit FileLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &before); }

private:
  rlimit before{};
};

// However far the disk lets it come, the file that was there stays, and nothing lies around.
TEST_F(Safetensors, FullDiskLosesNothing) {
  std::vector<TensorSource> old{sourceOf("w", {4}, 1)}, fresh{sourceOf("w", {1000}, 2)};
  std::string name = path("w.safetensors");
  ASSERT_TRUE(writeSafetensors(name, old).isOk());
  std::string before = read("w.safetensors");
  for (rlim_t limit : {0, 5, 8, 100, 1000, 4000}) {
    Status status;
    {
      FileLimit full(limit);
      status = writeSafetensors(name, fresh);
    }
    EXPECT_THAT(status.message(), HasSubstr("can't write '" + name + "'")) << limit;
    EXPECT_EQ(read("w.safetensors"), before);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  }
}

} // namespace
