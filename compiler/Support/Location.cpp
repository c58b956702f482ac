//===- Location.cpp - Places in .ptl files --------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Support/Location.h"

using namespace mlir;

static bool isLibrary(FileLineColLoc place) {
  return place.getFilename().getValue().starts_with("std/");
}

FileLineColLoc ptlc::userPlace(Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return place;
  if (auto name = dyn_cast<NameLoc>(location))
    return userPlace(name.getChildLoc());
  if (auto call = dyn_cast<CallSiteLoc>(location)) {
    FileLineColLoc inner = userPlace(call.getCallee());
    return inner && !isLibrary(inner) ? inner : userPlace(call.getCaller());
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location child : fused.getLocations())
      if (FileLineColLoc place = userPlace(child))
        return place;
  return {};
}

std::string ptlc::lineOf(Location location) {
  FileLineColLoc place = userPlace(location);
  if (!place)
    return "";
  return place.getFilename().str() + ":" + std::to_string(place.getLine()) + ":" +
         std::to_string(place.getColumn());
}

llvm::StringRef ptlc::partOf(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().getValue();
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return partOf(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location child : fused.getLocations())
      if (llvm::StringRef part = partOf(child); !part.empty())
        return part;
  return "";
}
