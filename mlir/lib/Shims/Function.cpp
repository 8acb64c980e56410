// Arguments of anything that is a function.
#include "airlink/Shims/Shims.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

/// The function, if `op` is one and has an argument #`index`.
static FunctionOpInterface functionWith(MlirOperation op, intptr_t index) {
  auto function = dyn_cast<FunctionOpInterface>(unwrap(op));
  bool has = function && index >= 0 && index < static_cast<intptr_t>(function.getNumArguments());
  return has ? function : FunctionOpInterface();
}

bool airlinkFunctionSetArgumentAttribute(MlirOperation op, intptr_t index, MlirStringRef name,
                                         MlirAttribute attribute) {
  FunctionOpInterface function = functionWith(op, index);
  if (!function)
    return false;
  auto key = StringAttr::get(function->getContext(), unwrap(name));
  if (mlirAttributeIsNull(attribute))
    function.removeArgAttr(static_cast<unsigned>(index), key);
  else
    function.setArgAttr(static_cast<unsigned>(index), key, unwrap(attribute));
  return true;
}

MlirAttribute airlinkFunctionGetArgumentAttributes(MlirOperation op, intptr_t index) {
  FunctionOpInterface function = functionWith(op, index);
  if (!function)
    return {nullptr};
  return wrap(Attribute(function.getArgAttrDict(static_cast<unsigned>(index))));
}
