//===- TestFiles.h - Folders and files for tests --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A folder of its own for each test, removed at its end.
//===----------------------------------------------------------------------===//
#ifndef PTLC_TEST_UNIT_RUNTIME_TESTFILES_H
#define PTLC_TEST_UNIT_RUNTIME_TESTFILES_H

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <unistd.h>
#include <vector>

namespace ptlrt::test {

class FolderTest : public ::testing::Test {
protected:
  FolderTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ptlrt-XXXXXX").string();
    folder = ::mkdtemp(pattern.data());
  }
  ~FolderTest() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string &name) const { return folder + "/" + name; }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(const std::string &name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  std::string folder;
};

/// The bytes of values as they lie in memory.
template <typename T> std::string bytesOf(const std::vector<T> &values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!bytes.empty())
    std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// A NumPy file as numpy.save writes it.
inline std::string npyBytes(const std::string &descr, const std::string &shape,
                            const std::string &data, bool fortran = false) {
  std::string header = "{'descr': '" + descr +
                       "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': (" +
                       shape + "), }";
  header.resize((header.size() + 10 + 64) / 64 * 64 - 11, ' ');
  header += '\n';
  auto length = static_cast<uint16_t>(header.size());
  return std::string("\x93NUMPY\x01\x00", 8) + bytesOf(std::vector<uint16_t>{length}) + header +
         data;
}

/// A token file of 16-bit ids.
inline std::string tokenBytes(const std::vector<uint16_t> &ids) {
  std::vector<uint32_t> header(256);
  header[0] = 20240520;
  header[1] = 1;
  header[2] = static_cast<uint32_t>(ids.size());
  return bytesOf(header) + bytesOf(ids);
}

} // namespace ptlrt::test

#endif // PTLC_TEST_UNIT_RUNTIME_TESTFILES_H
