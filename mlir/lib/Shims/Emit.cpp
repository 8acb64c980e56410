// A module in the LLVM dialect becomes an object, assembly or LLVM text. The bits that the result computes must depend
// on neither the host nor the optimiser's mood: nothing may be fused, reassociated or approximated.
#include "airlink/Shims/Shims.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace {

/// A status with the text that explains it; the text is empty if all is well.
struct Outcome {
  AirlinkEmitStatus status = AirlinkEmitOk;
  std::string message;

  bool ok() const { return status == AirlinkEmitOk; }
};

void initializeTargets() {
  static const bool once = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeAArch64AsmParser();
    return true;
  }();
  (void)once;
}

/// LLVM only warns, on stderr, of a processor or a feature that it does not know, and then compiles for the baseline.
Outcome checkProcessor(const Target &target, const Triple &triple, StringRef cpu, StringRef features) {
  std::unique_ptr<MCSubtargetInfo> subtarget(target.createMCSubtargetInfo(triple, "", ""));
  if (!cpu.empty() && !subtarget->isCPUStringValid(cpu))
    return {AirlinkEmitBadTarget, ("'" + cpu + "' is not a processor of " + triple.str()).str()};
  SmallVector<StringRef> parts;
  features.split(parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    StringRef name = part;
    if (!name.consume_front("+") && !name.consume_front("-"))
      return {AirlinkEmitBadTarget, ("feature '" + part + "' starts with neither '+' nor '-'").str()};
    if (llvm::none_of(subtarget->getAllProcessorFeatures(),
                      [&](const SubtargetFeatureKV &known) { return name == known.Key; }))
      return {AirlinkEmitBadTarget, ("'" + name + "' is not a feature of " + triple.str()).str()};
  }
  return {};
}

CodeGenOptLevel codeGenLevel(int32_t level) {
  switch (level) {
  case 0:
    return CodeGenOptLevel::None;
  case 1:
    return CodeGenOptLevel::Less;
  case 2:
    return CodeGenOptLevel::Default;
  default:
    return CodeGenOptLevel::Aggressive;
  }
}

Outcome makeMachine(const AirlinkEmitOptions &options, std::unique_ptr<TargetMachine> &machine) {
  initializeTargets();
  Triple triple(unwrap(options.triple));
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return {AirlinkEmitBadTarget, error};
  StringRef cpu = unwrap(options.cpu), features = unwrap(options.features);
  if (Outcome outcome = checkProcessor(*target, triple, cpu, features); !outcome.ok())
    return outcome;
  TargetOptions targetOptions;
  // The default, Standard, lets the backend fuse an fmuladd or not as it likes.
  targetOptions.AllowFPOpFusion = FPOpFusion::Strict;
  machine.reset(target->createTargetMachine(triple, cpu, features, targetOptions, Reloc::PIC_, std::nullopt,
                                            codeGenLevel(options.optLevel)));
  if (!machine)
    return {AirlinkEmitBadTarget, "no code generator for " + triple.str()};
  return {};
}

std::string describe(const Instruction &instruction) {
  std::string text;
  raw_string_ostream stream(text);
  stream << "in '" << instruction.getFunction()->getName() << "':";
  instruction.print(stream);
  return text;
}

/// Refuses whatever would make the result depend on choices of the optimiser. Must run before it does.
Outcome checkReproducible(const Module &module) {
  static constexpr StringLiteral relaxed[] = {"unsafe-fp-math", "no-infs-fp-math", "no-nans-fp-math",
                                              "no-signed-zeros-fp-math", "approx-func-fp-math"};
  for (const Function &function : module) {
    for (StringRef attribute : relaxed)
      if (function.getFnAttribute(attribute).getValueAsBool())
        return {AirlinkEmitFastMath, ("'" + function.getName() + "' has the attribute '" + attribute + "'").str()};
    for (const Instruction &instruction : instructions(function)) {
      if (const auto *op = dyn_cast<FPMathOperator>(&instruction); op && op->getFastMathFlags().any())
        return {AirlinkEmitFastMath, "a fast-math flag " + describe(instruction)};
      if (const auto *call = dyn_cast<IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == Intrinsic::fmuladd)
        return {AirlinkEmitFMulAdd, "a multiply-add that may or may not be fused " + describe(instruction)};
    }
  }
  return {};
}

void optimize(Module &module, TargetMachine &machine, int32_t level) {
  if (level <= 0)
    return;
  PipelineTuningOptions tuning;
  tuning.SLPVectorization = level >= 2;
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager sccs;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine, tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  OptimizationLevel pipeline = level >= 3   ? OptimizationLevel::O3
                               : level == 2 ? OptimizationLevel::O2
                                            : OptimizationLevel::O1;
  builder.buildPerModuleDefaultPipeline(pipeline).run(module, modules);
}

Outcome generate(Module &module, TargetMachine &machine, int32_t kind, SmallVectorImpl<char> &bytes) {
  raw_svector_ostream stream(bytes);
  if (kind == AirlinkEmitLLVM) {
    module.print(stream, nullptr);
    return {};
  }
  legacy::PassManager passes;
  CodeGenFileType type = kind == AirlinkEmitAssembly ? CodeGenFileType::AssemblyFile : CodeGenFileType::ObjectFile;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return {AirlinkEmitBackend, "the target cannot emit this kind of file"};
  passes.run(module);
  return {};
}

/// Collects errors that LLVM would print to stderr before it exits the process.
void collectErrors(const DiagnosticInfo *info, void *text) {
  if (info->getSeverity() != DS_Error)
    return;
  raw_string_ostream stream(*static_cast<std::string *>(text));
  DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
  stream << '\n';
}

Outcome emit(MlirOperation op, const AirlinkEmitOptions &options, SmallVectorImpl<char> &bytes) {
  std::unique_ptr<TargetMachine> machine;
  if (Outcome outcome = makeMachine(options, machine); !outcome.ok())
    return outcome;
  std::string errors;
  LLVMContext context;
  context.setDiagnosticHandlerCallBack(collectErrors, &errors);
  std::unique_ptr<Module> module = mlir::translateModuleToLLVMIR(unwrap(op), context, "airlink");
  if (!module)
    return {AirlinkEmitBadModule, errors.empty() ? "the module has no translation to LLVM IR" : errors};
  if (Outcome outcome = checkReproducible(*module); !outcome.ok())
    return outcome;
  module->setTargetTriple(machine->getTargetTriple());
  module->setDataLayout(machine->createDataLayout());
  optimize(*module, *machine, options.optLevel);
  if (Outcome outcome = generate(*module, *machine, options.kind, bytes); !outcome.ok())
    return outcome;
  if (!errors.empty())
    return {AirlinkEmitBackend, errors};
  return {};
}

} // namespace

int32_t airlinkEmit(MlirOperation module, const AirlinkEmitOptions *options, AirlinkBytesCallback sink, void *sinkData,
                    AirlinkBytesCallback error, void *errorData) {
  SmallVector<char, 0> bytes;
  Outcome outcome = emit(module, *options, bytes);
  if (outcome.ok())
    sink(bytes.data(), bytes.size(), sinkData);
  else
    error(outcome.message.data(), outcome.message.size(), errorData);
  return outcome.status;
}
