//===- MemoryReport.cpp - Where a step's memory peaks ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Values that a line makes in several layers are one entry: what a user can change
// is the line.
//===----------------------------------------------------------------------===//
#include "compiler/Driver/MemoryReport.h"

#include "compiler/Analysis/Memory/Timeline.h"
#include "compiler/Codegen/Places.h"
#include "compiler/Driver/Report.h"
#include "compiler/Support/Location.h"
#include "dialects/Rt/Rt.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace ptlc;
using namespace mlir;
namespace json = llvm::json;

static constexpr size_t kShown = 10; // entries of the text

/// "[batch = 8, vocab = 256] f32": as it lies on one rank.
static std::string typeText(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  std::string text = "[";
  for (auto [name, size] : llvm::zip(ptl::getDims(value), type.getShape()))
    text += (text.size() > 1 ? ", " : "") + name.getValue().str() + " = " + std::to_string(size);
  llvm::raw_string_ostream(text) << "] " << type.getElementType();
  return text;
}

static json::Array valuesAt(const Timeline &timeline, unsigned position) {
  struct Entry {
    int64_t bytes = 0, count = 0;
    std::string line, type;
  };
  std::map<std::pair<std::string, std::string>, Entry> groups;
  for (const LiveBytes &live : timeline.liveAt(position)) {
    std::string line = lineOf(live.value.getLoc()), type = typeText(live.value);
    Entry &entry = groups[{line, type}];
    entry = {entry.bytes + live.bytes, entry.count + 1, line, type};
  }
  std::vector<Entry> list;
  for (auto &[key, entry] : groups)
    list.push_back(std::move(entry));
  llvm::sort(list, [](const Entry &a, const Entry &b) {
    return std::tie(b.bytes, a.line, a.type) < std::tie(a.bytes, b.line, b.type);
  });
  json::Array values;
  for (Entry &entry : list)
    values.push_back(json::Object{{"line", std::move(entry.line)},
                                  {"type", std::move(entry.type)},
                                  {"count", entry.count},
                                  {"bytes", entry.bytes}});
  return values;
}

json::Object ptlc::memoryPeak(ModuleOp module) {
  auto step = module.lookupSymbol<func::FuncOp>("step");
  if (!step || !module->hasAttr("rt.memory"))
    return {};
  Timeline timeline(step);
  codegen::Arena arena(module);
  unsigned peak = timeline.peak();
  json::Array points;
  for (auto [op, bytes] : llvm::zip_equal(timeline.operations(), timeline.bytes()))
    points.push_back(json::Object{{"line", lineOf(op->getLoc())}, {"bytes", bytes}});
  return json::Object{
      {"line", timeline.operations().empty() ? "" : lineOf(timeline.operations()[peak]->getLoc())},
      {"bytes", timeline.bytes().empty() ? 0 : timeline.bytes()[peak]},
      {"least", arena.least},
      {"micro", arena.micro},
      {"values", valuesAt(timeline, peak)},
      {"timeline", std::move(points)}};
}

void ptlc::printMemoryPeak(const json::Object &peak, llvm::raw_ostream &os) {
  const json::Array *values = peak.getArray("values");
  if (!values || values->empty())
    return;
  auto bytes = [](const json::Object &of, StringRef key) {
    return static_cast<double>(of.getInteger(key).value_or(0));
  };
  os << llvm::formatv("activations' peak {0} at {1}", bytesText(bytes(peak, "bytes")),
                      peak.getString("line").value_or(""));
  double least = bytes(peak, "least"), gaps = least > 0 ? bytes(peak, "micro") / least - 1 : 0;
  if (gaps > 0.0005)
    os << llvm::formatv("; gaps take {0:P1}", gaps);
  os << "\n";
  double others = 0;
  for (auto [number, value] : llvm::enumerate(*values)) {
    const json::Object &entry = *value.getAsObject();
    if (number >= kShown) {
      others += bytes(entry, "bytes");
      continue;
    }
    int64_t count = entry.getInteger("count").value_or(1);
    os << llvm::formatv("  {0,12}   {1}  {2}{3}\n", bytesText(bytes(entry, "bytes")),
                        entry.getString("line").value_or(""),
                        count > 1 ? std::to_string(count) + " x " : std::string(),
                        entry.getString("type").value_or(""));
  }
  if (values->size() > kShown)
    os << llvm::formatv("  {0,12}   {1} more\n", bytesText(others), values->size() - kShown);
}

static constexpr double kWidth = 960, kHeight = 360, kMargin = 80;

/// A bar from `from` to `to` bytes with a text for the pointer.
static void bar(llvm::raw_ostream &os, double x, double width, double from, double to, double top,
                StringRef color, const std::string &text) {
  double scale = kHeight / std::max(top, 1.0);
  os << llvm::formatv("<rect x=\"{0:f2}\" y=\"{1:f2}\" width=\"{2:f2}\" height=\"{3:f2}\" "
                      "fill=\"{4}\"><title>{5}</title></rect>\n",
                      kMargin + x, kMargin + kHeight - to * scale, width, (to - from) * scale,
                      color, text);
}

std::string ptlc::memorySvg(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  json::Object peak = memoryPeak(module);
  const json::Array *points = peak.getArray("timeline");
  codegen::Arena arena(module);
  double always = static_cast<double>(arena.persistent);
  double top = always + static_cast<double>(arena.micro);
  os << llvm::formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                      "font-family=\"sans-serif\" font-size=\"13\">\n",
                      kWidth + 2 * kMargin, kHeight + 2 * kMargin);
  os << llvm::formatv("<text x=\"{0}\" y=\"{1}\">Memory of a rank over the operations of a step; "
                      "arena {2}</text>\n",
                      kMargin, kMargin / 2, bytesText(top));
  bar(os, 0, kWidth, 0, always, top, "#9db4c0",
      "weights, gradients, optimizer states, data: " + bytesText(always));
  size_t count = points ? points->size() : 0;
  for (size_t i = 0; i < count; ++i) {
    const json::Object &point = *(*points)[i].getAsObject();
    double bytes = static_cast<double>(point.getInteger("bytes").value_or(0));
    double width = kWidth / static_cast<double>(count);
    bar(os, static_cast<double>(i) * width, width, always, always + bytes, top, "#e07a5f",
        point.getString("line").value_or("").str() + ": " + bytesText(bytes));
  }
  for (double part : {0.0, 0.5, 1.0})
    os << llvm::formatv("<text x=\"{0}\" y=\"{1:f2}\" text-anchor=\"end\">{2}</text>\n",
                        kMargin - 6, kMargin + kHeight * (1 - part) + 4, bytesText(top * part));
  os << "</svg>\n";
  return text;
}
