//===- DataTest.cpp - Arrays, token files, text and their order -----------===//
// SPDX-License-Identifier: Apache-2.0
//
// What can be read is read exactly; what can't is refused with file, place and
// limit in the message.
//===----------------------------------------------------------------------===//
#include "runtime/data/DataSource.h"
#include "runtime/data/File.h"
#include "runtime/data/Npy.h"
#include "test/unit/runtime/TestFiles.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <set>
#include <unistd.h>

using namespace ptlrt;
using test::bytesOf;
using test::npyBytes;
using ::testing::HasSubstr;

namespace {

FieldSpec fieldOf(std::string name, Element element, std::vector<int64_t> shape,
                  std::vector<std::string> files = {}, int64_t limit = 0) {
  FieldSpec field;
  field.tensor.name = std::move(name);
  field.tensor.element = element;
  field.tensor.shape = std::move(shape);
  field.files = std::move(files);
  field.limit = limit;
  return field;
}

class Data : public test::FolderTest {
protected:
  DataSpec tokens(std::vector<std::string> files, int64_t seq, int64_t limit = 0) {
    DataSpec spec;
    spec.files = std::move(files);
    spec.fields = {fieldOf("tokens", Element::I32, {2, seq}, {}, limit),
                   fieldOf("targets", Element::I32, {2, seq}, {}, limit)};
    spec.line = "model.ptl:4:2";
    return spec;
  }
  DataSpec array(const std::string &file, Element element, std::vector<int64_t> shape) {
    DataSpec spec;
    spec.kind = DataKind::Npy;
    spec.fields = {fieldOf("x", element, std::move(shape), {file})};
    return spec;
  }
  std::string refuse(const DataSpec &spec) {
    Expected<std::unique_ptr<DataSource>> source = openData(spec);
    EXPECT_TRUE(source.isError());
    return source.message();
  }
  template <typename T>
  static std::vector<T> sample(const DataSource &source, size_t field, int64_t index, int64_t count,
                               int64_t begin = 0) {
    std::vector<T> values(count);
    Status status = source.read(field, index, begin, count, values.data());
    EXPECT_TRUE(status.isOk()) << status.message();
    return values;
  }
};

TEST_F(Data, NpyHeaders) {
  std::string name = write("a.npy", npyBytes("<f8", "2, 3", std::string(48, 0)));
  Expected<NpyFile> file = NpyFile::open(name);
  ASSERT_TRUE(file.isOk()) << file.message();
  EXPECT_EQ(file->shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(file->type(), NpyType::F64);
  auto refused = [&](const std::string &bytes) {
    return NpyFile::open(write("b.npy", bytes)).message();
  };
  EXPECT_THAT(refused("hello, world"), HasSubstr("isn't a NumPy array file"));
  EXPECT_THAT(refused(npyBytes(">f4", "2,", std::string(8, 0))), HasSubstr("the type '>f4'"));
  EXPECT_THAT(refused(npyBytes("<f4", "3,", std::string(8, 0))),
              HasSubstr("float32 [3] doesn't fit into its 8 bytes"));
  EXPECT_THAT(refused(npyBytes("<f4", "2, 1", std::string(8, 0), true)), HasSubstr("Fortran"));
  EXPECT_THAT(refused(npyBytes("<f4", "2, x", std::string(8, 0))), HasSubstr("list of sizes"));
  EXPECT_THAT(refused(npyBytes("<f4", "9223372036854775807, 9", "")), HasSubstr("doesn't fit"));
  EXPECT_THAT(refused(npyBytes("<f4", "2,", "").substr(0, 40)), HasSubstr("truncated"));
  EXPECT_THAT(refused(std::string("\x93NUMPY\x09\x00", 8) + std::string(100, ' ')),
              HasSubstr("version is 9.0"));
}

TEST_F(Data, ArraysAreConverted) {
  std::string doubles = write("d.npy", npyBytes("<f8", "2, 2", bytesOf<double>({1, 2.5, 3, 0.1})));
  auto source = openData(array(doubles, Element::F32, {2, 2}));
  ASSERT_TRUE(source.isOk()) << source.message();
  EXPECT_EQ((*source)->samples(), 2);
  EXPECT_EQ(sample<float>(**source, 0, 1, 2), (std::vector<float>{3, 0.1f}));
  std::string longs = write("l.npy", npyBytes("<i8", "3,", bytesOf<int64_t>({-1, 5, 9})));
  source = openData(array(longs, Element::I32, {2}));
  ASSERT_TRUE(source.isOk()) << source.message();
  EXPECT_EQ(sample<int32_t>(**source, 0, 2, 1), std::vector<int32_t>{9});
  std::string bytes = write("u.npy", npyBytes("|u1", "3,", bytesOf<uint8_t>({0, 5, 1})));
  source = openData(array(bytes, Element::Byte, {2}));
  ASSERT_TRUE(source.isOk()) << source.message();
  EXPECT_EQ(sample<uint8_t>(**source, 0, 1, 1), std::vector<uint8_t>{1});
}

TEST_F(Data, ArraysThatDontFit) {
  std::string floats = write("f.npy", npyBytes("<f4", "2, 2", std::string(16, 0)));
  EXPECT_THAT(refuse(array(floats, Element::I32, {2, 2})),
              HasSubstr("holds float32, which field 'x' (int) can't take"));
  EXPECT_THAT(refuse(array(floats, Element::F32, {2, 3})),
              HasSubstr("is [2, 2], field 'x' needs [samples, 3]"));
  EXPECT_THAT(refuse(array(floats, Element::F32, {2})), HasSubstr("needs [samples]"));
  DataSpec two = array(floats, Element::F32, {2, 2});
  std::string three = write("g.npy", npyBytes("<f4", "3,", std::string(12, 0)));
  two.fields.push_back(fieldOf("y", Element::F32, {2}, {three}));
  EXPECT_THAT(refuse(two), HasSubstr("field 'y' has 3 samples, field 'x' has 2"));
}

TEST_F(Data, IdsOutsideTheirRange) {
  std::string labels = write("y.npy", npyBytes("<i8", "3,", bytesOf<int64_t>({1, -100, 10})));
  DataSpec spec = array(labels, Element::I32, {2});
  spec.fields[0].limit = 10;
  spec.fields[0].limitName = "classes";
  spec.fields[0].ignore = -100;
  auto source = openData(spec);
  ASSERT_TRUE(source.isOk()) << source.message();
  EXPECT_EQ(sample<int32_t>(**source, 0, 1, 1), std::vector<int32_t>{-100});
  int32_t value = 0;
  EXPECT_EQ((*source)->read(0, 2, 0, 1, &value).message(),
            "'" + labels + "': 10 at position 2 is outside [0, 10), the size of 'classes'");
}

TEST_F(Data, TokenFiles) {
  std::string name = write("a.bin", test::tokenBytes({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  auto source = openData(tokens({name}, 3));
  ASSERT_TRUE(source.isOk()) << source.message();
  EXPECT_EQ((*source)->samples(), 3); // floor((10 - 1) / 3)
  EXPECT_EQ(sample<int32_t>(**source, 0, 1, 3), (std::vector<int32_t>{3, 4, 5}));
  EXPECT_EQ(sample<int32_t>(**source, 1, 2, 3), (std::vector<int32_t>{7, 8, 9}));
  EXPECT_EQ(sample<int32_t>(**source, 1, 2, 1, 2), (std::vector<int32_t>{9}));
  // Files follow each other, no sample spans two.
  std::vector<uint32_t> header(256);
  header[0] = 20240801;
  header[1] = 7;
  header[2] = 5;
  write("b.bin", bytesOf(header) + bytesOf<uint32_t>({70000, 70001, 70002, 70003, 70004}));
  source = openData(tokens({path("*.bin")}, 3));
  ASSERT_TRUE(source.isOk()) << source.message();
  EXPECT_EQ((*source)->samples(), 4);
  EXPECT_EQ(sample<int32_t>(**source, 1, 3, 3), (std::vector<int32_t>{70001, 70002, 70003}));
}

TEST_F(Data, TextIsItsBytes) {
  DataSpec spec = tokens({write("t.txt", "hello\xff!")}, 3, 256);
  spec.kind = DataKind::Text;
  auto source = openData(spec);
  ASSERT_TRUE(source.isOk()) << source.message();
  EXPECT_EQ((*source)->samples(), 2);
  EXPECT_EQ(sample<int32_t>(**source, 1, 1, 3), (std::vector<int32_t>{'o', 255, '!'}));
}

// A device or a descriptor stays what it is; a link stays, and what it leads to is replaced.
TEST_F(Data, OutputsThatAreNoPlainFiles) {
  ASSERT_TRUE(writeFile("/dev/null", "x").isOk());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_THAT(writeFile("/dev/full", "x").message(), HasSubstr("can't write '/dev/full'"));
  EXPECT_TRUE(checkWritable("/dev/null").isOk());
  ASSERT_TRUE(writeFile(path("far"), "old").isOk());
  std::filesystem::create_symlink("far", path("link"));
  ASSERT_TRUE(writeFile(path("link"), "new").isOk());
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(std::filesystem::file_size(path("far")), 3u);
  std::ifstream text(path("far"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(text), {}), "new");
}

// Shared memory lies among the devices, but holds plain files, which are created and replaced.
TEST_F(Data, OutputsInSharedMemory) {
  if (::access("/dev/shm", W_OK | X_OK) != 0)
    GTEST_SKIP() << "no shared memory";
  std::string file = fmt::format("/dev/shm/ptlrt-data-test-{}", ::getpid());
  for (const char *content : {"longer", "new"}) {
    EXPECT_TRUE(checkWritable(file).isOk());
    EXPECT_TRUE(writeFile(file, content).isOk());
    EXPECT_EQ(std::filesystem::file_size(file), std::strlen(content));
  }
  std::filesystem::remove(file);
}

// What lies behind a link is replaced, so its folder must be writable.
TEST_F(Data, LinkIntoReadOnlyFolder) {
  namespace fs = std::filesystem;
  fs::create_directory(path("closed"));
  ASSERT_TRUE(writeFile(path("closed/far"), "old").isOk());
  fs::create_symlink("closed/far", path("link"));
  EXPECT_TRUE(checkWritable(path("link")).isOk());
  fs::permissions(path("closed"), fs::perms::owner_write, fs::perm_options::remove);
  Status status = checkWritable(path("link"));
  fs::permissions(path("closed"), fs::perms::owner_all);
  if (::geteuid() != 0) // who may write everywhere
    EXPECT_THAT(status.message(), HasSubstr("can't write '" + path("link") + "'"));
}

TEST_F(Data, BrokenTokenFiles) {
  EXPECT_EQ(refuse(tokens({path("none.bin")}, 3)),
            "can't open '" + path("none.bin") +
                "': No such file or directory (the data of model.ptl:4:2)");
  EXPECT_THAT(refuse(tokens({write("short.bin", "abc")}, 3)), HasSubstr("too short"));
  EXPECT_THAT(refuse(tokens({write("text.bin", std::string(2000, 'a'))}, 3)),
              HasSubstr("'text' reads plain text"));
  std::string whole = test::tokenBytes({1, 2, 3, 4});
  EXPECT_THAT(refuse(tokens({write("cut.bin", whole.substr(0, whole.size() - 2))}, 3)),
              HasSubstr("should hold 4 tokens, but has room for 3"));
  EXPECT_THAT(refuse(tokens({write("few.bin", test::tokenBytes({1, 2, 3}))}, 3)),
              HasSubstr("has 3 tokens, one sample takes 4"));
  EXPECT_THAT(refuse(tokens({folder}, 3)), HasSubstr("isn't a regular file"));
  auto source = openData(tokens({write("ids.bin", test::tokenBytes({1, 2, 300, 4}))}, 3, 256));
  ASSERT_TRUE(source.isOk()) << source.message();
  std::vector<int32_t> values(3);
  EXPECT_EQ((*source)->read(1, 0, 0, 3, values.data()).message(),
            "'" + path("ids.bin") + "': token 300 at position 2 is outside [0, 256)");
}

TEST(Order, PermutationsArePermutations) {
  for (uint64_t n : {1, 2, 3, 4, 5, 16, 17, 1000, 4097}) {
    Permutation first(n, 1, 0), second(n, 1, 1), other(n, 2, 0);
    std::set<uint64_t> seen;
    uint64_t equalPass = 0, equalSeed = 0, fixed = 0;
    for (uint64_t i = 0; i < n; ++i) {
      ASSERT_LT(first(i), n);
      seen.insert(first(i));
      equalPass += first(i) == second(i);
      equalSeed += first(i) == other(i);
      fixed += first(i) == i;
    }
    EXPECT_EQ(seen.size(), n);
    if (n < 1000)
      continue;
    // Chance alone gives about one.
    EXPECT_LT(equalPass, 10u);
    EXPECT_LT(equalSeed, 10u);
    EXPECT_LT(fixed, 10u);
  }
}

std::vector<int64_t> samplesOf(BatchOrder &order, int64_t step, int64_t rows) {
  std::vector<int64_t> samples;
  for (int64_t row = 0; row < rows; ++row)
    samples.push_back(order.sample(step, row));
  return samples;
}

TEST(Order, Tails) {
  using List = std::vector<int64_t>;
  BatchOrder drop(10, 4, Tail::Drop, false, 0), shorter(10, 4, Tail::Short, false, 0),
      wrap(10, 4, Tail::Wrap, false, 0);
  EXPECT_EQ(drop.batchesPerPass(), 2);
  EXPECT_EQ(drop.leftOut(), 2);
  EXPECT_EQ(samplesOf(drop, 2, 4), (List{0, 1, 2, 3}));
  EXPECT_EQ(shorter.batchesPerPass(), 3);
  EXPECT_EQ(shorter.valid(2), 2);
  EXPECT_EQ(samplesOf(shorter, 2, 2), (List{8, 9}));
  EXPECT_EQ(shorter.valid(3), 4);
  EXPECT_EQ(samplesOf(wrap, 2, 4), (List{8, 9, 0, 1}));
  EXPECT_EQ(wrap.valid(2), 4);
  EXPECT_EQ(BatchOrder(3, 4, Tail::Drop, false, 0).batchesPerPass(), 0);
  // A batch may be longer than the data.
  BatchOrder tiny(3, 4, Tail::Wrap, false, 0);
  EXPECT_EQ(samplesOf(tiny, 1, 4), (List{1, 2, 0, 1}));
}

// Each pass has every sample once, in an order of its own, also where a batch spans two passes.
TEST(Order, ShuffledPasses) {
  BatchOrder order(10, 5, Tail::Wrap, true, 42);
  std::vector<int64_t> first, second;
  for (int64_t step : {0, 1})
    for (int64_t sample : samplesOf(order, step, 5))
      first.push_back(sample);
  for (int64_t step : {2, 3})
    for (int64_t sample : samplesOf(order, step, 5))
      second.push_back(sample);
  EXPECT_EQ(std::set<int64_t>(first.begin(), first.end()).size(), 10u);
  EXPECT_EQ(std::set<int64_t>(second.begin(), second.end()).size(), 10u);
  EXPECT_NE(first, second);
}

} // namespace
