//===- Program.cpp - The object file of a program -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Stage functions are built first; what they call decides which kernels exist.
// Kernels are lowered by MLIR, linked with the stages into one LLVM module,
// where everything but the program's symbol is internal.
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/LowerKernels.h"
#include "compiler/Codegen/CPU/StageCode.h"
#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/Exchanges.h"
#include "compiler/Codegen/Metadata.h"
#include "compiler/Conversion/KernelToLoops/KernelToLoops.h"
#include "compiler/Support/Location.h"
#include "compiler/Support/Stages.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"

using namespace mlir;
using namespace ptlc;
using namespace ptlc::cpu;

namespace {
/// Builds the LLVM module of a program.
class ProgramBuilder {
public:
  ProgramBuilder(ModuleOp source, const codegen::TargetOptions &options)
      : source(source), options(options) {}
  std::unique_ptr<llvm::Module> build(llvm::LLVMContext &context, llvm::TargetMachine &machine);

private:
  /// The program of one rank of a pipeline, or of all ranks; null after an error.
  llvm::Constant *program(llvm::Module &module, ModuleOp part, const codegen::Schedule &schedule,
                          RowKernels &rowKernels);
  llvm::Constant *describe(llvm::Module &module, ModuleOp part, const codegen::Schedule &schedule,
                           llvm::ArrayRef<llvm::Function *> functions);
  llvm::Constant *whole(llvm::Module &module, llvm::ArrayRef<llvm::Constant *> parts);
  llvm::Constant *table(llvm::Module &module, const codegen::Schedule &schedule, uint64_t &size);
  LogicalResult addKernels(llvm::Module &module, ModuleOp kernels, llvm::TargetMachine &machine);

  ModuleOp source;
  const codegen::TargetOptions &options;
};
} // namespace

static constexpr uint64_t kMagic = 0x314b54504c54504dULL, kVersion = 3;

static llvm::Constant *global(llvm::Module &module, llvm::Constant *value, llvm::StringRef name) {
  auto *variable = new llvm::GlobalVariable(module, value->getType(), true,
                                            llvm::GlobalValue::PrivateLinkage, value, name);
  variable->setAlignment(llvm::Align(8));
  return variable;
}

/// The instructions of one step (ptlrt_instruction): each function once per micro-batch, but phases
/// of a pipeline once, since its table says when they run.
llvm::Constant *ProgramBuilder::table(llvm::Module &module, const codegen::Schedule &schedule,
                                      uint64_t &size) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *i16 = llvm::Type::getInt16Ty(context), *i32 = llvm::Type::getInt32Ty(context),
             *i64 = llvm::Type::getInt64Ty(context);
  auto *type = llvm::StructType::get(i16, i16, i32, i64);
  llvm::SmallVector<llvm::Constant *> rows;
  for (unsigned number = 0; number < schedule.stepFunctions; ++number)
    for (int64_t piece = 0; piece < schedule.functions[number].rows(); ++piece)
      rows.push_back(llvm::ConstantStruct::get(
          type, llvm::ConstantInt::get(i16, unsigned(schedule.functions[number].op)),
          llvm::ConstantInt::get(i16, schedule.functions[number].stage),
          llvm::ConstantInt::get(i32, number), llvm::ConstantInt::get(i64, piece)));
  size = rows.size();
  return global(module, llvm::ConstantArray::get(llvm::ArrayType::get(type, rows.size()), rows),
                "table");
}

/// A ptlrt_program_t without parts.
llvm::Constant *ProgramBuilder::describe(llvm::Module &module, ModuleOp part,
                                         const codegen::Schedule &schedule,
                                         llvm::ArrayRef<llvm::Function *> functions) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *i32 = llvm::Type::getInt32Ty(context), *i64 = llvm::Type::getInt64Ty(context);
  std::string metadata = codegen::buildMetadata(part, schedule, options);
  llvm::Constant *text =
      global(module, llvm::ConstantDataArray::getString(context, metadata), "metadata");
  uint64_t rows = 0;
  llvm::Constant *instructions = table(module, schedule, rows);
  llvm::SmallVector<llvm::Constant *> pointers(functions.begin(), functions.end());
  auto *pointer = llvm::PointerType::get(context, 0);
  llvm::Constant *list = global(
      module, llvm::ConstantArray::get(llvm::ArrayType::get(pointer, pointers.size()), pointers),
      "functions");
  llvm::Constant *none = llvm::ConstantPointerNull::get(pointer);
  auto number = [](llvm::Type *type, uint64_t value) {
    return llvm::ConstantInt::get(type, value);
  };
  return llvm::ConstantStruct::getAnon({number(i64, kMagic), number(i32, kVersion), number(i32, 0),
                                        text, number(i64, metadata.size()), instructions,
                                        number(i64, rows), list, number(i64, functions.size()),
                                        none, number(i64, 0), none, number(i64, 0)});
}

/// The ptlrt_program_t that is exported: that of the first rank, with those of all and the table of
/// a pipeline.
llvm::Constant *ProgramBuilder::whole(llvm::Module &module,
                                      llvm::ArrayRef<llvm::Constant *> parts) {
  auto *first = cast<llvm::ConstantStruct>(parts.front());
  auto packed = source->getAttrOfType<StringAttr>(kPackedTable);
  if (!packed)
    return first;
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *i64 = llvm::Type::getInt64Ty(context);
  llvm::SmallVector<llvm::Constant *> fields;
  for (unsigned field = 0; field < 9; ++field)
    fields.push_back(first->getOperand(field));
  fields.push_back(global(
      module, llvm::ConstantArray::get(llvm::ArrayType::get(first->getType(), parts.size()), parts),
      "parts"));
  fields.push_back(llvm::ConstantInt::get(i64, parts.size()));
  fields.push_back(global(
      module, llvm::ConstantDataArray::getString(context, packed.getValue(), false), "schedule"));
  fields.push_back(llvm::ConstantInt::get(i64, packed.getValue().size()));
  return llvm::ConstantStruct::getAnon(fields);
}

/// Line tables know plain places only. An operation without one takes that of what is around it,
/// since calls in a function with line information must have a place.
static void simplifyLocations(ModuleOp kernels) {
  Location nowhere = FileLineColLoc::get(kernels.getContext(), "<compiler>", 0, 0);
  kernels->walk<WalkOrder::PreOrder>([&](Operation *op) {
    FileLineColLoc place = userPlace(op->getLoc());
    Operation *parent = op->getParentOp();
    Location around = parent && op != kernels ? parent->getLoc() : nowhere;
    op->setLoc(place ? Location(place) : around);
  });
}

LogicalResult ProgramBuilder::addKernels(llvm::Module &module, ModuleOp kernels,
                                         llvm::TargetMachine &machine) {
  simplifyLocations(kernels);
  std::unique_ptr<llvm::Module> lowered =
      lowerKernels(kernels, module.getContext(), options.debugInfo);
  if (!lowered)
    return failure();
  lowered->setDataLayout(machine.createDataLayout());
  lowered->setTargetTriple(machine.getTargetTriple());
  if (llvm::Linker::linkModules(module, std::move(lowered)))
    return source.emitError("can't link the kernels with the stage functions");
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  return success();
}

llvm::Constant *ProgramBuilder::program(llvm::Module &module, ModuleOp part,
                                        const codegen::Schedule &schedule, RowKernels &rowKernels) {
  codegen::Places places(part);
  rowKernels.use(places);
  StageCode stages(part, module, rowKernels, places, schedule, options.debugInfo);
  llvm::SmallVector<llvm::Function *> functions;
  for (auto [number, stage] : llvm::enumerate(schedule.functions)) {
    functions.push_back(stages.emit(stage, number));
    if (!functions.back())
      return nullptr;
  }
  stages.finish();
  return describe(module, part, schedule, functions);
}

std::unique_ptr<llvm::Module> ProgramBuilder::build(llvm::LLVMContext &context,
                                                    llvm::TargetMachine &machine) {
  auto module = std::make_unique<llvm::Module>("program", context);
  module->setDataLayout(machine.createDataLayout());
  module->setTargetTriple(machine.getTargetTriple());
  OwningOpRef<ModuleOp> kernels = ModuleOp::create(source.getLoc());
  RowKernels rowKernels([&](llvm::StringRef name, const kernel::Graph &graph,
                            const kernel::RowPlan &plan, const kernel::Binding &binding,
                            Location loc) {
    if (options.rowKernels)
      return options.rowKernels(*kernels, name, graph, plan, binding, loc);
    kernel::emitRowKernel(*kernels, name, graph, plan, binding, loc);
    return success();
  });
  llvm::SmallVector<ModuleOp> programs = rankPrograms(source);
  std::vector<codegen::Schedule> schedules;
  for (ModuleOp part : programs)
    schedules.push_back(codegen::buildSchedule(part));
  if (failed(codegen::checkExchanges(schedules)))
    return nullptr;
  llvm::SmallVector<llvm::Constant *> parts;
  for (auto [part, schedule] : llvm::zip_equal(programs, schedules)) {
    parts.push_back(program(*module, part, schedule, rowKernels));
    if (!parts.back())
      return nullptr;
  }
  llvm::Constant *exported = whole(*module, parts);
  new llvm::GlobalVariable(*module, exported->getType(), true, llvm::GlobalValue::ExternalLinkage,
                           exported, options.symbol);
  if (failed(addKernels(*module, *kernels, machine)))
    return nullptr;
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*module, &stream)) {
    source.emitError("the generated code is broken: ") << message;
    return nullptr;
  }
  return module;
}

/// Resolves options and prepares the context; null after an error.
static std::unique_ptr<llvm::TargetMachine> prepare(ModuleOp module,
                                                    codegen::TargetOptions &options) {
  DialectRegistry registry;
  registerTranslations(registry);
  module->getContext()->appendDialectRegistry(registry);
  module->getContext()->loadAllAvailableDialects();
  options = resolveNative(options);
  auto machine = createTargetMachine(options);
  if (!machine) {
    module.emitError(llvm::toString(machine.takeError()));
    return nullptr;
  }
  return std::move(*machine);
}

LogicalResult codegen::emitLLVM(ModuleOp module, const TargetOptions &requested,
                                std::string &text) {
  TargetOptions options = requested;
  std::unique_ptr<llvm::TargetMachine> machine = prepare(module, options);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> program = ProgramBuilder(module, options).build(context, *machine);
  if (!program)
    return failure();
  llvm::raw_string_ostream stream(text);
  program->print(stream, nullptr);
  return success();
}

LogicalResult codegen::compileToObject(ModuleOp module, const TargetOptions &requested,
                                       SmallVectorImpl<char> &object) {
  TargetOptions options = requested;
  std::unique_ptr<llvm::TargetMachine> machine = prepare(module, options);
  if (!machine)
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> program = ProgramBuilder(module, options).build(context, *machine);
  if (!program)
    return failure();
  cpu::optimize(*program, *machine, options.optimization);
  if (llvm::Error error = cpu::emitObject(*program, *machine, object))
    return module.emitError(llvm::toString(std::move(error)));
  return success();
}
