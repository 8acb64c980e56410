// Text form and invariants of launch, segment, herd and rank, which share all but a keyword.
#include "airlink/AIR/AIRDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace airlink::air;

namespace {

constexpr StringLiteral kName = "sym_name";
constexpr StringLiteral kSegments = "operandSegmentSizes";

using Operand = OpAsmParser::UnresolvedOperand;

/// A list `(%inner = %outer, ...)`.
struct Bindings {
  SmallVector<OpAsmParser::Argument> inner;
  SmallVector<Operand> outer;

  ParseResult parse(OpAsmParser &parser) {
    return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&] {
      return failure(parser.parseArgument(inner.emplace_back()) || parser.parseEqual() ||
                     parser.parseOperand(outer.emplace_back()));
    });
  }
};

/// What stands between the name and the body of one hierarchy op.
struct Header {
  SmallVector<Operand> dependencies;
  std::optional<Operand> universe;
  SmallVector<OpAsmParser::Argument> ids;
  Bindings sizes;
  Bindings args;
  SmallVector<Type> argTypes;
  SMLoc argsLoc;

  /// Arguments of the body, in order. Types are set here, for the text gives them only to `args`.
  SmallVector<OpAsmParser::Argument> bodyArguments(Type indexType) {
    SmallVector<OpAsmParser::Argument> all;
    for (ArrayRef<OpAsmParser::Argument> group : {ArrayRef(ids), ArrayRef(sizes.inner)})
      for (OpAsmParser::Argument argument : group) {
        argument.type = indexType;
        all.push_back(argument);
      }
    for (auto [argument, type] : llvm::zip_equal(args.inner, argTypes)) {
      argument.type = type;
      all.push_back(argument);
    }
    return all;
  }
};

/// The keyword before the space. A segment's space is optional, hence introduced; a launch's and a rank's are neither.
template <typename OpT> constexpr StringLiteral spaceKeyword = "";
template <> constexpr StringLiteral spaceKeyword<SegmentOp> = "unroll";
template <> constexpr StringLiteral spaceKeyword<HerdOp> = "tile";

template <typename OpT> ParseResult parseSpace(OpAsmParser &parser, Header &header) {
  if constexpr (std::is_same_v<OpT, SegmentOp>) {
    if (failed(parser.parseOptionalKeyword(spaceKeyword<OpT>)))
      return success();
  } else if constexpr (!spaceKeyword<OpT>.empty()) {
    if (parser.parseKeyword(spaceKeyword<OpT>))
      return failure();
  }
  if (parser.parseArgumentList(header.ids, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("in"))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (header.sizes.parse(parser))
    return failure();
  if (header.ids.size() != header.sizes.inner.size())
    return parser.emitError(loc) << header.ids.size() << " ids need as many sizes, found "
                                 << header.sizes.inner.size();
  return success();
}

ParseResult parseArgs(OpAsmParser &parser, Header &header) {
  header.argsLoc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword("args")))
    return success();
  if (header.args.parse(parser))
    return failure();
  // Without arguments there are no types, but `args() : ` with nothing behind the colon stays an error.
  if (header.args.inner.empty() && failed(parser.parseOptionalColon()))
    return success();
  if (!header.args.inner.empty() && parser.parseColon())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseTypeList(header.argTypes))
    return failure();
  if (header.argTypes.size() != header.args.inner.size())
    return parser.emitError(loc) << header.args.inner.size() << " arguments need as many types, found "
                                 << header.argTypes.size();
  return success();
}

/// The `attributes` dictionary, and what must not be in it.
template <typename OpT>
ParseResult parseAttributes(OpAsmParser &parser, OperationState &result, StringAttr name) {
  SMLoc loc = parser.getCurrentLocation();
  NamedAttrList attributes;
  if (parser.parseOptionalAttrDictWithKeyword(attributes))
    return failure();
  if (attributes.get(kSegments))
    return parser.emitError(loc) << "'" << kSegments << "' follows from the operands and cannot be given";
  if (name) {
    if (attributes.get(kName))
      return parser.emitError(loc) << "the name is given twice, as '@" << name.getValue() << "' and as '" << kName
                                   << "'";
    attributes.set(kName, name);
  }
  // Without this an inherent attribute of the wrong kind would be dropped in silence.
  if (failed(OpT::verifyInherentAttrs(result.name, attributes, [&] { return parser.emitError(loc); })))
    return failure();
  result.attributes.append(attributes);
  return success();
}

template <typename OpT>
ParseResult resolveOperands(OpAsmParser &parser, OperationState &result, const Header &header) {
  Builder &builder = parser.getBuilder();
  auto token = builder.getType<AsyncTokenType>();
  if (parser.resolveOperands(header.dependencies, token, result.operands))
    return failure();
  if (header.universe && parser.resolveOperand(*header.universe, builder.getType<UniverseType>(), result.operands))
    return failure();
  if (parser.resolveOperands(header.sizes.outer, builder.getIndexType(), result.operands) ||
      parser.resolveOperands(header.args.outer, header.argTypes, header.argsLoc, result.operands))
    return failure();

  SmallVector<int32_t, 4> sizes = {static_cast<int32_t>(header.dependencies.size())};
  if constexpr (std::is_same_v<OpT, RankOp>)
    sizes.push_back(header.universe ? 1 : 0);
  sizes.push_back(static_cast<int32_t>(header.sizes.outer.size()));
  sizes.push_back(static_cast<int32_t>(header.args.outer.size()));
  auto &properties = result.getOrAddProperties<typename OpT::Properties>();
  llvm::copy(sizes, properties.operandSegmentSizes.begin());
  return success();
}

template <typename OpT> ParseResult parseBody(OpAsmParser &parser, OperationState &result, Header &header, bool named) {
  SmallVector<OpAsmParser::Argument> arguments = header.bodyArguments(parser.getBuilder().getIndexType());
  Region *body = result.addRegion();
  SMLoc loc = parser.getCurrentLocation();
  OptionalParseResult parsed = parser.parseOptionalRegion(*body, arguments);
  if (!parsed.has_value()) {
    if (!named)
      return parser.emitError(loc, "expected a body; only a named operation may come without");
    Block &block = body->emplaceBlock();
    for (const OpAsmParser::Argument &argument : arguments)
      block.addArgument(argument.type, result.location);
  } else if (failed(*parsed)) {
    return failure();
  }
  OpT::ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

template <typename OpT> ParseResult parseHierarchy(OpAsmParser &parser, OperationState &result) {
  Header header;
  StringAttr name;
  (void)parser.parseOptionalSymbolName(name);
  Type token;
  if (parseAsync(parser, token, header.dependencies))
    return failure();
  if (token)
    result.addTypes(token);
  if constexpr (std::is_same_v<OpT, RankOp>) {
    if (succeeded(parser.parseOptionalKeyword("universe")) &&
        (parser.parseLParen() || parser.parseOperand(header.universe.emplace()) || parser.parseRParen()))
      return failure();
  }
  return failure(parseSpace<OpT>(parser, header) || parseArgs(parser, header) ||
                 parseAttributes<OpT>(parser, result, name) || resolveOperands<OpT>(parser, result, header) ||
                 parseBody<OpT>(parser, result, header, static_cast<bool>(name)));
}

/// Prints `(%inner = %outer, ...)`.
void printBindings(OpAsmPrinter &printer, ArrayRef<BlockArgument> inner, OperandRange outer) {
  printer << '(';
  llvm::interleaveComma(llvm::zip_equal(inner, outer), printer,
                        [&](auto pair) { printer << std::get<0>(pair) << '=' << std::get<1>(pair); });
  printer << ')';
}

template <typename OpT> void printHierarchy(OpAsmPrinter &printer, OpT op) {
  if (StringAttr name = op.getSymNameAttr()) {
    printer << ' ';
    printer.printSymbolName(name);
  }
  Value token = op.getAsyncToken();
  printAsync(printer, op, token ? token.getType() : Type(), op.getAsyncDependencies());
  if constexpr (std::is_same_v<OpT, RankOp>)
    if (op.getUniverse())
      printer << " universe(" << op.getUniverse() << ')';

  auto hierarchy = cast<HierarchyInterface>(op.getOperation());
  if (!std::is_same_v<OpT, SegmentOp> || hierarchy.getNumDims() != 0) {
    if (!spaceKeyword<OpT>.empty())
      printer << ' ' << spaceKeyword<OpT>;
    printer << " (";
    llvm::interleaveComma(hierarchy.getIds(), printer);
    printer << ") in ";
    printBindings(printer, hierarchy.getExtents(), hierarchy.getSizes());
  }
  if (OperandRange args = op.getKernelOperands(); !args.empty()) {
    printer << " args";
    printBindings(printer, hierarchy.getKernelArguments(), args);
    printer << " : ";
    llvm::interleaveComma(args.getTypes(), printer);
  }
  printer.printOptionalAttrDictWithKeyword(op->getAttrs(), {kName, kSegments});
  printer << ' ';
  // A terminator is implied unless it says something.
  printer.printRegion(op.getRegion(), /*printEntryBlockArgs=*/false,
                      /*printBlockTerminators=*/!op.getBody()->getTerminator()->getAttrDictionary().empty());
}

LogicalResult verifyHierarchy(HierarchyInterface op) {
  Block &body = op->getRegion(0).front();
  unsigned dims = op.getNumDims();
  OperandRange operands = op.getKernelOperands();
  unsigned expected = 2 * dims + operands.size();
  if (body.getNumArguments() != expected)
    return op->emitOpError() << "with " << dims << " sizes and " << operands.size() << " arguments needs " << expected
                             << " block arguments, found " << body.getNumArguments();
  for (BlockArgument argument : body.getArguments().take_front(2 * dims))
    if (!argument.getType().isIndex())
      return op->emitOpError() << "block argument #" << argument.getArgNumber()
                               << " is an id or an extent and must be of type 'index', found " << argument.getType();
  for (auto [index, pair] : llvm::enumerate(llvm::zip_equal(op.getKernelArguments(), operands))) {
    auto [inner, outer] = pair;
    if (inner.getType() != outer.getType())
      return op->emitOpError() << "argument #" << index << " is " << outer.getType() << " outside and "
                               << inner.getType() << " inside";
  }
  return success();
}

} // namespace

#define AIRLINK_HIERARCHY_OP(OP)                                                                                       \
  ParseResult OP::parse(OpAsmParser &parser, OperationState &result) { return parseHierarchy<OP>(parser, result); }    \
  void OP::print(OpAsmPrinter &printer) { printHierarchy<OP>(printer, *this); }                                        \
  LogicalResult OP::verify() { return verifyHierarchy(*this); }

AIRLINK_HIERARCHY_OP(LaunchOp)
AIRLINK_HIERARCHY_OP(SegmentOp)
AIRLINK_HIERARCHY_OP(HerdOp)
AIRLINK_HIERARCHY_OP(RankOp)
