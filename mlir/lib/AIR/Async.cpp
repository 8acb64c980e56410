// The `async [tokens]` prefix, and the asynchronous operations that are neither hierarchy nor transfer.
#include "airlink/AIR/AIRDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace airlink::air {

ParseResult parseAsync(OpAsmParser &parser, Type &tokenType,
                       SmallVectorImpl<OpAsmParser::UnresolvedOperand> &dependencies) {
  SMLoc loc = parser.getNameLoc();
  if (succeeded(parser.parseOptionalKeyword("async")))
    tokenType = parser.getBuilder().getType<AsyncTokenType>();
  else if (parser.getNumResults() != 0)
    return parser.emitError(loc, "has a result only if it is marked 'async'");
  return parser.parseOperandList(dependencies, OpAsmParser::Delimiter::OptionalSquare);
}

void printAsync(OpAsmPrinter &printer, Operation *, Type tokenType, OperandRange dependencies) {
  if (tokenType)
    printer << " async";
  if (dependencies.empty())
    return;
  printer << " [";
  printer.printOperands(dependencies);
  printer << ']';
}

LogicalResult ExecuteOp::verify() {
  Block *body = getBody();
  if (body->getNumArguments() != 0)
    return emitOpError("has a region without arguments");
  TypeRange handedOut = body->getTerminator()->getOperandTypes();
  TypeRange results = getResults().getTypes();
  if (handedOut == results)
    return success();
  InFlightDiagnostic diagnostic = emitOpError() << "has results (" << results << ") but its terminator hands out ("
                                                << handedOut << ")";
  diagnostic.attachNote(body->getTerminator()->getLoc()) << "the terminator";
  return diagnostic;
}

ParseResult CustomOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  (void)parser.parseOptionalSymbolName(name);
  Type token;
  SmallVector<OpAsmParser::UnresolvedOperand> dependencies, operands;
  if (parseAsync(parser, token, dependencies))
    return failure();
  if (token)
    result.addTypes(token);

  SMLoc operandsLoc = parser.getCurrentLocation();
  SmallVector<Type> types;
  if (succeeded(parser.parseOptionalKeyword("operands"))) {
    if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren))
      return failure();
    if (!operands.empty() && parser.parseColonTypeList(types))
      return failure();
  }

  SMLoc attributesLoc = parser.getCurrentLocation();
  NamedAttrList attributes;
  if (parser.parseOptionalAttrDictWithKeyword(attributes))
    return failure();
  if (attributes.get(getOperandSegmentSizeAttr()))
    return parser.emitError(attributesLoc) << "'" << getOperandSegmentSizeAttr()
                                           << "' follows from the operands and cannot be given";
  if (name) {
    if (attributes.get(getSymNameAttrName(result.name)))
      return parser.emitError(attributesLoc, "the name is given twice");
    attributes.set(getSymNameAttrName(result.name), name);
  }
  if (failed(verifyInherentAttrs(result.name, attributes, [&] { return parser.emitError(attributesLoc); })))
    return failure();
  result.attributes.append(attributes);

  auto &sizes = result.getOrAddProperties<Properties>().operandSegmentSizes;
  sizes[0] = static_cast<int32_t>(dependencies.size());
  sizes[1] = static_cast<int32_t>(operands.size());
  auto tokenType = parser.getBuilder().getType<AsyncTokenType>();
  return failure(parser.resolveOperands(dependencies, tokenType, result.operands) ||
                 parser.resolveOperands(operands, types, operandsLoc, result.operands));
}

void CustomOp::print(OpAsmPrinter &printer) {
  if (StringAttr name = getSymNameAttr()) {
    printer << ' ';
    printer.printSymbolName(name);
  }
  printAsync(printer, *this, getAsyncToken() ? getAsyncToken().getType() : Type(), getAsyncDependencies());
  if (OperandRange operands = getCustomOperands(); !operands.empty()) {
    printer << " operands (";
    printer.printOperands(operands);
    printer << ") : ";
    llvm::interleaveComma(operands.getTypes(), printer);
  }
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getSymNameAttrName(), getOperandSegmentSizeAttr()});
}

} // namespace airlink::air
