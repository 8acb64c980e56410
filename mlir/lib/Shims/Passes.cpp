// Passes of the host lowering that upstream lacks. All make the result independent of the host's libm and of what the
// optimiser may do with a flag.
#include "airlink/Shims/Shims.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace {

/// log10(x) = log(x) * log10(e). Upstream expands the other logarithms but not this one.
struct ExpandLog10 : OpRewritePattern<math::Log10Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Log10Op op, PatternRewriter &rewriter) const final {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    constexpr float log10OfE = 0.434294481903251827651F;
    TypedAttr factor = rewriter.getF32FloatAttr(log10OfE);
    if (auto shaped = dyn_cast<ShapedType>(op.getType()))
      factor = DenseElementsAttr::get(shaped, log10OfE);
    Value natural = math::LogOp::create(rewriter, op.getLoc(), op.getOperand());
    Value scale = arith::ConstantOp::create(rewriter, op.getLoc(), factor);
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, natural, scale);
    return success();
  }
};

/// Polynomials in IR instead of calls into libm, whose results differ between hosts.
struct MathApprox : PassWrapper<MathApprox, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MathApprox)

  StringRef getArgument() const final { return "airlink-math-approx"; }
  StringRef getDescription() const final {
    return "Expand transcendental functions on f32 and narrower; what would still call libm is an error";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, scf::SCFDialect, vector::VectorDialect>();
  }

  /// Operations that become one instruction or inline code on x86-64-v3 and on AArch64.
  static bool isNative(Operation *op) {
    return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::ClampFOp, math::CopySignOp, math::CountLeadingZerosOp,
               math::CountTrailingZerosOp, math::CtPopOp, math::FloorOp, math::FmaOp, math::IsFiniteOp, math::IsInfOp,
               math::IsNaNOp, math::IsNormalOp, math::RoundOp, math::RoundEvenOp, math::RsqrtOp, math::SqrtOp,
               math::TruncOp>(op);
  }

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    // Not "fma": upstream's expansion rounds twice. Not "tanh": its polynomial is the better one.
    math::populateExpansionPatterns(
        patterns, {"sinh", "cosh", "tan", "asinh", "acosh", "atanh", "powf", "fpowi", "exp2", "rsqrt"});
    auto everything = [](StringRef) { return true; };
    populateMathF32ExpansionPatterns(patterns, everything);
    // "rsqrt" has a polynomial only through an estimate instruction of x86.
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) { return name != "math.rsqrt"; });
    patterns.add<ExpandLog10>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();

    WalkResult leftover = getOperation()->walk([](Operation *op) {
      bool callsLibm = isa<arith::RemFOp>(op) || (isa<math::MathDialect>(op->getDialect()) && !isNative(op));
      if (!callsLibm)
        return WalkResult::advance();
      op->emitError() << "'" << op->getName() << "' on " << op->getResult(0).getType()
                      << " would call the host's mathematical library";
      return WalkResult::interrupt();
    });
    if (leftover.wasInterrupted())
      signalPassFailure();
  }
};

/// `llvm.fmuladd`, to which vector.fma lowers, leaves the rounding to the backend; `llvm.fma` rounds once.
struct FMulAddToFMA : PassWrapper<FMulAddToFMA, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FMulAddToFMA)

  StringRef getArgument() const final { return "airlink-fmuladd-to-fma"; }
  StringRef getDescription() const final { return "Round every multiply-add once"; }
  void getDependentDialects(DialectRegistry &registry) const override { registry.insert<LLVM::LLVMDialect>(); }

  void runOnOperation() override {
    getOperation()->walk([](LLVM::FMulAddOp op) {
      OpBuilder builder(op);
      Value fused = LLVM::FMAOp::create(builder, op.getLoc(), op.getType(), op->getOperands(), op->getAttrs());
      op.getResult().replaceAllUsesWith(fused);
      op.erase();
    });
  }
};

/// arith-emulate-unsupported-floats marks its casts `contract`, which lets extf(truncf(x)) fold away a rounding.
struct StripContract : PassWrapper<StripContract, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StripContract)

  StringRef getArgument() const final { return "airlink-strip-contract"; }
  StringRef getDescription() const final { return "Take the fast-math flags off casts between float types"; }

  void runOnOperation() override {
    auto none = arith::FastMathFlagsAttr::get(&getContext(), arith::FastMathFlags::none);
    getOperation()->walk([&](Operation *op) {
      if (auto extend = dyn_cast<arith::ExtFOp>(op))
        extend.setFastmathAttr(none);
      else if (auto truncate = dyn_cast<arith::TruncFOp>(op))
        truncate.setFastmathAttr(none);
    });
  }
};

/// Dropping a fast-math flag is always right: it only ever permits something.
struct StripFastMath : PassWrapper<StripFastMath, OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StripFastMath)

  StringRef getArgument() const final { return "airlink-strip-fastmath"; }
  StringRef getDescription() const final { return "Take the fast-math flags off every operation"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    auto none = arith::FastMathFlagsAttr::get(&getContext(), arith::FastMathFlags::none);
    auto noneLLVM = LLVM::FastmathFlagsAttr::get(&getContext(), LLVM::FastmathFlags::none);
    getOperation()->walk([&](Operation *op) {
      if (auto arith = dyn_cast<arith::ArithFastMathInterface>(op))
        op->setAttr(arith.getFastMathAttrName(), none);
      else if (auto llvm = dyn_cast<LLVM::FastmathFlagsInterface>(op))
        op->setAttr(llvm.getFastmathAttrName(), noneLLVM);
    });
  }
};

} // namespace

void airlinkRegisterPasses() {
  static const bool once = [] {
    PassRegistration<MathApprox>();
    PassRegistration<FMulAddToFMA>();
    PassRegistration<StripContract>();
    PassRegistration<StripFastMath>();
    return true;
  }();
  (void)once;
}
