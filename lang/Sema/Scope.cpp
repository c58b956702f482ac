//===- Scope.cpp - Files, parts and the names in them ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Look-up by name at each of the three levels.
//===----------------------------------------------------------------------===//
#include "lang/Sema/Scope.h"

namespace ptlc::sema {

Symbol &Scope::add(Symbol symbol) {
  list.push_back(std::move(symbol));
  index.try_emplace(list.back().name, &list.back());
  return list.back();
}

Symbol *Scope::find(llvm::StringRef name) const { return index.lookup(name); }

void Scope::collect(llvm::SmallVectorImpl<llvm::StringRef> &names) const {
  for (const Symbol &symbol : list)
    names.push_back(symbol.name);
}

std::string FileScope::qualify(llvm::StringRef member) const {
  return isMain ? member.str() : name + "." + member.str();
}

Local *Frame::findLocal(llvm::StringRef name) {
  for (auto it = locals.rbegin(); it != locals.rend(); ++it)
    if (it->name == name)
      return &*it;
  return nullptr;
}

} // namespace ptlc::sema
