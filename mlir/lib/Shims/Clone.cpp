// Cloning with a mapping of values.
#include "airlink/Shims/Shims.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

MlirOperation airlinkCloneMapped(MlirOperation op, intptr_t count, const MlirValue *from, const MlirValue *to) {
  IRMapping mapping;
  for (intptr_t index = 0; index < count; ++index)
    mapping.map(unwrap(from[index]), unwrap(to[index]));
  return wrap(unwrap(op)->clone(mapping));
}

bool airlinkInlineBlock(MlirBlock source, MlirOperation anchor, intptr_t argumentCount, const MlirValue *arguments,
                        intptr_t resultCount, MlirValue *results) {
  Block *block = unwrap(source);
  Operation *terminator = block->mightHaveTerminator() ? block->getTerminator() : nullptr;
  intptr_t handedOut = terminator ? terminator->getNumOperands() : 0;
  if (argumentCount != static_cast<intptr_t>(block->getNumArguments()) || resultCount != handedOut)
    return false;
  IRMapping mapping;
  for (BlockArgument argument : block->getArguments()) {
    Value value = unwrap(arguments[argument.getArgNumber()]);
    if (value.getType() != argument.getType())
      return false;
    mapping.map(argument, value);
  }
  OpBuilder builder(unwrap(anchor));
  for (Operation &op : *block)
    if (&op != terminator)
      builder.clone(op, mapping);
  for (intptr_t index = 0; index < resultCount; ++index)
    results[index] = wrap(mapping.lookupOrDefault(terminator->getOperand(index)));
  return true;
}
