// The pass `airlink-lower-air`: a fused AIR module becomes plain loops, copies and calls, with the entries of a host
// ELF. It wants affine and linalg operations lowered before, so that bodies can move into loops.
#include "airlink/AIR/AIRDialect.h"
#include "airlink/Host/Streams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

using namespace mlir;

namespace {

struct LowerAir : PassWrapper<LowerAir, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerAir)

  LowerAir() = default;
  LowerAir(const LowerAir &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "airlink-lower-air"; }
  StringRef getDescription() const final { return "Lower a fused AIR module for the host target"; }

  Option<bool> reversePoints{*this, "reverse-points",
                             llvm::cl::desc("Run the points of each launch from the last to the first")};
  Option<int> poison{*this, "poison", llvm::cl::init(-1),
                     llvm::cl::desc("Fill fresh buffers with this byte; -1 leaves them as they are")};

  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect,
                    memref::MemRefDialect, scf::SCFDialect>();
  }

  void runOnOperation() final {
    if (failed(run(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult run(ModuleOp module) {
    using namespace airlink::host;
    FailureOr<func::FuncOp> program = findProgram(module);
    if (failed(program) || failed(checkSupported(module)))
      return failure();
    // What these steps say to each other, no kernel can say.
    module.walk([](Operation *op) {
      for (StringRef mark : {"airlink.lent", "airlink.order", "airlink.execute"})
        op->removeDiscardableAttr(mark);
    });
    lowerTokens(module);
    std::optional<uint8_t> byte;
    if (poison >= 0)
      byte = uint8_t(poison);
    std::optional<Runtime> runtime;
    if (usesStreams(module))
      runtime.emplace(module);
    HerdTables herds;
    if (failed(buildEntries(*program)) || failed(privatizeTileBuffers(module)))
      return failure();
    if (runtime && failed(settleRefeeds(module)))
      return failure();
    // Builds that look for mistakes keep every buffer, and show that nothing depends on it.
    if (!byte)
      forwardCopies(module);
    if (runtime && failed(lowerStreams(module, *runtime, herds, byte)))
      return failure();
    dropTokens(module);
    if (failed(lowerCopies(module)) || failed(lowerExternCalls(module)))
      return failure();
    inlineHierarchy(module, reversePoints);
    if (failed(placeBuffers(module, byte, herds)))
      return failure();
    if (runtime) {
      finishHerds(*runtime, herds);
      buildBind(module);
    }
    stripMemorySpaces(module);
    setLinkage(module);
    return success();
  }

  /// The one function with a body that others can call.
  static FailureOr<func::FuncOp> findProgram(ModuleOp module) {
    func::FuncOp program;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isPrivate() || function.isExternal())
        continue;
      if (program)
        return function.emitError("AL0901: a second public function in a fused module");
      program = function;
    }
    if (!program)
      return module.emitError("AL0901: no public function in a fused module");
    return program;
  }

  /// Bodies and functions of the kernels are nobody else's business.
  static void setLinkage(ModuleOp module) {
    MLIRContext *context = module.getContext();
    auto internal = LLVM::LinkageAttr::get(context, LLVM::Linkage::Internal);
    for (auto function : module.getOps<func::FuncOp>()) {
      bool body = function->hasAttr("airlink.body") || airlink::host::isTile(function);
      bool isPrivate = function.isPrivate();
      if (isPrivate)
        function->setDiscardableAttrs(DictionaryAttr::get(context));
      if (isPrivate)
        function->setAttr("llvm.linkage", internal);
      // Called by its launch entry and by airlink_run: inlining would double the code and add up the stack frames.
      if (body)
        function->setAttr("llvm.no_inline", UnitAttr::get(context));
    }
    module->setDiscardableAttrs(DictionaryAttr::get(context));
  }
};

} // namespace

extern "C" void airlinkRegisterHostPasses() {
  static bool once = (PassRegistration<LowerAir>(), true);
  (void)once;
}
