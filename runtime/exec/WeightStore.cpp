//===- WeightStore.cpp - Weights between files and arenas -----------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Both directions walk a rank's piece in runs (core/Tensor.h).
//===----------------------------------------------------------------------===//
#include "runtime/exec/WeightStore.h"

#include "runtime/core/Bfloat16.h"
#include "runtime/core/Suggest.h"
#include <algorithm>
#include <cstring>

namespace ptlrt {

namespace {
/// A stretch of initial values that the threads of a rank share out.
struct InitialStretch {
  const TensorOrigin *origin;
  uint64_t seed;
  int64_t global, count;
  float *to;
};
} // namespace

static constexpr int64_t kChunk = 1 << 14;

static void fillChunks(int64_t begin, int64_t end, void *const *buffers, const int64_t *) {
  const auto &work = *static_cast<const InitialStretch *>(buffers[0]);
  int64_t from = begin * kChunk, count = std::min(end * kChunk, work.count) - from;
  initialValues(work.origin->initial, work.seed, work.origin->tensor->name, work.global + from,
                count, work.to + from);
}

void fillPiece(const TensorOrigin &origin, const Mesh &mesh, ptlrt_rank &rank, uint8_t *arena) {
  Window window = windowOf(origin.storage.split, mesh, rank.rank);
  forEachRun(pieceOf(*origin.tensor, mesh, rank.rank), [&](Run run) {
    auto fill = [&](int64_t offset, int64_t first, int64_t count) {
      int64_t global = run.global + first;
      auto *to = reinterpret_cast<float *>(arena + offset);
      if (origin.fileData) {
        std::memcpy(to, origin.fileData + global * 4, count * 4);
      } else {
        InitialStretch work{&origin, rank.seed, global, count, to};
        void *buffers[] = {&work};
        ptlrt_launch(&rank, fillChunks, ceilDivide(count, kChunk), 1, buffers, nullptr);
      }
    };
    forEachHeld(origin.storage.layout, window, 4, run.local, run.count, fill);
    return true;
  });
}

namespace {
/// Reads elements of one tensor out of a rank's arena.
class PieceReader {
public:
  PieceReader(const TensorInfo &tensor, const Storage &storage, const Mesh &mesh, int rank)
      : piece(pieceOf(tensor, mesh, rank)), layout(storage.layout), element(tensor.element),
        window(windowOf(storage.split, mesh, rank)), rank(rank) {}
  /// Copies what the rank holds of elements [begin, begin + count).
  Status read(Communicator &comm, int64_t begin, int64_t count, float *to);

private:
  /// Visits the parts of these elements: `visit(byte offset in the arena, first element,
  /// elements)`.
  template <typename Visitor> void forEach(int64_t begin, int64_t count, Visitor &&visit) const;

  Piece piece;
  Layout layout;
  Element element;
  Window window;
  int rank;
  std::vector<uint8_t> span; ///< of the arena, from the first of the elements to the last
};
} // namespace

template <typename Visitor>
void PieceReader::forEach(int64_t begin, int64_t count, Visitor &&visit) const {
  forEachRun(piece, [&](Run run) {
    int64_t from = std::max(run.global, begin);
    int64_t end = std::min(run.global + run.count, begin + count);
    if (from < end)
      forEachHeld(
          layout, window, elementSize(element), run.local + from - run.global, end - from,
          [&](int64_t offset, int64_t first, int64_t part) { visit(offset, from + first, part); });
    return run.global < begin + count;
  });
}

Status PieceReader::read(Communicator &comm, int64_t begin, int64_t count, float *to) {
  // One fetch, however many runs there are: they ascend in the arena as they do in the tensor.
  int64_t first = -1, end = 0;
  forEach(begin, count, [&](int64_t offset, int64_t, int64_t part) {
    first = first < 0 ? offset : first;
    end = offset + part * elementSize(element);
  });
  if (first < 0)
    return Status::ok();
  span.resize(end - first);
  PTLRT_TRY(comm.fetch(rank, first, end - first, span.data()));
  forEach(begin, count, [&](int64_t offset, int64_t from, int64_t part) {
    const uint8_t *source = span.data() + offset - first;
    float *target = to + from - begin;
    if (element == Element::F32)
      std::memcpy(target, source, part * 4);
    else
      for (int64_t i = 0; i < part; ++i)
        target[i] = fromBfloat16(reinterpret_cast<const uint16_t *>(source)[i]);
  });
  return Status::ok();
}

std::optional<Storage> storageOf(const WeightInfo &weight, TensorPart part) {
  switch (part.kind) {
  case TensorPart::Kind::Weight:
    return weight.storage();
  case TensorPart::Kind::Gradient:
    return weight.gradient ? std::optional(weight.gradient->storage()) : std::nullopt;
  case TensorPart::Kind::State:
    return part.state < weight.states.size() ? std::optional(weight.states[part.state].storage)
                                             : std::nullopt;
  }
  return std::nullopt;
}

std::vector<Holder> holdersOf(const ProgramSet &programs, const std::string &path,
                              TensorPart part) {
  std::vector<std::optional<Storage>> places; // of each program
  for (size_t number = 0; number < programs.count(); ++number) {
    const WeightInfo *weight = programs.part(number).findWeight(path);
    places.push_back(weight ? storageOf(*weight, part) : std::nullopt);
  }
  std::vector<Holder> holders;
  for (int rank = 0; rank < programs.whole().mesh.ranks(); ++rank)
    if (const std::optional<Storage> &storage = places[programs.partOf(rank)])
      holders.push_back({rank, *storage});
  return holders;
}

size_t firstHolder(std::span<const Holder> holders, const TensorInfo &tensor, const Mesh &mesh,
                   int rank) {
  auto agree = [&](const Holder &other, std::span<const int> axes) {
    return std::all_of(axes.begin(), axes.end(), [&](int axis) {
      return mesh.coordinate(other.rank, axis) == mesh.coordinate(rank, axis);
    });
  };
  auto isSame = [&](const Holder &other) {
    return agree(other, other.storage.split.axes) &&
           std::all_of(tensor.sharding.begin(), tensor.sharding.end(),
                       [&](const std::vector<int> &axes) { return agree(other, axes); });
  };
  return std::find_if(holders.begin(), holders.end(), isSame) - holders.begin();
}

TensorSource sourceOf(const std::string &name, const TensorInfo &tensor,
                      std::span<const Holder> holders, const Mesh &mesh, Communicator &comm) {
  std::vector<PieceReader> readers;
  for (size_t number = 0; number < holders.size(); ++number)
    if (firstHolder(holders, tensor, mesh, holders[number].rank) == number)
      readers.emplace_back(tensor, holders[number].storage, mesh, holders[number].rank);
  return {name, tensor.shape,
          [readers = std::move(readers), &comm](int64_t begin, int64_t count, float *to) mutable {
            for (PieceReader &reader : readers)
              PTLRT_TRY(reader.read(comm, begin, count, to));
            return Status::ok();
          }};
}

TensorSource sourceOf(const std::string &name, const TensorInfo &tensor, const Layout &layout,
                      const Mesh &mesh, Communicator &comm) {
  std::vector<Holder> holders;
  for (int rank = 0; rank < mesh.ranks(); ++rank)
    holders.push_back({rank, {layout, {}}});
  return sourceOf(name, tensor, holders, mesh, comm);
}

static TensorSource sourceOf(const ProgramSet &programs, const std::string &name,
                             const WeightInfo &weight, TensorPart part, Communicator &comm) {
  return sourceOf(name, weight.tensor, holdersOf(programs, weight.tensor.name, part),
                  programs.whole().mesh, comm);
}

std::vector<TensorSource> weightSources(const ProgramSet &programs, Communicator &comm) {
  std::vector<TensorSource> sources;
  for (const WeightInfo &weight : programs.whole().weights)
    sources.push_back(sourceOf(programs, weight.tensor.name, weight, {}, comm));
  return sources;
}

std::vector<TensorSource> stateSources(const ProgramSet &programs, Communicator &comm) {
  std::vector<TensorSource> sources;
  for (const WeightInfo &weight : programs.whole().weights)
    for (size_t state = 0; state < weight.states.size(); ++state)
      sources.push_back(sourceOf(programs, weight.tensor.name + "#" + weight.states[state].name,
                                 weight, {TensorPart::Kind::State, state}, comm));
  return sources;
}

std::vector<TensorSource> gradientSources(const ProgramSet &programs, Communicator &comm) {
  std::vector<TensorSource> sources;
  for (const WeightInfo &weight : programs.whole().weights)
    if (weight.gradient)
      sources.push_back(
          sourceOf(weight.tensor.name, *weight.gradient,
                   holdersOf(programs, weight.tensor.name, {TensorPart::Kind::Gradient, 0}),
                   programs.whole().mesh, comm));
  return sources;
}

Status findAll(const SafetensorsFile &file, std::span<const std::string> names,
               std::span<TensorOrigin *const> origins) {
  for (const StoredTensor &stored : file.tensors())
    if (std::find(names.begin(), names.end(), stored.name) == names.end())
      return failure("'{}' has a tensor '{}', the model doesn't{}", file.path(), stored.name,
                     didYouMean(stored.name, names));
  for (size_t i = 0; i < names.size(); ++i) {
    Expected<const uint8_t *> data = file.floats(names[i], origins[i]->tensor->shape);
    if (data.isError())
      return data.status();
    origins[i]->fileData = *data;
  }
  return Status::ok();
}

} // namespace ptlrt
