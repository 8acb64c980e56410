// Parsing a file as a module. The C API has a parser that wraps the file in a module but knows no file name, and one
// that knows the name but wants exactly one operation.
#include "airlink/Shims/Shims.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

MlirModule airlinkModuleParse(MlirContext context, MlirStringRef source, MlirStringRef fileName) {
  llvm::SourceMgr sources;
  // The lexer reads one byte beyond the end and expects a null there, which the caller's string need not have.
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(unwrap(source), unwrap(fileName)), llvm::SMLoc());
  ParserConfig config(unwrap(context), /*verifyAfterParse=*/true);
  return wrap(parseSourceFile<ModuleOp>(sources, config).release());
}
