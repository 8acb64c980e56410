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

using namespace mlir;

namespace {

/// `type` with elements of f32.
Type withF32(Type type) {
  Type f32 = Float32Type::get(type.getContext());
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? Type(shaped.clone(f32)) : f32;
}

bool isNarrowFloat(Type type) {
  auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
  return element && element.getWidth() < 32;
}

/// A constant of `type`, a float or a vector of floats.
Value constant(OpBuilder &builder, Location loc, Type type, double value) {
  TypedAttr attribute = builder.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attribute = SplatElementsAttr::get(shaped, attribute);
  return arith::ConstantOp::create(builder, loc, attribute);
}

/// As above, of integers.
Value integerConstant(OpBuilder &builder, Location loc, Type type, int64_t value) {
  TypedAttr attribute = builder.getIntegerAttr(getElementTypeOrSelf(type), value);
  if (auto shaped = dyn_cast<ShapedType>(type))
    attribute = SplatElementsAttr::get(shaped, attribute);
  return arith::ConstantOp::create(builder, loc, attribute);
}

/// Computes an operation on bf16 or f16 in f32 and rounds its result. Upstream's widening leaves out the operations
/// that it takes for cheap; those become library calls on bf16 all the same.
struct Widen : RewritePattern {
  // Before any expansion, which would round to the narrow type at each of its steps.
  explicit Widen(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/10, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const final {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) || op->getNumResults() != 1 ||
        llvm::none_of(op->getOperandTypes(), isNarrowFloat))
      return failure();
    Location loc = op->getLoc();
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isNarrowFloat(operand.getType())
                             ? arith::ExtFOp::create(rewriter, loc, withF32(operand.getType()), operand)
                             : operand);
    Type type = op->getResult(0).getType();
    Type wide = isNarrowFloat(type) ? withF32(type) : type;
    Operation *widened = rewriter.create(loc, op->getName().getIdentifier(), operands, wide, op->getAttrs());
    Value result = widened->getResult(0);
    if (wide != type)
      result = arith::TruncFOp::create(rewriter, loc, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// log10(x) = log(x) * log10(e). Upstream expands the other logarithms but not this one.
struct ExpandLog10 : OpRewritePattern<math::Log10Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Log10Op op, PatternRewriter &rewriter) const final {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Value natural = math::LogOp::create(rewriter, op.getLoc(), op.getOperand());
    Value scale = constant(rewriter, op.getLoc(), op.getType(), 0.434294481903251827651);
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, natural, scale);
    return success();
  }
};

/// exp2(x) = exp((x - n) * ln 2) * 2^n with n the integer nearest to x. Upstream's exp(x * ln 2) is off by 30 units in
/// the last place at 80, since the rounding of the product grows with x.
struct ExpandExp2 : OpRewritePattern<math::Exp2Op> {
  using OpRewritePattern::OpRewritePattern;

  /// 2^n for n in -126..127, from the bits of a float: n + 127 stands above 23 bits of fraction.
  static Value powerOfTwo(OpBuilder &builder, Location loc, Type floatType, Value n) {
    Value biased = arith::AddIOp::create(builder, loc, n, integerConstant(builder, loc, n.getType(), 127));
    Value bits = arith::ShLIOp::create(builder, loc, biased, integerConstant(builder, loc, n.getType(), 23));
    return arith::BitcastOp::create(builder, loc, floatType, bits);
  }

  LogicalResult matchAndRewrite(math::Exp2Op op, PatternRewriter &rewriter) const final {
    Type type = op.getType();
    if (!getElementTypeOrSelf(type).isF32())
      return failure();
    Location loc = op.getLoc();
    Type i32 = rewriter.getI32Type();
    auto shaped = dyn_cast<ShapedType>(type);
    Type integers = shaped ? Type(shaped.clone(i32)) : i32;

    // Beyond these bounds the result is 0 or infinite, and n would not fit the two steps below. minnum and maxnum turn
    // a NaN into a bound, so that n is defined; the select at the end gives it back.
    Value low = constant(rewriter, loc, type, -200.0), high = constant(rewriter, loc, type, 200.0);
    Value bounded = arith::MinNumFOp::create(rewriter, loc, op.getOperand(), high);
    bounded = arith::MaxNumFOp::create(rewriter, loc, bounded, low);
    Value whole = math::RoundEvenOp::create(rewriter, loc, bounded);
    Value fraction = arith::SubFOp::create(rewriter, loc, bounded, whole);
    Value scaled =
        arith::MulFOp::create(rewriter, loc, fraction, constant(rewriter, loc, type, 0.693147180559945309417));
    Value result = math::ExpOp::create(rewriter, loc, scaled);

    // In two steps, since 2^n alone may be denormal or overflow where the result does not.
    Value n = arith::FPToSIOp::create(rewriter, loc, integers, whole);
    Value half = arith::ShRSIOp::create(rewriter, loc, n, integerConstant(rewriter, loc, integers, 1));
    Value rest = arith::SubIOp::create(rewriter, loc, n, half);
    result = arith::MulFOp::create(rewriter, loc, result, powerOfTwo(rewriter, loc, type, half));
    result = arith::MulFOp::create(rewriter, loc, result, powerOfTwo(rewriter, loc, type, rest));
    Value isNaN = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::UNO, op.getOperand(), op.getOperand());
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isNaN, op.getOperand(), result);
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
        patterns, {"sinh", "cosh", "tan", "asinh", "acosh", "atanh", "powf", "fpowi", "rsqrt"});
    // "rsqrt" has a polynomial only through an estimate instruction of x86.
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) { return name != "math.rsqrt"; });
    patterns.add<Widen, ExpandLog10, ExpandExp2>(&getContext());
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
    getOperation()->walk([](Operation *op) {
      if (auto extend = dyn_cast<arith::ExtFOp>(op))
        extend.removeFastmathAttr();
      else if (auto truncate = dyn_cast<arith::TruncFOp>(op))
        truncate.removeFastmathAttr();
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
      // Casts print the attribute whenever it is there, even with no flag in it.
      if (isa<arith::ExtFOp, arith::TruncFOp>(op))
        op->removeAttr("fastmath");
      else if (auto arith = dyn_cast<arith::ArithFastMathInterface>(op))
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
