// Arguments of anything that is a function.
#include "airlink/Shims/Shims.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

/// The function, if `op` is one and has an argument #`index` (or, with `orEnd`, a place for one).
static FunctionOpInterface functionWith(MlirOperation op, intptr_t index, bool orEnd = false) {
  auto function = dyn_cast<FunctionOpInterface>(unwrap(op));
  if (!function || index < 0)
    return {};
  intptr_t count = function.getNumArguments();
  return index < count || (orEnd && index == count) ? function : FunctionOpInterface();
}

bool airlinkFunctionInsertArgument(MlirOperation op, intptr_t index, MlirType type, MlirAttribute attributes,
                                   MlirLocation location) {
  FunctionOpInterface function = functionWith(op, index, /*orEnd=*/true);
  if (!function)
    return false;
  auto dictionary = dyn_cast_or_null<DictionaryAttr>(unwrap(attributes));
  return succeeded(function.insertArgument(static_cast<unsigned>(index), unwrap(type), dictionary, unwrap(location)));
}

bool airlinkFunctionEraseArgument(MlirOperation op, intptr_t index) {
  FunctionOpInterface function = functionWith(op, index);
  if (!function)
    return false;
  // A declaration has no block whose argument could be in use.
  if (!function.isExternal() && !function.getArgument(static_cast<unsigned>(index)).use_empty())
    return false;
  return succeeded(function.eraseArgument(static_cast<unsigned>(index)));
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
