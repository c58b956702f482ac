//===- Composites.cpp - Softmax, norms, cross entropy, rope ---------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "test/lib/ptl-run/Composites.h"

#include "llvm/ADT/Twine.h"
#include <cmath>

namespace ptlc::run {

namespace {
/// The dimension that an operation runs along, and the rest of its tensor.
struct Along {
  Type rest;
  int64_t size = 0, stride = 0;
};
} // namespace

static llvm::Expected<Along> along(const Type &type, Name over) {
  int64_t place = type.find(over);
  if (place < 0)
    return makeError(type.str() + " has no '" + over + "'");
  Along result{type, type.sizes[place], type.strides()[place]};
  result.rest.names.erase(result.rest.names.begin() + place);
  result.rest.sizes.erase(result.rest.sizes.begin() + place);
  return result;
}

/// The maximum of `size` elements, NaN if one is.
static double largest(const double *x, int64_t size, int64_t stride) {
  double best = -INFINITY;
  for (int64_t i = 0; i < size; ++i) {
    if (std::isnan(x[i * stride]))
      return poison();
    best = std::fmax(best, x[i * stride]);
  }
  return best;
}

static double logSumExp(const double *x, int64_t size, int64_t stride) {
  double top = largest(x, size, stride), sum = 0;
  if (std::isinf(top))
    return top;
  for (int64_t i = 0; i < size; ++i)
    sum += std::exp(x[i * stride] - top);
  return top + std::log(sum);
}

static llvm::Expected<Tensor> softmaxOrLog(const Tensor &x, Name over, bool logarithm) {
  llvm::Expected<Along> a = along(x.type(), over);
  if (!a)
    return a.takeError();
  Tensor result(x.type());
  double *out = result.mutableData();
  walk<1>(a->rest.sizes, {x.type().stridesAlong(a->rest.names)},
          [&](const std::array<int64_t, 1> &offset) {
            double lse = logSumExp(x.data() + offset[0], a->size, a->stride);
            for (int64_t i = 0; i < a->size; ++i) {
              double value = x[offset[0] + i * a->stride] - lse;
              out[offset[0] + i * a->stride] = logarithm ? value : std::exp(value);
            }
          });
  return result;
}

llvm::Expected<Tensor> softmax(const Tensor &x, Name over) { return softmaxOrLog(x, over, false); }
llvm::Expected<Tensor> logSoftmax(const Tensor &x, Name over) {
  return softmaxOrLog(x, over, true);
}

/// dx = y (dy - sum y dy), or dx = dy - exp(y) sum dy for the logarithm.
static llvm::Expected<Tensor> softmaxOrLogGrad(const Tensor &y, const Tensor &dy, Name over,
                                               bool logarithm) {
  llvm::Expected<Along> a = along(y.type(), over);
  if (!a)
    return a.takeError();
  if (dy.type().names != y.type().names)
    return makeError("y and dy differ in layout");
  Tensor result(y.type());
  double *out = result.mutableData();
  walk<1>(a->rest.sizes, {y.type().stridesAlong(a->rest.names)},
          [&](const std::array<int64_t, 1> &offset) {
            double sum = 0;
            for (int64_t i = 0; i < a->size; ++i) {
              int64_t at = offset[0] + i * a->stride;
              sum += logarithm ? dy[at] : y[at] * dy[at];
            }
            for (int64_t i = 0; i < a->size; ++i) {
              int64_t at = offset[0] + i * a->stride;
              out[at] = logarithm ? dy[at] - std::exp(y[at]) * sum : y[at] * (dy[at] - sum);
            }
          });
  return result;
}

llvm::Expected<Tensor> softmaxGrad(const Tensor &y, const Tensor &dy, Name over) {
  return softmaxOrLogGrad(y, dy, over, false);
}
llvm::Expected<Tensor> logSoftmaxGrad(const Tensor &y, const Tensor &dy, Name over) {
  return softmaxOrLogGrad(y, dy, over, true);
}

static llvm::Expected<Normalised> normalise(const Tensor &x, Name over, double eps, const Type &row,
                                            bool centred) {
  llvm::Expected<Along> a = along(x.type(), over);
  if (!a)
    return a.takeError();
  Normalised result{Tensor(x.type()), Tensor(row), Tensor(row)};
  double *y = result.y.mutableData(), *means = result.mean.mutableData(),
         *rstds = result.rstd.mutableData();
  walk<2>(a->rest.sizes, {x.type().stridesAlong(a->rest.names), row.stridesAlong(a->rest.names)},
          [&](const std::array<int64_t, 2> &offset) {
            double mean = 0, variance = 0;
            for (int64_t i = 0; centred && i < a->size; ++i)
              mean += x[offset[0] + i * a->stride] / a->size;
            for (int64_t i = 0; i < a->size; ++i) {
              double distance = x[offset[0] + i * a->stride] - mean;
              variance += distance * distance / a->size;
            }
            double rstd = 1 / std::sqrt(variance + eps);
            means[offset[1]] = mean;
            rstds[offset[1]] = rstd;
            for (int64_t i = 0; i < a->size; ++i) {
              int64_t at = offset[0] + i * a->stride;
              y[at] = (x[at] - mean) * rstd;
            }
          });
  return result;
}

llvm::Expected<Normalised> layerNorm(const Tensor &x, Name over, double eps, const Type &row) {
  return normalise(x, over, eps, row, true);
}
llvm::Expected<Normalised> rmsNorm(const Tensor &x, Name over, double eps, const Type &row) {
  return normalise(x, over, eps, row, false);
}

/// dx = rstd (dy - mean dy - xhat mean(dy xhat)), without the first mean for the RMS norm.
llvm::Expected<Tensor> normGrad(const Tensor &dy, const Tensor &x,
                                const std::optional<Tensor> &mean, const Tensor &rstd, Name over) {
  llvm::Expected<Along> a = along(x.type(), over);
  if (!a)
    return a.takeError();
  Tensor result(x.type());
  double *dx = result.mutableData();
  Sizes dyStrides = dy.type().stridesAlong(a->rest.names);
  int64_t dyStride = dy.type().strides()[dy.type().find(over)];
  const Tensor &means = mean ? *mean : rstd;
  walk<4>(a->rest.sizes,
          {x.type().stridesAlong(a->rest.names), dyStrides,
           means.type().stridesAlong(a->rest.names), rstd.type().stridesAlong(a->rest.names)},
          [&](const std::array<int64_t, 4> &offset) {
            double centre = mean ? means[offset[2]] : 0, scale = rstd[offset[3]];
            double first = 0, second = 0;
            auto normal = [&](int64_t i) {
              return (x[offset[0] + i * a->stride] - centre) * scale;
            };
            for (int64_t i = 0; i < a->size; ++i) {
              double slope = dy[offset[1] + i * dyStride];
              first += mean ? slope / a->size : 0;
              second += slope * normal(i) / a->size;
            }
            for (int64_t i = 0; i < a->size; ++i)
              dx[offset[0] + i * a->stride] =
                  scale * (dy[offset[1] + i * dyStride] - first - normal(i) * second);
          });
  return result;
}

/// -1 if the target is ignored, -2 if it is junk; an error if it is no row of `over`.
static llvm::Expected<int64_t> checkedTarget(double target, Name over, int64_t size,
                                             std::optional<int64_t> ignore) {
  if (std::isnan(target))
    return -2;
  if (ignore && target == static_cast<double>(*ignore))
    return -1;
  if (target < 0 || target >= size)
    return makeError("target " + llvm::Twine(static_cast<int64_t>(target)) + " is outside '" +
                     over + "' of size " + llvm::Twine(size));
  return static_cast<int64_t>(target);
}

llvm::Expected<CrossEntropy> crossEntropy(const Tensor &logits, const Tensor &targets, Name over,
                                          std::optional<int64_t> ignore, const Type &row) {
  llvm::Expected<Along> a = along(logits.type(), over);
  if (!a)
    return a.takeError();
  CrossEntropy result{Tensor(row), Tensor(row)};
  double *loss = result.loss.mutableData(), *lse = result.lse.mutableData();
  llvm::Error error = llvm::Error::success();
  walk<3>(a->rest.sizes,
          {logits.type().stridesAlong(a->rest.names), targets.type().stridesAlong(a->rest.names),
           row.stridesAlong(a->rest.names)},
          [&](const std::array<int64_t, 3> &offset) {
            if (error)
              return;
            double sum = logSumExp(logits.data() + offset[0], a->size, a->stride);
            lse[offset[2]] = sum;
            auto target = checkedTarget(targets[offset[1]], over, a->size, ignore);
            if (!target)
              error = target.takeError();
            else if (*target == -2)
              loss[offset[2]] = poison();
            else if (*target >= 0)
              loss[offset[2]] = sum - logits[offset[0] + *target * a->stride];
          });
  if (error)
    return std::move(error);
  return result;
}

llvm::Expected<Tensor> crossEntropyGrad(const Tensor &dloss, const Tensor &logits,
                                        const Tensor &targets, const Tensor &lse, Name over,
                                        std::optional<int64_t> ignore) {
  llvm::Expected<Along> a = along(logits.type(), over);
  if (!a)
    return a.takeError();
  Tensor result(logits.type());
  double *out = result.mutableData();
  llvm::Error error = llvm::Error::success();
  walk<4>(a->rest.sizes,
          {logits.type().stridesAlong(a->rest.names), targets.type().stridesAlong(a->rest.names),
           dloss.type().stridesAlong(a->rest.names), lse.type().stridesAlong(a->rest.names)},
          [&](const std::array<int64_t, 4> &offset) {
            if (error)
              return;
            auto target = checkedTarget(targets[offset[1]], over, a->size, ignore);
            if (!target) {
              error = target.takeError();
              return;
            }
            for (int64_t i = 0; i < a->size; ++i) {
              int64_t at = offset[0] + i * a->stride;
              double p = std::exp(logits[at] - lse[offset[3]]);
              out[at] = *target == -1   ? 0
                        : *target == -2 ? poison()
                                        : dloss[offset[2]] * (p - (i == *target));
            }
          });
  if (error)
    return std::move(error);
  return result;
}

llvm::Expected<Tensor> rope(const Tensor &x, Name over, Name along, double theta, bool inverse,
                            llvm::ArrayRef<Window> windows) {
  int64_t depth = x.type().find(over), position = x.type().find(along);
  if (depth < 0 || position < 0 || depth == position || x.type().sizes[depth] % 2)
    return makeError("rope needs '" + over + "' of even size and '" + along + "' in " +
                     x.type().str());
  Window window = windowOf(along, x.type().sizes[position], windows);
  int64_t size = x.type().sizes[depth], stride = x.type().strides()[depth];
  int64_t steps = x.type().sizes[position], step = x.type().strides()[position];
  Tensor result(x.type());
  double *out = result.mutableData();
  for (int64_t at = 0; at < x.count(); ++at) {
    int64_t i = at / stride % size;
    if (i >= size / 2)
      continue;
    int64_t other = at + size / 2 * stride;
    double place = static_cast<double>(window.start + at / step % steps);
    double angle = place * std::pow(theta, -2.0 * i / size) * (inverse ? -1 : 1);
    out[at] = x[at] * std::cos(angle) - x[other] * std::sin(angle);
    out[other] = x[other] * std::cos(angle) + x[at] * std::sin(angle);
  }
  return result;
}

} // namespace ptlc::run
