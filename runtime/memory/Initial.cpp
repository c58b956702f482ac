//===- Initial.cpp - Initial values of weights ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Values are computed in f64 and rounded once.
//===----------------------------------------------------------------------===//
#include "runtime/memory/Initial.h"

#include "runtime/memory/Philox.h"

namespace ptlrt {

Expected<Initial> parseInitial(const std::string &kind, const std::vector<double> &args) {
  struct Form {
    const char *name;
    InitialKind kind;
    size_t args;
  };
  static constexpr Form kForms[] = {{"zeros", InitialKind::Zeros, 0},
                                    {"ones", InitialKind::Ones, 0},
                                    {"constant", InitialKind::Constant, 1},
                                    {"normal", InitialKind::Normal, 1},
                                    {"trunc_normal", InitialKind::TruncNormal, 1},
                                    {"uniform", InitialKind::Uniform, 2}};
  for (const Form &form : kForms) {
    if (kind != form.name)
      continue;
    if (args.size() < form.args)
      return failure("initial value '{}' takes {} arguments, has {}", kind, form.args, args.size());
    return Initial{form.kind, form.args < 1 ? 0 : args[0], form.args < 2 ? 0 : args[1]};
  }
  return failure("unknown initial value '{}'", kind);
}

static double valueAt(const Initial &initial, const RandomStream &stream, uint64_t index) {
  switch (initial.kind) {
  case InitialKind::Zeros:
    return 0;
  case InitialKind::Ones:
    return 1;
  case InitialKind::Constant:
    return initial.first;
  case InitialKind::Normal:
    return initial.first * stream.normal(index, 0);
  case InitialKind::TruncNormal:
    return initial.first * stream.truncatedNormal(index);
  case InitialKind::Uniform:
    return initial.first + (initial.second - initial.first) * stream.uniform(index, 0);
  }
  return 0;
}

void initialValues(const Initial &initial, uint64_t seed, const std::string &path, int64_t begin,
                   int64_t count, float *to) {
  RandomStream stream(seed, path);
  for (int64_t i = 0; i < count;) {
    int64_t index = begin + i;
    if (initial.kind == InitialKind::Normal && index % 4 == 0 && i + 4 <= count) {
      // Four at a time: most of a model's weights are normal, and there are many.
      for (double value : stream.normals(index / 4, 0))
        to[i++] = static_cast<float>(initial.first * value);
      continue;
    }
    to[i++] = static_cast<float>(valueAt(initial, stream, index));
  }
}

} // namespace ptlrt
