//===- StageCode.h - Stage functions in LLVM IR ---------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// A stage function is straight-line but for loops over pieces: it calls kernels
// and the runtime with addresses in the arena. Descriptors of products and attention are constant
// data, since the runtime keeps plans by their address. A stage grows with the
// number of layers, and there is little to optimize in it: it is divided into
// parts of some calls, which LLVM leaves as they are, so that compiling it takes
// linear time.
//===----------------------------------------------------------------------===//
#ifndef PTLC_COMPILER_CODEGEN_CPU_STAGECODE_H
#define PTLC_COMPILER_CODEGEN_CPU_STAGECODE_H

#include "compiler/Codegen/CPU/Library.h"
#include "compiler/Codegen/RowKernels.h"
#include "compiler/Codegen/Schedule.h"
#include "dialects/Spmd/Spmd.h"
#include "llvm/IR/DIBuilder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"

namespace ptlc::cpu {

using codegen::KernelCall;
using codegen::RowKernels;

class StageCode {
public:
  StageCode(mlir::ModuleOp source, llvm::Module &target, RowKernels &kernels, const Places &places,
            const codegen::Schedule &schedule, bool debugInfo);

  /// Emits the function of one stage; null after an error.
  llvm::Function *emit(const codegen::StageFunction &stage, unsigned number);
  void finish() { debug.finalize(); }

private:
  /// Memory of the stack for what launches pass: one for all of a function, as large as the
  /// largest.
  struct ArgumentArea {
    llvm::AllocaInst *memory = nullptr;
    unsigned size = 0;
  };

  void begin(const llvm::Twine &name);
  void beginPart(mlir::Operation *op);
  void endPart();
  /// Begins the next part if this one is long. Values of the part are not used behind this.
  void makeRoom(mlir::Operation *op);
  mlir::LogicalResult emitOperation(mlir::Operation *op);
  void emitCollective(llvm::StringRef function, mlir::Operation *op);
  void findStarts(const codegen::StageFunction &stage);
  void emitStarts(mlir::Operation *op);
  mlir::LogicalResult emitKernel(rt::KernelOp kernel);
  mlir::LogicalResult emitGemm(rt::KernelOp kernel);
  mlir::LogicalResult emitAttention(rt::KernelOp kernel);
  mlir::LogicalResult emitNorm(ptl::GlobalNormOp op);
  mlir::LogicalResult emitSquareSum(spmd::SquareSumOp op);
  mlir::LogicalResult emitRoot(spmd::RootOp op);
  void addSquares(llvm::ArrayRef<Place> tensors, llvm::Value *begin, llvm::Value *end,
                  llvm::Value *shift, const Place &sum, bool add);
  llvm::Constant *segmentsOf(llvm::ArrayRef<Place> tensors);
  mlir::LogicalResult emitChunks(rt::ChunksOp chunks);
  /// `later` is 0 where the kernel's sums begin.
  void emitLaunch(const KernelCall &call, llvm::Value *later);
  llvm::Value *store(llvm::ArrayRef<llvm::Value *> values, ArgumentArea &area);
  void storeCounters(mlir::func::FuncOp function);

  llvm::Value *address(const Place &place);
  llvm::Value *scalar(const kernel::ScalarSource &source);
  llvm::Value *cutScalar(const kernel::ScalarSource &source);
  llvm::Value *placeInGroup(mlir::ArrayAttr axes);
  llvm::Value *fieldOfRank(unsigned offset, llvm::Type *type);
  llvm::Value *laterPieces(rt::KernelOp kernel);
  llvm::Constant *constant(llvm::Constant *value, llvm::StringRef name);
  llvm::Constant *numbers(llvm::ArrayRef<int64_t> values);
  llvm::FunctionCallee declare(llvm::StringRef name, llvm::ArrayRef<llvm::Type *> parameters);
  void setPlace(mlir::Operation *op);

  mlir::ModuleOp source;
  llvm::Module &module;
  RowKernels &kernels;
  const Places &places;
  const codegen::Schedule &schedule;
  llvm::IRBuilder<> b;
  llvm::DIBuilder debug;
  llvm::DICompileUnit *unit = nullptr;
  llvm::DISubprogram *subprogram = nullptr;
  llvm::Type *pointer, *i32, *i64;
  llvm::Function *function = nullptr;
  llvm::Value *rank = nullptr, *arena = nullptr, *micro = nullptr, *chunk = nullptr;
  std::string stageName;
  llvm::SmallVector<llvm::Function *> parts; ///< of the stage
  unsigned calls = 0;                        ///< in the part, about
  int onTheirWay = 0;                        ///< collectives that are started, not waited for
  /// Collectives that start behind an operation of the stage's last micro-batch.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Operation *>> startsBehind;
  ArgumentArea buffers, scalars;
};

} // namespace ptlc::cpu

#endif // PTLC_COMPILER_CODEGEN_CPU_STAGECODE_H
