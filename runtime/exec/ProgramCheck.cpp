//===- ProgramCheck.cpp - Bounds of a program's description ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Every offset that the runtime will ever use is tried once against the arena's
// size, for the padded piece that all ranks share.
//===----------------------------------------------------------------------===//
#include "runtime/exec/ProgramCheck.h"

#include <algorithm>

namespace ptlrt {

namespace {

class Checker {
public:
  Checker(const ProgramInfo &info, const ptlrt_program_t &program) : info(info), program(program) {}
  Status check();

private:
  Status sizes();
  Status layout(const std::string &name, const Layout &layout, int64_t elementBytes,
                int64_t elements);
  Status storage(const std::string &name, const Storage &storage, int64_t elementBytes,
                 int64_t elements);
  Status weight(const WeightInfo &weight);
  Status fields(const DataSpec &data, int64_t microbatches);
  Status scalar(const char *name, int64_t offset);
  Status outputs(const OutputInfo &outputs);
  Status function(const char *what, int64_t index);
  Status collective(const Collective &collective);
  Status segment(const Collective &collective, const CommSegment &segment,
                 std::span<const int64_t> sizes);
  Status table();

  const ProgramInfo &info;
  const ptlrt_program_t &program;
};

} // namespace

Status Checker::layout(const std::string &name, const Layout &layout, int64_t elementBytes,
                       int64_t elements) {
  if (layout.rows < 0 || layout.cols < 1 || layout.stride < layout.cols ||
      layout.rows * layout.cols != elements)
    return failure("'{}' has {} elements, its layout is {} x {}, stride {}", name, elements,
                   layout.rows, layout.cols, layout.stride);
  int64_t last = layout.rows == 0 ? 0 : (layout.rows - 1) * layout.stride + layout.cols;
  if (layout.offset < 0 || layout.offset % elementBytes != 0 ||
      layout.offset + last * elementBytes > info.arenaBytes)
    return failure("'{}' lies outside of the arena of {} bytes", name, info.arenaBytes);
  return Status::ok();
}

/// Parts of a bucket must fit into the arena, and the tensor into the bucket.
Status Checker::storage(const std::string &name, const Storage &storage, int64_t elementBytes,
                        int64_t elements) {
  const Split &split = storage.split;
  if (split.axes.empty())
    return layout(name, storage.layout, elementBytes, elements);
  int64_t ranks = 1;
  for (int axis : split.axes)
    ranks *= info.mesh.size(axis);
  int64_t room = split.part * (split.packed ? 1 : ranks);
  if (split.part < 1 || split.part % elementBytes != 0 || split.offset < 0 ||
      split.offset + room > info.arenaBytes)
    return failure("a part of {} bytes of '{}' lies outside of the arena of {} bytes", split.part,
                   name, info.arenaBytes);
  Layout inBucket = storage.layout;
  int64_t last = inBucket.offset - split.offset +
                 elementBytes * ((inBucket.rows - 1) * inBucket.stride + inBucket.cols);
  if (inBucket.offset < split.offset || last > split.part * ranks)
    return failure("'{}' lies outside of its bucket of {} bytes", name, split.part * ranks);
  inBucket.offset = 0;
  return inBucket.rows * inBucket.cols == elements && inBucket.stride >= inBucket.cols
             ? Status::ok()
             : failure("'{}' has {} elements, its layout is {} x {}, stride {}", name, elements,
                       inBucket.rows, inBucket.cols, inBucket.stride);
}

static int64_t localElements(const TensorInfo &tensor, const Mesh &mesh) {
  Piece piece = pieceOf(tensor, mesh, 0);
  int64_t elements = 1;
  for (int d = 0; d < piece.rank; ++d)
    elements *= piece.local[d];
  return elements;
}

Status Checker::weight(const WeightInfo &weight) {
  const std::string &name = weight.tensor.name;
  int64_t elements = localElements(weight.tensor, info.mesh);
  if (weight.tensor.element != Element::F32)
    return failure("weight '{}' isn't f32", name);
  PTLRT_TRY(storage(name, weight.storage(), 4, elements));
  if (const std::optional<TensorInfo> &gradient = weight.gradient) {
    if (gradient->element != Element::F32 && gradient->element != Element::BF16)
      return failure("the gradient of '{}' is neither f32 nor bf16", name);
    PTLRT_TRY(storage(name + " (gradient)", gradient->storage(), elementSize(gradient->element),
                      elements));
  }
  for (const StateInfo &state : weight.states)
    PTLRT_TRY(storage(name + "#" + state.name, state.storage, 4, elements));
  return Status::ok();
}

Status Checker::fields(const DataSpec &data, int64_t microbatches) {
  for (const FieldSpec &field : data.fields) {
    const TensorInfo &tensor = field.tensor;
    if (tensor.shape.empty() || tensor.shape[0] != info.batch)
      return failure("the first dimension of field '{}' isn't the batch of {}", tensor.name,
                     info.batch);
    TensorInfo piece = tensor;
    piece.shape[0] = ceilDivide(tensor.shape[0], microbatches);
    PTLRT_TRY(layout(tensor.name, tensor.layout, elementSize(tensor.element),
                     microbatches * localElements(piece, info.mesh)));
  }
  return Status::ok();
}

Status Checker::scalar(const char *name, int64_t offset) {
  return layout(name, Layout{offset, 1, 1, 1}, 4, 1);
}

Status Checker::outputs(const OutputInfo &outputs) {
  PTLRT_TRY(scalar("loss", outputs.loss));
  if (outputs.gradNorm >= 0)
    PTLRT_TRY(scalar("grad_norm", outputs.gradNorm));
  for (const MetricInfo &metric : outputs.metrics)
    PTLRT_TRY(scalar(metric.name.c_str(), metric.offset));
  return Status::ok();
}

Status Checker::function(const char *what, int64_t index) {
  if (index < 0 || static_cast<uint64_t>(index) >= program.function_count)
    return failure("{} calls function {} of {}", what, index, program.function_count);
  return Status::ok();
}

static bool isPermutation(const std::vector<int> &list, int64_t count) {
  std::vector<bool> seen(count, false);
  for (int place : list) {
    if (place < 0 || place >= count || seen[place])
      return false;
    seen[place] = true;
  }
  return static_cast<int64_t>(list.size()) == count;
}

Status Checker::collective(const Collective &collective) {
  int64_t members = 1;
  std::vector<int64_t> sizes;
  for (int axis : collective.axes) {
    sizes.push_back(info.mesh.size(axis));
    members *= sizes.back();
  }
  if (collective.root < 0 || collective.root >= members)
    return failure("a broadcast has root {} of {}", collective.root, members);
  if (collective.kind == CollectiveKind::Permute && !isPermutation(collective.sources, members))
    return failure("the sources of {} aren't its {} members, each once",
                   collective.describe(info.mesh), members);
  for (const CommSegment &segment : collective.segments)
    PTLRT_TRY(this->segment(collective, segment, sizes));
  return Status::ok();
}

/// No dimension is empty; layouts must hold as many elements as the whole or a piece of it has.
Status Checker::segment(const Collective &collective, const CommSegment &segment,
                        std::span<const int64_t> sizes) {
  std::string name = collective.describe(info.mesh);
  if (std::min({segment.outer, segment.length, segment.middle, segment.other, segment.inner}) < 1)
    return failure("a segment of {} is {} x {} x {} x {} x {}", name, segment.outer, segment.length,
                   segment.middle, segment.other, segment.inner);
  int64_t size = elementSize(collective.element), whole = segment.whole();
  auto cut = [&](int64_t length) { return whole / length * pieceLength(length, sizes); };
  int64_t in = whole, out = whole;
  switch (collective.kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::Broadcast:
    return layout(name, segment.in, size, segment.in.rows * segment.in.cols);
  case CollectiveKind::Permute:
    in = out = segment.in.rows * segment.in.cols;
    break;
  case CollectiveKind::AllGather:
    in = cut(segment.length);
    break;
  case CollectiveKind::ReduceScatter:
    out = cut(segment.length);
    break;
  case CollectiveKind::Message:
    break;
  case CollectiveKind::AllToAll:
    in = cut(segment.joinsSecond ? segment.other : segment.length);
    out = cut(segment.joinsSecond ? segment.length : segment.other);
    break;
  }
  // The place of the last member of a group.
  int64_t members = 1;
  for (int64_t axis : sizes)
    members *= axis;
  int64_t step = segment.step * (members - 1);
  Layout first = segment.in, second = segment.out;
  (collective.kind == CollectiveKind::AllGather ? first : second).offset += step;
  PTLRT_TRY(layout(name, first, size, in));
  return layout(name, second, size, out);
}

Status Checker::table() {
  if (!program.table && program.table_size > 0)
    return failure("the table is missing");
  for (uint64_t i = 0; i < program.table_size; ++i) {
    PTLRT_TRY(function("the table", program.table[i].function));
    if (program.table[i].micro < 0 || program.table[i].micro >= info.microbatches)
      return failure("the table names micro-batch {} of {}", program.table[i].micro,
                     info.microbatches);
  }
  return Status::ok();
}

Status Checker::sizes() {
  for (const MeshAxis &axis : info.mesh.axes())
    if (axis.size < 1)
      return failure("axis '{}' has size {}", axis.name, axis.size);
  if (info.mesh.axes().size() > PTLRT_MAX_AXES)
    return failure("the mesh has {} axes, at most {} are supported", info.mesh.axes().size(),
                   PTLRT_MAX_AXES);
  if (info.batch < 1 || info.microbatches < 1 || info.steps < 0 || info.arenaBytes < 0)
    return failure("batch {}, microbatches {}, steps {}, arena {}", info.batch, info.microbatches,
                   info.steps, info.arenaBytes);
  return Status::ok();
}

Status Checker::check() {
  PTLRT_TRY(sizes());
  for (const WeightInfo &each : info.weights)
    PTLRT_TRY(weight(each));
  PTLRT_TRY(fields(info.data, info.microbatches));
  PTLRT_TRY(outputs(info.outputs));
  for (const HyperInfo &hyper : info.hypers)
    PTLRT_TRY(scalar(hyper.name.c_str(), hyper.offset));
  for (const EvalInfo &eval : info.evals) {
    PTLRT_TRY(function("the evaluation", eval.function));
    if (eval.end)
      PTLRT_TRY(function("the end of the evaluation", *eval.end));
    PTLRT_TRY(fields(eval.data, 1));
    PTLRT_TRY(outputs(eval.outputs));
  }
  for (const InitInfo &init : info.inits)
    for (size_t index : init.weights)
      if (index >= info.weights.size())
        return failure("'init' names weight {} of {}", index, info.weights.size());
  for (const Collective &each : info.collectives)
    PTLRT_TRY(collective(each));
  if (info.sample) {
    PTLRT_TRY(function("sampling", info.sample->function));
    for (const std::optional<TensorInfo> *tensor : {&info.sample->field, &info.sample->logits})
      if (const TensorInfo *given = *tensor ? &**tensor : nullptr)
        PTLRT_TRY(layout(given->name, given->layout, elementSize(given->element),
                         localElements(*given, info.mesh)));
  }
  return table();
}

Status checkProgram(const ProgramInfo &info, const ptlrt_program_t &program) {
  return Checker(info, program).check();
}

} // namespace ptlrt
