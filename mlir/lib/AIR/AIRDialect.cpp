// The dialect itself: registration, types, attribute and the generated definitions.
#include "airlink/AIR/AIRDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace airlink::air;

#include "airlink/AIR/AIRDialect.cpp.inc"
#include "airlink/AIR/AIRInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "airlink/AIR/AIRTypes.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "airlink/AIR/AIRAttrs.cpp.inc"

#define GET_OP_CLASSES
#include "airlink/AIR/AIROps.cpp.inc"

void AIRDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "airlink/AIR/AIRTypes.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "airlink/AIR/AIRAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "airlink/AIR/AIROps.cpp.inc"
      >();
}
