//===- Buckets.cpp - How tensors lie in buckets ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Memory/Layouts.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::memory;

/// Elements whose squares are added as one piece by the runtime's norm.
static constexpr int64_t kBucketUnit = 256;

void Layouts::findBuckets(ModuleOp module) {
  spmd::MeshOp mesh = spmd::findMesh(module);
  module.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op)
        .Case<spmd::BucketReduceScatterOp, spmd::BucketSliceOp>([&](auto bucket) {
          layOutBucket(bucket.getPart().getType(), bucket.getInputs().getTypes(),
                       spmd::groupSize(mesh, bucket.getAxes()), bucket.getAxes());
        })
        .Case([&](spmd::BucketAllGatherOp bucket) {
          layOutBucket(bucket.getPart().getType(), bucket.getOutputs().getTypes(),
                       spmd::groupSize(mesh, bucket.getAxes()), bucket.getAxes());
        });
  });
}

/// No piece of the norm is divided: tensors and parts begin at multiples of it.
void Layouts::layOutBucket(Type part, TypeRange tensors, int64_t ranks, spmd::AxesAttr axes) {
  BucketLayout &bucket = buckets[cast<RankedTensorType>(part).getEncoding()];
  if (bucket.part)
    return;
  int64_t end = 0;
  for (Type tensor : tensors) {
    bucket.starts.push_back(end);
    bucket.tensors.push_back(of(tensor));
    end += llvm::alignTo(of(tensor).elements(), kBucketUnit);
  }
  bucket.part = llvm::alignTo(llvm::divideCeil(end, ranks), kBucketUnit);
  bucket.unpadded = cast<RankedTensorType>(part).getDimSize(0);
  bucket.ranks = ranks;
  bucket.axes = axes;
}

const BucketLayout *Layouts::bucketOf(Type part) const {
  auto found = buckets.find(cast<RankedTensorType>(part).getEncoding());
  return found == buckets.end() ? nullptr : &found->second;
}

void Layouts::resizeParts(ModuleOp module) const {
  if (buckets.empty())
    return;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> std::optional<Type> {
    const BucketLayout *bucket = type.getEncoding() ? bucketOf(type) : nullptr;
    if (!bucket)
      return std::nullopt;
    // A part, or all parts together (spmd.global_type).
    int64_t parts = type.getDimSize(0) == bucket->unpadded ? 1 : bucket->ranks;
    return RankedTensorType::get({bucket->part * parts}, type.getElementType(), type.getEncoding());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}
