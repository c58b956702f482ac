//===- Versions.h - The forms in which a value exists on a rank -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// The partitioner keeps every sharding in which a global value has been produced
// or moved, so that nothing is moved twice. Versions made inside a region are
// forgotten when it ends: they don't dominate what follows.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_TRANSFORMS_SHARD_VERSIONS_H
#define PTLC_COMPILER_TRANSFORMS_SHARD_VERSIONS_H

#include "compiler/Analysis/Sharding/Mesh.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace ptlc::shard {

struct Version {
  sharding::Sharding sharding;
  mlir::Value local;
};

/// Why a value is pending, if it is.
struct Cause {
  mlir::Location loc; ///< of what made it so
  std::string reason;
  std::string insteadOf; ///< what else was weighed then
};

/// What the partitioner knows of one global value.
struct Versions {
  llvm::SmallVector<Version, 2> list;
  sharding::Sharding main; ///< as it was produced
  int uses = 0;            ///< that are still to come
  Cause cause;
  bool isWeight = false;
  sharding::Sharding stored; ///< of a weight: as directives cut it

  explicit Versions(mlir::Location loc) : cause{loc, "", ""} {}
  mlir::Value find(const sharding::Sharding &sharding) const {
    for (const Version &version : list)
      if (version.sharding == sharding)
        return version.local;
    return {};
  }
};

} // namespace ptlc::shard

#endif // PTLC_COMPILER_TRANSFORMS_SHARD_VERSIONS_H
