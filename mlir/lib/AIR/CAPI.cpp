// C functions that register the dialect and make its types.
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

MlirType airlinkAsyncTokenTypeGet(MlirContext context) {
  unwrap(context)->getOrLoadDialect<airlink::air::AIRDialect>();
  return wrap(mlir::Type(airlink::air::AsyncTokenType::get(unwrap(context))));
}

bool airlinkTypeIsUniverse(MlirType type) { return llvm::isa<airlink::air::UniverseType>(unwrap(type)); }

bool airlinkAttributeIsSymmetricHeap(MlirAttribute attribute) {
  mlir::Attribute inner = unwrap(attribute);
  return inner && llvm::isa<airlink::air::SymmetricHeapAttr>(inner);
}

} // extern "C"
