//===- Emitter.h - State while a row kernel becomes threads ---------------===//
// SPDX-License-Identifier: Apache-2.0
//
// All threads of a block run the same straight-line code, or loops with equal
// trip counts, so that barriers and shuffles always meet. A thread without an
// element of its own takes the last one: its loads are legal, its share of folds
// is replaced by what changes nothing, and only its stores are skipped.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CONVERSION_KERNELTOGPU_EMITTER_H
#define PTLC_COMPILER_CONVERSION_KERNELTOGPU_EMITTER_H

#include "compiler/Conversion/KernelScalars/Evaluator.h"
#include "compiler/Conversion/KernelToGpu/Mapping.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace ptlc::kernel {

/// A sum over rows, of which a thread holds `values` while it walks over rows.
struct RowSum {
  const Node *node;
  unsigned output, loop;
  DimList inner;             ///< dimensions within a row that are left, in the output's order
  bool whole;                ///< a team has the whole sum; else parts go to the workspace
  int64_t place = 0;         ///< bytes from the workspace's start
  int64_t stride = 0;        ///< elements between two parts
  unsigned first = 0, count; ///< of the values that travel through the loop over rows
};

/// Sums over rows of a kernel and the bytes of their parts.
std::vector<RowSum> planRowSums(const Graph &graph, const RowPlan &plan, const Mapping &mapping,
                                int64_t &workspace);

/// Emits the kernel that adds the parts.
void emitSumOfParts(mlir::gpu::GPUModuleOp module, llvm::StringRef name, const Graph &graph,
                    const RowPlan &plan, const Binding &binding, const Mapping &mapping,
                    llvm::ArrayRef<RowSum> sums, int64_t workspace, mlir::Location loc);

/// Creates a kernel with the parameters of KernelToGpu.h.
mlir::gpu::GPUFuncOp createFunction(mlir::gpu::GPUModuleOp module, llvm::StringRef name,
                                    const Graph &graph, const Binding &binding, int64_t workspace,
                                    unsigned block, int64_t grid, mlir::Location loc);

class GpuEmitter : public Evaluator {
public:
  GpuEmitter(mlir::ImplicitLocOpBuilder &b, const Graph &graph, const RowPlan &plan,
             const Binding &binding, const Mapping &mapping, llvm::ArrayRef<RowSum> sums)
      : Evaluator(b, graph), plan(plan), binding(binding), mapping(mapping), sums(sums) {}

  /// Fills the kernel.
  void emit(mlir::gpu::GPUFuncOp function);
  /// Fills the kernel that adds the parts of sums over rows.
  void emitParts(mlir::gpu::GPUFuncOp function);

private:
  using Values = llvm::SmallVector<mlir::Value>;
  /// Neighbouring elements of a loop: `at` is the first of `lanes`. Null `active`: all threads.
  struct Chunk {
    Indices at;
    unsigned lanes = 1;
    mlir::Value active;
  };

  // The kernel and its rows (Emitter.cpp).
  void setUp(mlir::gpu::GPUFuncOp function);
  void findKept();
  void emitRow(mlir::Value iteration);
  void emitOwnedRow();
  void emitLoops();
  void guarded(mlir::Value condition, llvm::function_ref<void()> body);
  void countTo(int64_t end, Values &carried, llvm::function_ref<void(mlir::Value)> body);
  void finishSums();

  // Loops over a row (Loops.cpp).
  void emitLoop(unsigned number);
  void emitOnce(const Loop &loop);
  void emitChunk(const Loop &loop, const Chunk &chunk, unsigned place, unsigned lanes,
                 Values &folds);
  void writeChunk(const Loop &loop, const Chunk &chunk, llvm::ArrayRef<Values> values);
  bool mustOrderLoops() const;
  void emitAccumulate(const Action &action);
  void finishFolds(const Loop &loop, unsigned lanes, Values &folds);
  void forEachChunk(llvm::ArrayRef<DimId> dims, unsigned lanes, bool unrolled, Values &carried,
                    llvm::function_ref<void(const Chunk &, unsigned)> body);
  void prepareChunks();
  Chunk unitChunk(llvm::ArrayRef<DimId> dims, int64_t origin, int64_t begin, int64_t end,
                  unsigned lanes);
  Chunk chunkAt(llvm::ArrayRef<DimId> dims, mlir::Value first, unsigned lanes, mlir::Value active);
  Indices laneOf(const Chunk &chunk, unsigned lane) const;
  bool isFold(const Action &action) const;
  void startScatter(const Loop &loop, const Action &action);

  // Memory (Memory.cpp).
  mlir::Value loadArgument(const Node *node, const Indices &at) override;
  mlir::Value materialised(const Node *node, const Indices &at) override;
  mlir::Value mapped(const Node *node, mlir::ValueRange operands) override;
  mlir::Value address(mlir::Value base, Elem elem, mlir::Value elements);
  mlir::Value load(mlir::Value base, Elem elem, mlir::Value elements);
  void store(mlir::Value value, mlir::Value base, Elem elem, mlir::Value elements);
  Values loadVector(mlir::Value base, Elem elem, mlir::Value elements);
  void storeVector(mlir::ValueRange values, mlir::Value base, Elem elem, mlir::Value elements);
  /// Reads or writes `lanes` elements of a tensor from `chunk` on, as a vector where it may be one.
  Values loadLanes(mlir::Value base, Elem elem, llvm::ArrayRef<DimId> dims, const Strides &strides,
                   const Chunk &chunk);
  void storeLanes(mlir::ValueRange values, mlir::Value base, Elem elem, llvm::ArrayRef<DimId> dims,
                  const Strides &strides, const Chunk &chunk);
  std::optional<DimId> vectorDim(mlir::Value base, Elem elem, llvm::ArrayRef<DimId> dims,
                                 const Strides &strides, const Indices &at) const;
  mlir::Value scratchIndex(llvm::ArrayRef<DimId> dims, const Indices &at);
  mlir::Value outputBase(unsigned output) { return slots[binding.outputSlots[output]]; }

  // Sums over rows (RowSums.cpp).
  RowSum *sumOf(const Action &action);
  void addToSum(RowSum &sum, const Chunk &chunk, unsigned place, mlir::ValueRange values);
  void addInMemory(RowSum &sum, const Chunk &chunk, mlir::ValueRange values);
  void addScalar(RowSum &sum, mlir::Value value);
  void storeSum(RowSum &sum);
  void storeScalarSum(RowSum &sum);
  void addParts(const RowSum &sum, int64_t origin, int64_t count, unsigned lanes);
  mlir::Value sumBase(const RowSum &sum);

  // Teams (Team.cpp).
  void reduceOverTeam(llvm::ArrayRef<const Node *> nodes, Values &values, unsigned width);
  mlir::Value shuffle(mlir::Value value, unsigned distance);
  mlir::Value sharedMemory(mlir::Type type, int64_t elements);
  void synchronise();
  mlir::Value toWord(mlir::Value value, Elem elem);
  mlir::Value fromWord(mlir::Value word, Elem elem);

  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value isFirstLane();

  const RowPlan &plan;
  const Binding &binding;
  const Mapping &mapping;
  std::vector<RowSum> sums;
  mlir::gpu::GPUFuncOp function;
  Values arguments;
  mlir::ValueRange slots; ///< buffers
  mlir::Value workspace, accumulateFlag;
  mlir::Value thread, block, team, lane; ///< i64; `team` counts over the grid
  mlir::Value iteration;
  Indices keptIndices;    ///< of the rows that this team sums
  mlir::Value keptActive; ///< i1, whether there are such rows; null: always
  Values held;            ///< values of sums over rows
  std::vector<std::pair<std::pair<DimList, unsigned>, std::vector<Chunk>>> chunks; ///< unrolled
  /// Where loads are remembered: the innermost region, so that a row stays in registers.
  unsigned region = 0;
  Indices rowIndices;
  llvm::DenseMap<const Node *, mlir::Value> rowValues;   ///< finished folds of this row
  llvm::DenseMap<const Node *, mlir::Value> scratchBase; ///< in shared memory
  mlir::Value rowActive; ///< i1, whether this row's results count; null: always
  /// Where a row is added (i64), and i1, whether by this team.
  llvm::DenseMap<const Node *, mlir::Value> scatterIds, scatterActive;
  unsigned reductions = 0;
  mlir::Value reductionMemory;
};

} // namespace ptlc::kernel

#endif // PTLC_COMPILER_CONVERSION_KERNELTOGPU_EMITTER_H
