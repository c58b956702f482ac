//===- SignatureAttributes.cpp - Attributes of many arguments -------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Support/SignatureAttributes.h"

using namespace mlir;
using namespace ptlc;

SignatureAttributes SignatureAttributes::ofArguments(FunctionOpInterface function) {
  SignatureAttributes attributes(function, /*arguments=*/true);
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    attributes.lists.emplace_back(function.getArgAttrDict(i));
  return attributes;
}

SignatureAttributes SignatureAttributes::ofResults(FunctionOpInterface function) {
  SignatureAttributes attributes(function, /*arguments=*/false);
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    attributes.lists.emplace_back(function.getResultAttrDict(i));
  return attributes;
}

void SignatureAttributes::commit() {
  SmallVector<DictionaryAttr> dictionaries;
  for (NamedAttrList &list : lists)
    dictionaries.push_back(list.getDictionary(function.getContext()));
  if (arguments)
    function.setAllArgAttrs(dictionaries);
  else
    function.setAllResultAttrs(dictionaries);
}
