//===- StageCode.cpp - Stage functions in LLVM IR -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/StageCode.h"

#include "compiler/Codegen/Collectives.h"
#include "compiler/Support/Location.h"
#include "dialects/Rt/InLast.h"
#include "dialects/Spmd/Spmd.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::cpu;

/// Some of what LLVM does is quadratic in the length of a block.
static constexpr unsigned kCallsPerPart = 64;

// Offsets of the fields of ptlrt_rank.
static constexpr unsigned kCoords = 8, kStep = 40, kSeed = 48, kValid = 56, kSlotsInUse = 72;

StageCode::StageCode(ModuleOp source, llvm::Module &target, RowKernels &kernels,
                     const Places &places, const codegen::Schedule &schedule, bool debugInfo)
    : source(source), module(target), kernels(kernels), places(places), schedule(schedule),
      b(target.getContext()), debug(target) {
  pointer = b.getPtrTy();
  i32 = b.getInt32Ty();
  i64 = b.getInt64Ty();
  if (!debugInfo)
    return;
  auto name = source->getAttrOfType<StringAttr>("ptl.source");
  llvm::StringRef path = name ? name.getValue() : "program.ptl";
  llvm::DIFile *file =
      debug.createFile(llvm::sys::path::filename(path), llvm::sys::path::parent_path(path));
  unit = debug.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C), file, "ptlc",
                                 true, "", 0, "", llvm::DICompileUnit::LineTablesOnly);
  if (!module.getModuleFlag("Debug Info Version"))
    module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
}

void StageCode::setPlace(Operation *op) {
  if (!subprogram)
    return;
  FileLineColLoc place = userPlace(op->getLoc());
  unsigned line = place ? place.getLine() : 0, column = place ? place.getColumn() : 0;
  b.SetCurrentDebugLocation(llvm::DILocation::get(module.getContext(), line, column, subprogram));
}

llvm::FunctionCallee StageCode::declare(llvm::StringRef name,
                                        llvm::ArrayRef<llvm::Type *> parameters) {
  return module.getOrInsertFunction(name,
                                    llvm::FunctionType::get(b.getVoidTy(), parameters, false));
}

llvm::Constant *StageCode::constant(llvm::Constant *value, llvm::StringRef name) {
  auto *global = new llvm::GlobalVariable(module, value->getType(), true,
                                          llvm::GlobalValue::PrivateLinkage, value, name);
  global->setAlignment(llvm::Align(8));
  return global;
}

llvm::Constant *StageCode::numbers(llvm::ArrayRef<int64_t> values) {
  llvm::SmallVector<uint64_t> copy(values.begin(), values.end());
  return llvm::ConstantDataArray::get(module.getContext(), copy);
}

llvm::Value *StageCode::address(const Place &place) {
  llvm::Value *offset = b.getInt64(place.offset);
  if (place.microStride)
    offset = b.CreateAdd(offset, b.CreateMul(micro, b.getInt64(place.microStride)));
  if (place.chunkStride)
    offset = b.CreateAdd(offset, b.CreateMul(chunk, b.getInt64(place.chunkStride)));
  if (place.pool >= 0) {
    llvm::Value *slot = fieldOfRank(kSlotsInUse + 8 * static_cast<unsigned>(place.pool), i64);
    offset = b.CreateAdd(offset, b.CreateMul(slot, b.getInt64(place.slotStride)));
  }
  if (place.part)
    offset = b.CreateAdd(offset, b.CreateMul(placeInGroup(place.axes), b.getInt64(place.part)));
  return b.CreateInBoundsGEP(b.getInt8Ty(), arena, offset);
}

/// The number of this rank in its group over `axes`, the first axis major.
llvm::Value *StageCode::placeInGroup(ArrayAttr axes) {
  spmd::MeshOp mesh = spmd::findMesh(source);
  llvm::Value *place = b.getInt64(0);
  for (auto name : axes.getAsRange<StringAttr>()) {
    unsigned number = 0;
    for (spmd::AxisAttr axis : mesh.getAxisRange()) {
      if (axis.getName() == name)
        place = b.CreateAdd(b.CreateMul(place, b.getInt64(axis.getSize())),
                            b.CreateSExt(fieldOfRank(kCoords + 4 * number, i32), i64));
      ++number;
    }
  }
  return place;
}

llvm::Value *StageCode::fieldOfRank(unsigned offset, llvm::Type *type) {
  return b.CreateLoad(type, b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), rank, offset));
}

/// A number that is 0 where the kernel's sums begin. In a loop over pieces that is the first piece,
/// of the first micro-batch if the loop's result is a sum over those, too.
llvm::Value *StageCode::laterPieces(rt::KernelOp kernel) {
  auto chunks = dyn_cast<rt::ChunksOp>(kernel->getParentOp());
  if (!chunks)
    return micro;
  auto outer = chunks->getAttrOfType<DenseBoolArrayAttr>("rt.accumulate");
  for (auto [number, value] :
       llvm::enumerate(chunks.getBody().front().getTerminator()->getOperands()))
    if (value.getDefiningOp() == kernel && outer && outer[number])
      return b.CreateAdd(chunk, micro);
  return chunk;
}

/// Start or valid length of this rank's part of a dimension, by nested ceil (see spmd.cut).
llvm::Value *StageCode::cutScalar(const kernel::ScalarSource &source) {
  auto cut = cast<spmd::CutAttr>(source.cut);
  spmd::MeshOp mesh = spmd::findMesh(this->source);
  int64_t block = cut.getGlobal();
  llvm::Value *start = b.getInt64(0), *valid = b.getInt64(block), *zero = b.getInt64(0);
  auto divide = [&](int64_t pieces, llvm::Value *number) {
    block = (block + pieces - 1) / pieces;
    llvm::Value *begin = b.CreateMul(number, b.getInt64(block));
    start = b.CreateAdd(start, begin);
    valid = b.CreateSub(valid, begin);
    valid = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, valid, zero);
    valid = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, valid, b.getInt64(block));
  };
  if (cut.getMicro() > 1)
    divide(cut.getMicro(), micro);
  for (StringAttr name : cut.getAxes()) {
    unsigned number = 0;
    for (spmd::AxisAttr axis : mesh.getAxisRange()) {
      if (axis.getName() == name)
        divide(axis.getSize(), b.CreateSExt(fieldOfRank(kCoords + 4 * number, i32), i64));
      ++number;
    }
  }
  if (cut.getChunks() > 1)
    divide(cut.getChunks(), chunk);
  return source.kind == kernel::ScalarSource::Kind::CutStart ? start : valid;
}

llvm::Value *StageCode::scalar(const kernel::ScalarSource &source) {
  switch (source.kind) {
  case kernel::ScalarSource::Kind::Seed:
    return fieldOfRank(kSeed, i64);
  case kernel::ScalarSource::Kind::Micro:
    return micro;
  case kernel::ScalarSource::Kind::CutStart:
  case kernel::ScalarSource::Kind::CutValid:
    return cutScalar(source);
  }
  return nullptr;
}

/// Writes the values of a launch to the stack; returns where they are.
llvm::Value *StageCode::store(llvm::ArrayRef<llvm::Value *> values, ArgumentArea &area) {
  if (values.empty())
    return llvm::ConstantPointerNull::get(b.getPtrTy());
  area.size = std::max<unsigned>(area.size, values.size());
  llvm::Type *type = area.memory->getAllocatedType();
  for (auto [i, value] : llvm::enumerate(values))
    b.CreateStore(value, b.CreateConstInBoundsGEP1_64(type, area.memory, i));
  return area.memory;
}

void StageCode::emitLaunch(const KernelCall &call, llvm::Value *later) {
  llvm::SmallVector<llvm::Value *> addresses, numbers;
  for (const Place &place : call.buffers)
    addresses.push_back(address(place));
  for (const kernel::ScalarSource &source : call.scalars)
    numbers.push_back(scalar(source));
  if (call.accumulates)
    numbers.push_back(later);
  llvm::FunctionCallee kernel = declare(call.name, {i64, i64, pointer, pointer});
  b.CreateCall(declare("ptlrt_launch", {pointer, pointer, i64, i64, pointer, pointer}),
               {rank, kernel.getCallee(), b.getInt64(call.rows), b.getInt64(call.grain),
                store(addresses, buffers), store(numbers, scalars)});
}

LogicalResult StageCode::emitGemm(rt::KernelOp kernel) {
  auto call = gemmCall(kernel, places);
  if (failed(call))
    return failure();
  const kernel::GemmPlan &plan = call->plan;
  constexpr unsigned kMax = kernel::GemmPlan::kMaxOuter;
  std::array<std::array<int64_t, kMax>, 4> loops{};
  loops[0].fill(1);
  for (auto [i, outer] : llvm::enumerate(plan.outer)) {
    loops[0][i] = outer.size;
    loops[1][i] = outer.strideA;
    loops[2][i] = outer.strideB;
    loops[3][i] = outer.strideC;
  }
  llvm::SmallVector<llvm::Constant *> fields;
  for (int64_t value : {plan.m, plan.n, plan.k, plan.lda, plan.ldb, plan.ldc})
    fields.push_back(b.getInt64(value));
  FileLineColLoc place = userPlace(kernel.getLoc());
  int32_t site = place ? place.getLine() : 0;
  for (int32_t value :
       {int32_t(plan.transA), int32_t(plan.transB), int32_t(plan.outer.size()), site})
    fields.push_back(b.getInt32(value));
  for (const auto &array : loops)
    fields.push_back(numbers(array));
  llvm::Constant *descriptor = constant(llvm::ConstantStruct::getAnon(fields), "gemm");
  llvm::Value *accumulate = b.getInt32(0);
  if (call->accumulates)
    accumulate = b.CreateZExt(b.CreateICmpSGT(laterPieces(kernel), b.getInt64(0)), i32);
  llvm::Value *a = address(call->a), *right = address(call->b), *c = address(call->c);
  if (call->halves)
    b.CreateCall(
        declare("ptlrt_gemm_bf16", {pointer, pointer, pointer, pointer, pointer, i32, i32}),
        {rank, descriptor, a, right, c, b.getInt32(call->wide), accumulate});
  else
    b.CreateCall(declare("ptlrt_gemm_f32", {pointer, pointer, pointer, pointer, pointer, i32}),
                 {rank, descriptor, a, right, c, accumulate});
  return success();
}

LogicalResult StageCode::emitAttention(rt::KernelOp kernel) {
  auto call = attentionCall(kernel, places);
  if (failed(call))
    return failure();
  constexpr unsigned kMax = AttentionCall::kMaxOuter;
  std::array<std::array<int64_t, kMax>, 7> loops{};
  loops[0].fill(1);
  for (auto [i, outer] : llvm::enumerate(call->outer)) {
    int64_t values[] = {outer.size, outer.q, outer.k, outer.v, outer.o, outer.lse, outer.mask};
    for (unsigned j = 0; j < 7; ++j)
      loops[j][i] = values[j];
  }
  llvm::SmallVector<llvm::Constant *> fields;
  for (int64_t value : {call->queries, call->keys, call->depth, call->valueDepth})
    fields.push_back(b.getInt64(value));
  fields.push_back(b.getInt32(call->outer.size()));
  fields.push_back(b.getInt32(call->causal));
  fields.push_back(b.getInt64(call->window));
  fields.push_back(llvm::ConstantFP::get(b.getFloatTy(), call->scale));
  fields.push_back(b.getInt32(call->mask ? 1 : 0));
  for (int64_t value : {int64_t(0), int64_t(0), call->keys})
    fields.push_back(b.getInt64(value));
  for (const auto &array : loops)
    fields.push_back(numbers(array));
  for (int64_t value :
       {call->qRow, call->kRow, call->vRow, call->oRow, call->lseRow, call->maskRow, call->maskCol})
    fields.push_back(b.getInt64(value));
  llvm::SmallVector<llvm::Value *> arguments = {
      rank, constant(llvm::ConstantStruct::getAnon(fields), "attention"), address(call->q),
      address(call->k), address(call->v)};
  arguments.push_back(call->mask ? address(*call->mask)
                                 : llvm::ConstantPointerNull::get(b.getPtrTy()));
  arguments.push_back(address(call->out));
  arguments.push_back(address(call->lse));
  if (call->backward)
    for (const Place &place : {call->dout, call->dq, call->dk, call->dv})
      arguments.push_back(address(place));
  llvm::SmallVector<llvm::Type *> types(arguments.size(), pointer);
  std::string name = call->backward ? "ptlrt_attention_backward" : "ptlrt_attention_forward";
  b.CreateCall(declare(call->halves ? name + "_bf16" : name, types), arguments);
  return success();
}

LogicalResult StageCode::emitKernel(rt::KernelOp kernel) {
  switch (kernel.getKind()) {
  case rt::KernelKind::Rows: {
    auto call = kernels.call(kernel);
    if (succeeded(call))
      emitLaunch(*call, laterPieces(kernel));
    return success(succeeded(call));
  }
  case rt::KernelKind::Flat: {
    auto flat = kernels.callFlat(kernel);
    if (failed(flat))
      return failure();
    for (const KernelCall &call : *flat) {
      makeRoom(kernel);
      emitLaunch(call, micro);
    }
    return success();
  }
  case rt::KernelKind::Matmul:
    return emitGemm(kernel);
  case rt::KernelKind::Attention:
    return emitAttention(kernel);
  case rt::KernelKind::Single:
    break;
  }
  return kernel.emitError("this kind of kernel isn't supported on CPUs");
}

/// A loop around the body's kernels.
LogicalResult StageCode::emitChunks(rt::ChunksOp chunks) {
  llvm::BasicBlock *before = b.GetInsertBlock(),
                   *body = llvm::BasicBlock::Create(module.getContext(), "piece", function),
                   *after = llvm::BasicBlock::Create(module.getContext(), "after", function);
  b.CreateBr(body);
  b.SetInsertPoint(body);
  llvm::PHINode *number = b.CreatePHI(i64, 2);
  number->addIncoming(b.getInt64(0), before);
  chunk = number;
  for (Operation &op : chunks.getBody().front().without_terminator())
    if (failed(emitOperation(&op)))
      return failure();
  setPlace(chunks);
  llvm::Value *next = b.CreateAdd(number, b.getInt64(1));
  number->addIncoming(next, b.GetInsertBlock());
  b.CreateCondBr(b.CreateICmpSLT(next, b.getInt64(chunks.getPieces())), body, after);
  b.SetInsertPoint(after);
  chunk = b.getInt64(0);
  return success();
}

LogicalResult StageCode::emitOperation(Operation *op) {
  makeRoom(op);
  setPlace(op);
  if (auto kernel = dyn_cast<rt::KernelOp>(op)) {
    if (failed(emitKernel(kernel)))
      return failure();
    if (onTheirWay > 0)
      b.CreateCall(declare("ptlrt_collective_progress", {pointer}), {rank});
    return success();
  }
  if (auto chunks = dyn_cast<rt::ChunksOp>(op))
    return emitChunks(chunks);
  if (auto norm = dyn_cast<ptl::GlobalNormOp>(op))
    return emitNorm(norm);
  if (auto sum = dyn_cast<spmd::SquareSumOp>(op))
    return emitSquareSum(sum);
  if (auto root = dyn_cast<spmd::RootOp>(op))
    return emitRoot(root);
  if (isa<ptl::ReshapeOp, ptl::StopGradientOp, ptl::MicrobatchOp, spmd::BucketSliceOp>(op))
    return success();
  if (spmd::isCollective(op)) {
    if (failed(codegen::checkCollective(op)))
      return failure();
    if (op->hasAttr(rt::kInLast))
      return success(); // has been started
    bool starts = op->hasAttr(rt::kStarted);
    onTheirWay += starts;
    emitCollective(starts ? "ptlrt_collective_start" : "ptlrt_collective", op);
    return success();
  }
  if (auto wait = dyn_cast<rt::WaitOp>(op)) {
    --onTheirWay;
    emitCollective("ptlrt_collective_wait", wait.getCollective());
    return success();
  }
  if (isa<rt::ExchangeOp>(op)) {
    b.CreateCall(declare("ptlrt_exchange", {pointer, pointer, i32}),
                 {rank, arena, b.getInt32(schedule.indexOf(op))});
    return success();
  }
  return op->emitError("'") << op->getName() << "' isn't supported on CPUs yet";
}

/// The step and the number of valid samples are read from the arena like any other scalar.
void StageCode::storeCounters(func::FuncOp owner) {
  for (BlockArgument argument : owner.getArguments()) {
    auto role = owner.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "ptl.role");
    if (!role || (role != "step" && role != "valid"))
      continue;
    b.CreateStore(fieldOfRank(role == "step" ? kStep : kValid, i64), address(places.of(argument)));
  }
}

/// Begins a function with the signature of a stage function.
void StageCode::begin(const llvm::Twine &name) {
  auto *type = llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer, i64}, false);
  function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module);
  for (llvm::Attribute::AttrKind kind :
       {llvm::Attribute::NoUnwind, llvm::Attribute::NoInline, llvm::Attribute::OptimizeNone})
    function->addFnAttr(kind);
  rank = function->getArg(0);
  arena = function->getArg(1);
  micro = function->getArg(2);
  chunk = b.getInt64(0);
  b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  b.SetCurrentDebugLocation({});
  if (unit) {
    llvm::DISubroutineType *signature = debug.createSubroutineType(debug.getOrCreateTypeArray({}));
    subprogram = debug.createFunction(unit->getFile(), function->getName(), function->getName(),
                                      unit->getFile(), 0, signature, 0, llvm::DINode::FlagZero,
                                      llvm::DISubprogram::SPFlagDefinition);
    function->setSubprogram(subprogram);
  }
}

void StageCode::beginPart(Operation *op) {
  begin(stageName + ".part_" + llvm::Twine(parts.size()));
  parts.push_back(function);
  buffers = {b.CreateAlloca(pointer, b.getInt32(0), "buffers")};
  scalars = {b.CreateAlloca(i64, b.getInt32(0), "scalars")};
  calls = 0;
  setPlace(op);
}

void StageCode::endPart() {
  for (ArgumentArea *area : {&buffers, &scalars})
    area->memory->setOperand(0, b.getInt32(area->size));
  b.CreateRetVoid();
}

void StageCode::makeRoom(Operation *op) {
  bool inLoop = isa<rt::ChunksOp>(op->getParentOp());
  if (calls++ < kCallsPerPart || inLoop)
    return;
  endPart();
  beginPart(op);
}

llvm::Function *StageCode::emit(const codegen::StageFunction &stage, unsigned number) {
  stageName = "stage_" + std::to_string(number);
  parts.clear();
  beginPart(stage.owner);
  storeCounters(stage.owner);
  findStarts(stage);
  for (Operation *op : stage.operations) {
    if (failed(emitOperation(op)))
      return nullptr;
    emitStarts(op);
  }
  endPart();
  begin(stageName);
  setPlace(stage.owner);
  for (llvm::Function *part : parts)
    b.CreateCall(part, {rank, arena, micro});
  b.CreateRetVoid();
  return function;
}
