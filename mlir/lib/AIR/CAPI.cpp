// C functions that register the dialect and tell its types.
#include "airlink/AIR/AIRDialect.h"

#include "mlir-c/IR.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Registration.h"

// The declaration gives the definition below C linkage.
extern "C" {
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(AIR, air);
}
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(AIR, air, airlink::air::AIRDialect)

extern "C" {

bool airlinkTypeIsAsyncToken(MlirType type) { return llvm::isa<airlink::air::AsyncTokenType>(unwrap(type)); }

} // extern "C"
