//===- InfoText.cpp - What a program is, for people -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// One fact a line, then the weights and the collectives.
//===----------------------------------------------------------------------===//
#include "runtime/exec/InfoText.h"

#include "runtime/core/Env.h"
#include <fmt/ranges.h>
#include <iterator>

namespace ptlrt {

static std::string describeFields(const DataSpec &data) {
  std::string text;
  for (const FieldSpec &field : data.fields)
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", field.tensor.name,
                        elementName(field.tensor.element), field.tensor.describeShape());
  return text;
}

static double megabytes(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

std::string infoText(const ProgramInfo &info) {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "model        {} ({}), compiled by {} for {}\n", info.model, info.source,
                 info.compiler, info.cpu.empty() ? "any CPU" : info.cpu);
  fmt::format_to(out, "mesh         {}, {} ranks\n", info.mesh.describe(), info.mesh.ranks());
  fmt::format_to(out, "parameters   {} in {} weights\n", info.parameters(), info.weights.size());
  fmt::format_to(out,
                 "memory       {:.2f} MB a rank: {:.2f} kept, {:.2f} per micro-batch, {:.2f} "
                 "scratch\n",
                 megabytes(info.arenaBytes), megabytes(info.persistentBytes),
                 megabytes(info.microBytes), megabytes(info.scratchBytes));
  fmt::format_to(out, "training     {} steps of {} samples in {} micro-batches, seed {}\n",
                 info.steps, info.batch, info.microbatches, info.seed);
  fmt::format_to(out, "data         {}\n", describeFields(info.data));
  for (const HyperInfo &hyper : info.hypers)
    fmt::format_to(out, "number       opt{}.{} = {}{}\n", hyper.group, hyper.name, hyper.value,
                   hyper.scheduled ? ", scheduled" : "");
  for (const WeightInfo &weight : info.weights)
    fmt::format_to(out, "weight       {} {}{}\n", weight.tensor.name, weight.tensor.describeShape(),
                   weight.frozen ? ", frozen" : "");
  for (const Collective &collective : info.collectives)
    fmt::format_to(out, "collective   {}: {} x {:.0f} bytes a rank and step; {}\n",
                   collective.describe(info.mesh), collective.times, collective.predictedBytes,
                   collective.reason);
  for (const env::Variable &variable : env::variables())
    fmt::format_to(out, "environment  {} = {}: {}\n", variable.name, variable.byDefault,
                   variable.meaning);
  return text;
}

} // namespace ptlrt
