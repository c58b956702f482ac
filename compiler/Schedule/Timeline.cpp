//===- Timeline.cpp - Pictures of a simulated or measured step ------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Schedule/Timeline.h"

#include <algorithm>
#include <cstdio>

namespace ptlc::schedule {

static constexpr double kWidth = 1200, kLeft = 56, kRow = 26, kTop = 22;

/// A short number, like printf's %g.
static std::string number(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

static std::string_view colour(Op op) {
  switch (op) {
  case Op::F:
    return "#7aa6da";
  case Op::B:
    return "#e7a977";
  case Op::W:
    return "#9ccb86";
  case Op::BW:
    return "#d98c8c";
  case Op::Loss:
    return "#f0d060";
  case Op::Opt:
    return "#b9a3d3";
  default:
    return "#d0d0d0";
  }
}

static std::string escape(std::string_view text, bool isJson) {
  std::string out;
  for (char c : text)
    if (isJson && (c == '"' || c == '\\'))
      out += std::string("\\") + c;
    else if (!isJson && (c == '<' || c == '&'))
      out += c == '<' ? "&lt;" : "&amp;";
    else
      out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  return out;
}

static std::string rectangle(double x, double y, double width, double height,
                             const std::string &rest) {
  return "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) +
         "\" height=\"" + number(height) + "\" " + rest;
}

static std::string label(double x, double y, const std::string &rest, const std::string &text) {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + rest + ">" + text + "</text>\n";
}

static std::string title(const Table &table, const Simulation &simulation) {
  double least = 1, most = 0;
  for (size_t rank = 0; rank < simulation.busy.size(); ++rank) {
    least = std::min(least, simulation.idleOfTotal(rank));
    most = std::max(most, simulation.idleOfTotal(rank));
  }
  return escape(table.name, false) + "  p=" + std::to_string(table.ranks) +
         " v=" + std::to_string(table.chunks) + " m=" + std::to_string(table.micros) + "  time " +
         number(simulation.makespan) + "  idle of total " + number(100 * least) + " .. " +
         number(100 * most) + " %";
}

std::string drawSvg(const Table &table, const Simulation &simulation) {
  double height = kRow * static_cast<double>(table.tables.size()) + 44;
  double scale = (kWidth - 90) / simulation.makespan;
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(kWidth) +
                    "\" height=\"" + number(height) +
                    "\" font-family=\"sans-serif\" font-size=\"10\">\n";
  out += label(4, 14, " font-size=\"12\"", title(table, simulation));
  for (size_t rank = 0; rank < table.tables.size(); ++rank) {
    double y = kTop + kRow * static_cast<double>(rank);
    out += label(4, y + kRow * 0.65, "", "rank " + std::to_string(rank));
    out += rectangle(kLeft, y, simulation.makespan * scale, kRow - 3, "fill=\"#f4f4f4\"/>\n");
  }
  for (const Span &span : simulation.spans) {
    const Instruction &at = table.tables[span.rank].instructions[span.position];
    double x = kLeft + span.start * scale, width = (span.end - span.start) * scale;
    double y = kTop + kRow * span.rank;
    bool isLater = at.stage >= table.ranks;
    out +=
        rectangle(x, y, width, kRow - 3,
                  "fill=\"" + std::string(colour(at.op)) + "\" stroke=\"" +
                      (isLater ? "#222" : "#fff") + "\" stroke-width=\"0.6\"><title>" + text(at) +
                      " [" + number(span.start) + ", " + number(span.end) + "]</title></rect>\n");
    if (width > 11 && at.micro >= 0)
      out += label(x + width / 2, y + kRow * 0.62, " text-anchor=\"middle\"",
                   std::to_string(at.micro));
  }
  double x = kLeft;
  for (Op op : {Op::F, Op::B, Op::W, Op::BW, Op::Opt}) {
    out += rectangle(x, height - 16, 10, 10, "fill=\"" + std::string(colour(op)) + "\"/>");
    out += label(x + 13, height - 7, "", std::string(name(op)));
    x += 44;
  }
  return out + "</svg>\n";
}

static std::string event(const Instruction &at, int process, int track, double start, double end) {
  char times[96];
  std::snprintf(times, sizeof times, ",\"ts\":%.3f,\"dur\":%.3f}", start * 1e6,
                (end - start) * 1e6);
  return "{\"name\":\"" + text(at) + "\",\"cat\":\"" + std::string(name(at.op)) +
         "\",\"ph\":\"X\",\"pid\":" + std::to_string(process) +
         ",\"tid\":" + std::to_string(track) + times;
}

static std::string trackName(int process, int track, const std::string &name) {
  return "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":" + std::to_string(process) +
         ",\"tid\":" + std::to_string(track) + ",\"args\":{\"name\":\"" + name + "\"}}";
}

std::string drawPerfetto(const Table &table, const Simulation &simulation) {
  std::string out = "{\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":0,"
                    "\"args\":{\"name\":\"" +
                    escape(table.name, true) + "\"}}";
  int ranks = static_cast<int>(table.tables.size());
  for (int rank = 0; rank < ranks; ++rank)
    out += ",\n" + trackName(0, rank, "rank " + std::to_string(rank));
  for (const Span &span : simulation.spans)
    out += ",\n" + event(table.tables[span.rank].instructions[span.position], 0, span.rank,
                         span.start, span.end);
  std::vector<bool> isNamed(static_cast<size_t>(ranks) * ranks);
  for (const Transfer &transfer : simulation.transfers) {
    int track = transfer.from * ranks + transfer.to;
    if (!isNamed[track])
      out += ",\n" + trackName(1, track,
                               "channel " + std::to_string(transfer.from) + " to " +
                                   std::to_string(transfer.to));
    isNamed[track] = true;
    out += ",\n" + event(table.tables[transfer.from].instructions[transfer.position], 1, track,
                         transfer.start, transfer.end);
  }
  return out + "\n]}\n";
}

} // namespace ptlc::schedule
