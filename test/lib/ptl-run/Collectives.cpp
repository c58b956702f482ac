//===- Collectives.cpp - Operations of the spmd dialect on all ranks ------===//
// SPDX-License-Identifier: Apache-2.0
//
// Folds add the members of a group by ascending rank, along the last axis first;
// joins and cuts go by the
// order of the axes as written, level by level, so that nested ceil layouts come
// out right. What a cut leaves empty is junk.
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Buckets.h"
#include "test/lib/ptl-run/Execute.h"

#include "dialects/Spmd/Spmd.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ptlc::run {

bool isCollective(mlir::Operation *op) {
  return op->getName().getDialectNamespace() == spmd::SpmdDialect::getDialectNamespace();
}

llvm::Expected<Windows> windowsOf(mlir::Attribute attribute, const Mesh &mesh, int64_t rank,
                                  std::optional<int64_t> micro, std::optional<int64_t> chunk) {
  auto cuts = mlir::dyn_cast<spmd::CutsAttr>(attribute);
  if (!cuts)
    return makeError("'cut' must be a #spmd.cuts");
  Windows windows;
  for (spmd::CutAttr cut : cuts.getCuts()) {
    Sizes sizes, coordinates;
    if (cut.getMicro() > 1) {
      if (!micro)
        return makeError("a cut into micro-batches outside ptl.accumulate");
      sizes.push_back(cut.getMicro());
      coordinates.push_back(*micro);
    }
    for (mlir::StringAttr axis : cut.getAxes()) {
      sizes.push_back(mesh.size(axis.getValue()));
      coordinates.push_back(mesh.coordinate(rank, axis.getValue()));
    }
    if (cut.getChunks() > 1) {
      if (!chunk)
        return makeError("a cut into chunks outside rt.chunks");
      sizes.push_back(cut.getChunks());
      coordinates.push_back(*chunk);
    }
    Piece here = piece(cut.getGlobal(), sizes, coordinates);
    windows.push_back({cut.getDim().getValue(), here.start, here.valid, cut.getGlobal()});
  }
  return windows;
}

namespace {
/// One operand of every rank.
using AllRanks = llvm::SmallVector<Tensor>;

/// The mesh and the axes of a collective.
struct Groups {
  const Mesh &mesh;
  Names axes;

  Sizes sizes() const {
    Sizes result;
    for (Name axis : axes)
      result.push_back(mesh.size(axis));
    return result;
  }
  Sizes coordinates(int64_t rank) const {
    Sizes result;
    for (Name axis : axes)
      result.push_back(mesh.coordinate(rank, axis));
    return result;
  }
};
} // namespace

static Fold foldOf(ptl::FoldKind kind) {
  if (kind == ptl::FoldKind::Sum)
    return Fold::Sum;
  return kind == ptl::FoldKind::Max ? Fold::Max : Fold::Min;
}

static Type widened(Type type) {
  if (type.element == Element::BF16)
    type.element = Element::F32;
  return type;
}

static Tensor foldMembers(const Groups &groups, Name axis, int64_t rank, Fold fold,
                          llvm::ArrayRef<Tensor> x, bool f64) {
  llvm::SmallVector<int64_t> members = groups.mesh.group(rank, axis);
  Type type = x[members[0]].type();
  Tensor sum = x[members[0]].as(widened(type));
  for (int64_t member : llvm::drop_begin(members)) {
    double *out = sum.mutableData();
    for (int64_t i = 0; i < sum.count(); ++i)
      out[i] = combine(fold, out[i], x[member][i]);
    roundToElement(sum, f64);
  }
  sum = sum.as(type);
  roundToElement(sum, f64);
  return sum;
}

/// Over one axis of the mesh after the other, the last one first. Sums of bf16 are f32 along an
/// axis.
static AllRanks allReduce(const Groups &groups, Fold fold, llvm::ArrayRef<Tensor> x, bool f64) {
  AllRanks now(x.begin(), x.end());
  for (Name axis : llvm::reverse(groups.mesh.axes)) {
    if (!llvm::is_contained(groups.axes, axis))
      continue;
    AllRanks sums;
    for (int64_t rank = 0; rank < groups.mesh.ranks(); ++rank)
      sums.push_back(foldMembers(groups, axis, rank, fold, now, f64));
    now = std::move(sums);
  }
  return now;
}

/// The shard of each rank along `dim`, by nested ceil.
static AllRanks cut(const Groups &groups, Name dim, llvm::ArrayRef<Tensor> x) {
  AllRanks results;
  for (int64_t rank = 0; rank < groups.mesh.ranks(); ++rank) {
    Piece here = piece(x[rank].type().size(dim), groups.sizes(), groups.coordinates(rank));
    Tensor shard = block(x[rank], dim, here.start, here.size);
    results.push_back(mask(shard, {{dim, here.start, here.valid, 0}}, poison()));
  }
  return results;
}

/// Sizes of the blocks that the axes divide, the whole first.
static Sizes levels(int64_t whole, llvm::ArrayRef<int64_t> sizes) {
  Sizes result = {whole};
  for (int64_t size : sizes)
    result.push_back((result.back() + size - 1) / size);
  return result;
}

/// Joins the shards of a group along `dim` to `whole` elements, minor axis first, dropping the
/// padding of each inner block.
static llvm::Expected<AllRanks> gatherShards(const Groups &groups, Name dim, int64_t whole,
                                             llvm::ArrayRef<Tensor> x) {
  Sizes sizes = levels(whole, groups.sizes());
  AllRanks now(x.begin(), x.end());
  for (size_t level = groups.axes.size(); level-- > 0;) {
    AllRanks next;
    for (int64_t rank = 0; rank < groups.mesh.ranks(); ++rank) {
      llvm::SmallVector<Tensor> pieces;
      for (int64_t member : groups.mesh.group(rank, groups.axes[level]))
        pieces.push_back(now[member]);
      if (pieces[0].type().size(dim) != sizes[level + 1])
        return makeError("shards of '" + dim + "' have size " +
                         llvm::Twine(pieces[0].type().size(dim)) + ", should have " +
                         llvm::Twine(sizes[level + 1]));
      Type type = pieces[0].type();
      type.sizes[type.find(dim)] *= static_cast<int64_t>(pieces.size());
      auto joined = concat(pieces, Names(pieces.size(), dim), dim, type);
      if (!joined)
        return joined.takeError();
      next.push_back(block(*joined, dim, 0, sizes[level]));
    }
    now = std::move(next);
  }
  return now;
}

/// Coordinate 0 keeps its value, the others get zeros.
static AllRanks keep(const Groups &groups, llvm::ArrayRef<Tensor> x) {
  AllRanks results;
  for (int64_t rank = 0; rank < groups.mesh.ranks(); ++rank) {
    bool first = llvm::all_of(groups.coordinates(rank), [](int64_t c) { return c == 0; });
    results.push_back(first ? x[rank] : Tensor(x[rank].type()));
  }
  return results;
}

/// The shard that a rank has of each dimension, by number.
static Sizes shardOf(const Mesh &mesh, spmd::ShardingAttr sharding, int64_t rank) {
  Sizes shards;
  for (spmd::AxesAttr axes : sharding.getDims()) {
    int64_t shard = 0;
    for (mlir::StringAttr name : axes.getNames())
      shard = shard * mesh.size(name.getValue()) + mesh.coordinate(rank, name.getValue());
    shards.push_back(shard);
  }
  return shards;
}

/// What any member of the group has, under `from`, of the shard that the rank should have.
static llvm::Expected<AllRanks> permute(const Groups &groups, spmd::PermuteOp op,
                                        llvm::ArrayRef<Tensor> x) {
  AllRanks results;
  for (int64_t rank = 0; rank < groups.mesh.ranks(); ++rank) {
    Sizes shard = shardOf(groups.mesh, op.getTo(), rank);
    llvm::SmallVector<int64_t> members = groups.mesh.group(rank, groups.axes);
    const auto *sender = llvm::find_if(members, [&](int64_t member) {
      return shardOf(groups.mesh, op.getFrom(), member) == shard;
    });
    if (sender == members.end())
      return makeError("no rank of the group has the shard that a rank should get");
    results.push_back(x[*sender]);
  }
  return results;
}

static AllRanks operand(llvm::ArrayRef<OpState> inputs, size_t i) {
  AllRanks result;
  for (const OpState &state : inputs)
    result.push_back(state[i]);
  return result;
}

/// Turns results by operation into results by rank.
static llvm::SmallVector<Results> byRank(llvm::ArrayRef<AllRanks> outputs, int64_t ranks) {
  llvm::SmallVector<Results> results(ranks);
  for (const AllRanks &output : outputs)
    for (int64_t rank = 0; rank < ranks; ++rank)
      results[rank].push_back(output[rank]);
  return results;
}

/// The part of a bucket that each rank of a group keeps, `tensors` being what all hold of it.
static AllRanks cutBucket(const Groups &groups, llvm::ArrayRef<AllRanks> tensors, mlir::Type part) {
  AllRanks results;
  for (int64_t rank = 0; rank < groups.mesh.ranks(); ++rank) {
    llvm::SmallVector<Tensor> own;
    for (const AllRanks &tensor : tensors)
      own.push_back(tensor[rank]);
    int64_t number = 0;
    for (auto [size, coordinate] : llvm::zip(groups.sizes(), groups.coordinates(rank)))
      number = number * size + coordinate;
    results.push_back(partOfBucket(own, typeOf(part), number));
  }
  return results;
}

static llvm::SmallVector<AllRanks> joinBucket(const Groups &groups, const AllRanks &parts,
                                              mlir::TypeRange types) {
  llvm::SmallVector<AllRanks> results(types.size());
  for (int64_t rank = 0; rank < groups.mesh.ranks(); ++rank) {
    llvm::SmallVector<Tensor> members;
    for (int64_t member : groups.mesh.group(rank, groups.axes))
      members.push_back(parts[member]);
    llvm::SmallVector<Type> local;
    for (mlir::Type type : types)
      local.push_back(typeOf(type));
    for (auto [i, tensor] : llvm::enumerate(tensorsOfBucket(members, local)))
      results[i].push_back(tensor);
  }
  return results;
}

static llvm::Expected<llvm::SmallVector<AllRanks>> collective(mlir::Operation *op, const Mesh &mesh,
                                                              llvm::ArrayRef<OpState> inputs) {
  using Outputs = llvm::Expected<llvm::SmallVector<AllRanks>>;
  auto groups = [&](spmd::AxesAttr axes) { return Groups{mesh, namesOf(axes.getNames())}; };
  auto wrap = [](llvm::Expected<AllRanks> result) -> Outputs {
    if (!result)
      return result.takeError();
    return llvm::SmallVector<AllRanks>{std::move(*result)};
  };
  AllRanks x = inputs[0].operands.empty() ? AllRanks() : operand(inputs, 0);
  bool f64 = inputs[0].options->f64;
  return llvm::TypeSwitch<mlir::Operation *, Outputs>(op)
      .Case([&](spmd::AllReduceOp op) -> Outputs {
        llvm::SmallVector<AllRanks> outputs;
        for (size_t i = 0; i < op.getInputs().size(); ++i)
          outputs.push_back(
              allReduce(groups(op.getAxes()), foldOf(op.getKind()), operand(inputs, i), f64));
        return outputs;
      })
      .Case([&](spmd::AllGatherOp op) {
        int64_t whole = typeOf(op.getType()).size(op.getDim());
        return wrap(gatherShards(groups(op.getAxes()), op.getDim(), whole, x));
      })
      .Case([&](spmd::ReduceScatterOp op) {
        AllRanks sums = allReduce(groups(op.getAxes()), foldOf(op.getKind()), x, f64);
        return wrap(cut(groups(op.getAxes()), op.getDim(), sums));
      })
      .Case([&](spmd::AllToAllOp op) -> Outputs {
        int64_t whole = typeOf(op.getType()).size(op.getFrom());
        auto joined = gatherShards(groups(op.getAxes()), op.getFrom(), whole, x);
        if (!joined)
          return joined.takeError();
        return wrap(cut(groups(op.getAxes()), op.getTo(), *joined));
      })
      .Case([&](spmd::BucketReduceScatterOp op) -> Outputs {
        llvm::SmallVector<AllRanks> sums;
        for (size_t i = 0; i < op.getInputs().size(); ++i)
          sums.push_back(
              allReduce(groups(op.getAxes()), foldOf(op.getKind()), operand(inputs, i), f64));
        return llvm::SmallVector<AllRanks>{
            cutBucket(groups(op.getAxes()), sums, op.getPart().getType())};
      })
      .Case([&](spmd::BucketSliceOp op) -> Outputs {
        llvm::SmallVector<AllRanks> tensors;
        for (size_t i = 0; i < op.getInputs().size(); ++i)
          tensors.push_back(operand(inputs, i));
        return llvm::SmallVector<AllRanks>{
            cutBucket(groups(op.getAxes()), tensors, op.getPart().getType())};
      })
      .Case([&](spmd::BucketAllGatherOp op) -> Outputs {
        return joinBucket(groups(op.getAxes()), x, op.getOutputs().getTypes());
      })
      .Case([&](spmd::SquareSumOp op) -> Outputs {
        AllRanks results;
        for (const OpState &state : inputs)
          results.push_back(squareSum(state.operands, typeOf(op.getSum().getType())));
        return llvm::SmallVector<AllRanks>{results};
      })
      .Case([&](spmd::RootOp op) -> Outputs {
        AllRanks results;
        for (const OpState &state : inputs)
          results.push_back(rootOf(state.operands, typeOf(op.getType())));
        return llvm::SmallVector<AllRanks>{results};
      })
      .Case([&](spmd::PermuteOp op) { return wrap(permute(groups(op.getAxes()), op, x)); })
      .Case([&](spmd::SliceOp op) { return wrap(cut(groups(op.getAxes()), op.getDim(), x)); })
      .Case([&](spmd::KeepOp op) { return wrap(keep(groups(op.getAxes()), x)); })
      .Case([&](spmd::ConstrainOp) -> Outputs { return llvm::SmallVector<AllRanks>{x}; })
      .Case([&](spmd::MaskOp op) -> Outputs {
        AllRanks results;
        for (size_t rank = 0; rank < x.size(); ++rank)
          results.push_back(mask(x[rank], inputs[rank].windows, op.getFill().convertToDouble()));
        return llvm::SmallVector<AllRanks>{results};
      })
      .Default([](mlir::Operation *op) -> Outputs {
        return makeError("ptl-run can't execute '" + op->getName().getStringRef() + "'");
      });
}

llvm::Expected<llvm::SmallVector<Results>> executeCollective(mlir::Operation *op, const Mesh &mesh,
                                                             llvm::ArrayRef<OpState> inputs) {
  auto outputs = collective(op, mesh, inputs);
  if (!outputs)
    return outputs.takeError();
  return byRank(*outputs, mesh.ranks());
}

} // namespace ptlc::run
