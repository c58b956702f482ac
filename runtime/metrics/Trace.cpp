//===- Trace.cpp - What each rank did, and when ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Complete events ("ph": "X"), microseconds from the first event; the thread is
// the rank.
//===----------------------------------------------------------------------===//
#include "runtime/metrics/Trace.h"

#include "runtime/data/File.h"
#include <nlohmann/json.hpp>

namespace ptlrt {

static const char *categoryOf(TraceKind kind) {
  switch (kind) {
  case TraceKind::Instruction:
    return "instruction";
  case TraceKind::Collective:
  case TraceKind::Start:
  case TraceKind::Wait:
    return "collective";
  case TraceKind::Data:
    return "data";
  case TraceKind::Evaluation:
    return "evaluation";
  case TraceKind::Checkpoint:
    return "checkpoint";
  }
  return "";
}

Status writeTrace(const std::string &path, std::span<const std::span<const TraceEvent>> ranks,
                  const TraceNames &names) {
  Expected<OutputFile> file = OutputFile::create(path);
  if (file.isError())
    return file.status();
  int64_t start = INT64_MAX;
  for (std::span<const TraceEvent> events : ranks)
    for (const TraceEvent &event : events)
      start = std::min(start, event.begin);
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
  text += R"({"name":"process_name","ph":"M","pid":0,"args":{"name":"ptl program"}})";
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    text += fmt::format(",\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":0,\"tid\":{},"
                        "\"args\":{{\"name\":\"rank {}\"}}}}",
                        rank, rank);
    for (const TraceEvent &event : ranks[rank]) {
      text +=
          fmt::format(",\n{{\"name\":{},\"cat\":\"{}\",\"ph\":\"X\",\"pid\":0,\"tid\":{},"
                      "\"ts\":{:.3f},\"dur\":{:.3f}}}",
                      nlohmann::json(names.nameOf(static_cast<int>(rank), event)).dump(),
                      categoryOf(event.kind), rank, static_cast<double>(event.begin - start) / 1e3,
                      static_cast<double>(event.end - event.begin) / 1e3);
      if (text.size() < (1 << 20))
        continue;
      PTLRT_TRY(file->write(text.data(), text.size()));
      text.clear();
    }
  }
  text += "\n]}\n";
  PTLRT_TRY(file->write(text.data(), text.size()));
  return file->commit();
}

} // namespace ptlrt
