// Parsing a module under a file name of the caller's: the C interface calls every source "-".
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

/// Parses and verifies `text`, which is followed by a NUL that its length does not count. Null on failure, with the
/// reasons given to the context's diagnostic handler.
extern "C" MlirModule airlinkModuleParse(MlirContext context, MlirStringRef text, MlirStringRef name) {
  ParserConfig config(unwrap(context), /*verifyAfterParse=*/true);
  return wrap(parseSourceString<ModuleOp>(unwrap(text), config, unwrap(name)).release());
}
