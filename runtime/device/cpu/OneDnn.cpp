//===- OneDnn.cpp - Matrix products by oneDNN, if it is there -------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The library is opened when a product first asks for it, so that compiled
// programs need no link argument and run, with our own kernel, where it isn't
// installed. Matrices are described by their strides and used where they lie;
// nothing is repacked into the library's layouts, because weights change each step.
//
// The library's loops are OpenMP regions. Ranks and workers are our own threads
// and each call is to stay on one: the number of OpenMP threads is set to 1 for
// every thread that makes a product (it is a property of the calling thread).
//===----------------------------------------------------------------------===//
#include "runtime/device/cpu/OneDnn.h"

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#if DNNL_VERSION_MAJOR == 2
#define PTLRT_HAS_ONEDNN 1
#endif
#endif

#ifdef PTLRT_HAS_ONEDNN
#include <dlfcn.h>

namespace ptlrt::cpu {

/// The functions that are used, by their names in the C interface.
#define PTLRT_ONEDNN_FUNCTIONS(X)                                                                  \
  X(dnnl_version)                                                                                  \
  X(dnnl_engine_create)                                                                            \
  X(dnnl_engine_destroy)                                                                           \
  X(dnnl_stream_create)                                                                            \
  X(dnnl_stream_destroy)                                                                           \
  X(dnnl_stream_wait)                                                                              \
  X(dnnl_memory_desc_init_by_strides)                                                              \
  X(dnnl_memory_create)                                                                            \
  X(dnnl_memory_destroy)                                                                           \
  X(dnnl_memory_set_data_handle)                                                                   \
  X(dnnl_matmul_desc_init)                                                                         \
  X(dnnl_primitive_attr_create)                                                                    \
  X(dnnl_primitive_attr_destroy)                                                                   \
  X(dnnl_primitive_attr_set_post_ops)                                                              \
  X(dnnl_post_ops_create)                                                                          \
  X(dnnl_post_ops_destroy)                                                                         \
  X(dnnl_post_ops_append_sum)                                                                      \
  X(dnnl_primitive_desc_create)                                                                    \
  X(dnnl_primitive_desc_destroy)                                                                   \
  X(dnnl_primitive_create)                                                                         \
  X(dnnl_primitive_destroy)                                                                        \
  X(dnnl_primitive_execute)

class OneDnnLibrary {
public:
#define PTLRT_DECLARE(name) decltype(&::name) name = nullptr;
  PTLRT_ONEDNN_FUNCTIONS(PTLRT_DECLARE)
#undef PTLRT_DECLARE
  dnnl_engine_t engine = nullptr;

  OneDnnLibrary() {
    void *handle = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      return;
    bool complete = true;
#define PTLRT_LOAD(name)                                                                           \
  name = reinterpret_cast<decltype(name)>(dlsym(handle, #name));                                   \
  complete &= name != nullptr;
    PTLRT_ONEDNN_FUNCTIONS(PTLRT_LOAD)
#undef PTLRT_LOAD
    setThreads = reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
    if (!complete || !setThreads || dnnl_version()->major != 2 ||
        dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
      engine = nullptr;
  }
  ~OneDnnLibrary() {
    if (engine)
      dnnl_engine_destroy(engine);
  }

  /// Keeps the library's parallel regions on the calling thread.
  void claimThread() const { setThreads(1); }

private:
  void (*setThreads)(int) = nullptr;
};

const OneDnnLibrary *oneDnn() {
  static const OneDnnLibrary library;
  return library.engine ? &library : nullptr;
}

std::string describeOneDnn() {
  const OneDnnLibrary *library = oneDnn();
  if (!library)
    return "oneDNN not installed (libdnnl.so.2)";
  const dnnl_version_t *version = library->dnnl_version();
  return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

struct OneDnnProduct::Handles {
  const OneDnnLibrary &library;
  dnnl_stream_t stream = nullptr;
  dnnl_memory_t a = nullptr, b = nullptr, c = nullptr;
  dnnl_post_ops_t ops = nullptr;
  dnnl_primitive_attr_t attr = nullptr;
  dnnl_primitive_desc_t desc = nullptr;
  dnnl_primitive_t primitive = nullptr;

  explicit Handles(const OneDnnLibrary &library) : library(library) {}
  Handles(const Handles &) = delete;
  Handles &operator=(const Handles &) = delete;
  ~Handles() {
    if (primitive)
      library.dnnl_primitive_destroy(primitive);
    if (desc)
      library.dnnl_primitive_desc_destroy(desc);
    if (attr)
      library.dnnl_primitive_attr_destroy(attr);
    if (ops)
      library.dnnl_post_ops_destroy(ops);
    for (dnnl_memory_t memory : {a, b, c})
      if (memory)
        library.dnnl_memory_destroy(memory);
    if (stream)
      library.dnnl_stream_destroy(stream);
  }
};

/// Describes a row-major matrix, or one whose transpose is.
static dnnl_status_t describeMatrix(const OneDnnLibrary &library, dnnl_memory_desc_t &desc,
                                    int64_t rows, int64_t cols, int64_t ld, bool trans, bool bf16) {
  dnnl_dims_t sizes = {rows, cols}, strides = {trans ? 1 : ld, trans ? ld : 1};
  return library.dnnl_memory_desc_init_by_strides(&desc, 2, sizes, bf16 ? dnnl_bf16 : dnnl_f32,
                                                  strides);
}

static bool ok(dnnl_status_t status) { return status == dnnl_success; }

std::unique_ptr<OneDnnProduct> OneDnnProduct::create(const OneDnnLibrary &library,
                                                     const Product &shape, GemmTypes types) {
  bool halves = types != GemmTypes::F32, halfResult = types == GemmTypes::Bf16;
  library.claimThread();
  auto h = std::make_unique<Handles>(library);
  dnnl_memory_desc_t a, b, c;
  dnnl_matmul_desc_t matmul;
  bool good =
      ok(describeMatrix(library, a, shape.m, shape.k, shape.lda, shape.transA, halves)) &&
      ok(describeMatrix(library, b, shape.k, shape.n, shape.ldb, shape.transB, halves)) &&
      ok(describeMatrix(library, c, shape.m, shape.n, shape.ldc, false, halfResult)) &&
      ok(library.dnnl_matmul_desc_init(&matmul, &a, &b, nullptr, &c)) &&
      ok(library.dnnl_primitive_attr_create(&h->attr)) &&
      ok(library.dnnl_post_ops_create(&h->ops)) &&
      (!shape.accumulate || ok(library.dnnl_post_ops_append_sum(h->ops, 1.0f))) &&
      ok(library.dnnl_primitive_attr_set_post_ops(h->attr, h->ops)) &&
      ok(library.dnnl_primitive_desc_create(&h->desc, &matmul, h->attr, library.engine, nullptr)) &&
      ok(library.dnnl_primitive_create(&h->primitive, h->desc)) &&
      ok(library.dnnl_stream_create(&h->stream, library.engine, dnnl_stream_default_flags)) &&
      ok(library.dnnl_memory_create(&h->a, &a, library.engine, nullptr)) &&
      ok(library.dnnl_memory_create(&h->b, &b, library.engine, nullptr)) &&
      ok(library.dnnl_memory_create(&h->c, &c, library.engine, nullptr));
  if (!good)
    return nullptr;
  return std::unique_ptr<OneDnnProduct>(new OneDnnProduct(library, std::move(h)));
}

OneDnnProduct::OneDnnProduct(const OneDnnLibrary &library, std::unique_ptr<Handles> handles)
    : library(library), handles(std::move(handles)) {}

OneDnnProduct::~OneDnnProduct() = default;

bool OneDnnProduct::run(const void *a, const void *b, void *c) {
  Handles &h = *handles;
  const dnnl_exec_arg_t args[] = {
      {DNNL_ARG_SRC, h.a}, {DNNL_ARG_WEIGHTS, h.b}, {DNNL_ARG_DST, h.c}};
  return ok(library.dnnl_memory_set_data_handle(h.a, const_cast<void *>(a))) &&
         ok(library.dnnl_memory_set_data_handle(h.b, const_cast<void *>(b))) &&
         ok(library.dnnl_memory_set_data_handle(h.c, c)) &&
         ok(library.dnnl_primitive_execute(h.primitive, h.stream, 3, args)) &&
         ok(library.dnnl_stream_wait(h.stream));
}

} // namespace ptlrt::cpu

#else

namespace ptlrt::cpu {

class OneDnnLibrary {};
struct OneDnnProduct::Handles {};

const OneDnnLibrary *oneDnn() { return nullptr; }
std::string describeOneDnn() { return "built without oneDNN"; }
std::unique_ptr<OneDnnProduct> OneDnnProduct::create(const OneDnnLibrary &, const Product &,
                                                     GemmTypes) {
  return nullptr;
}
OneDnnProduct::~OneDnnProduct() = default;
bool OneDnnProduct::run(const void *, const void *, void *) { return false; }

} // namespace ptlrt::cpu

#endif
