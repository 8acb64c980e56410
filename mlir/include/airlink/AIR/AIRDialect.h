// The AIR dialect's C++ interface: what mlir-tblgen generates from AIR.td, in one include.
#ifndef AIRLINK_AIR_AIRDIALECT_H
#define AIRLINK_AIR_AIRDIALECT_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

#include "airlink/AIR/AIRDialect.h.inc"
#include "airlink/AIR/AIRInterfaces.h.inc"

#define GET_TYPEDEF_CLASSES
#include "airlink/AIR/AIRTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "airlink/AIR/AIRAttrs.h.inc"

#define GET_OP_CLASSES
#include "airlink/AIR/AIROps.h.inc"

namespace airlink::air {

/// Parses `async? ([tokens])?`. `tokenType` becomes the token type if the keyword is there, and stays null otherwise.
mlir::ParseResult parseAsync(mlir::OpAsmParser &parser, mlir::Type &tokenType,
                             llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &dependencies);

/// Prints ` async [tokens]` with a leading blank, or nothing.
void printAsync(mlir::OpAsmPrinter &printer, mlir::Operation *op, mlir::Type tokenType,
                mlir::OperandRange dependencies);

} // namespace airlink::air

#endif // AIRLINK_AIR_AIRDIALECT_H
