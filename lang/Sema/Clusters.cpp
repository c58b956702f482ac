//===- Clusters.cpp - Checks descriptions of machines ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A cluster's entries are numbers and quantities; all of them may be left out.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Plan.h"

namespace ptlc::sema {

namespace {
struct ClusterRow {
  llvm::StringRef name;
  std::optional<double> ClusterSpec::*field;
  std::optional<Quantity> quantity; ///< absent: a count
};
} // namespace

static constexpr ClusterRow kRows[] = {
    {"nodes", &ClusterSpec::nodes, std::nullopt},
    {"devices", &ClusterSpec::devices, std::nullopt},
    {"intra", &ClusterSpec::intra, Quantity::BytesPerSecond},
    {"inter", &ClusterSpec::inter, Quantity::BytesPerSecond},
    {"memory", &ClusterSpec::memory, Quantity::Bytes},
    {"peak", &ClusterSpec::peak, Quantity::FlopsPerSecond},
    {"peak_f32", &ClusterSpec::peakF32, Quantity::FlopsPerSecond},
    {"bandwidth", &ClusterSpec::bandwidth, Quantity::BytesPerSecond},
    {"units", &ClusterSpec::units, std::nullopt},
    {"intra_latency", &ClusterSpec::intraLatency, Quantity::Seconds},
    {"inter_latency", &ClusterSpec::interLatency, Quantity::Seconds},
};

static void readEntry(Context &ctx, Frame &frame, const ast::Directive &directive,
                      ClusterSpec &cluster) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const ClusterRow &row : kRows)
    names.push_back(row.name);
  llvm::StringRef name = directive.name.text;
  const auto *place = llvm::find(names, name);
  if (llvm::isa<ast::AssertDirective>(&directive)) {
    ctx.error(directive.range, "'assert' belongs in a plan");
    return;
  }
  if (place == names.end()) {
    ctx.error(directive.range, "a cluster has no '" + name + "'" + lang::didYouMean(name, names));
    return;
  }
  const ClusterRow &row = kRows[place - names.begin()];
  if (cluster.*row.field)
    ctx.error(directive.range, "'" + name + "' is given twice");
  EntryReader reader(ctx, frame, directive);
  reader.accept({}, 1);
  const ast::Arg *arg = reader.single();
  if (!arg)
    return;
  if (!row.quantity)
    cluster.*row.field = reader.integer(*arg, 1);
  else
    cluster.*row.field = reader.measure(*arg->value, *row.quantity);
}

static void readClusters(Context &ctx, FileScope &file) {
  for (const ast::ClusterDecl *decl : file.clusters) {
    ClusterSpec cluster;
    cluster.name = decl->name.str();
    cluster.range = decl->range;
    Frame frame;
    frame.file = &file;
    for (const ast::DirectivePtr &directive : decl->directives)
      readEntry(ctx, frame, *directive, cluster);
    ctx.program.clusters.push_back(std::move(cluster));
  }
}

void checkClusters(Context &ctx, FileScope &main) {
  readClusters(ctx, main);
  for (FileScope &file : ctx.files)
    if (!file.isMain)
      readClusters(ctx, file);
}

} // namespace ptlc::sema
