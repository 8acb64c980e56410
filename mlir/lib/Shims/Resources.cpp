// Keys of `dense_resource` attributes. MLIR gives a key that is taken in the context a suffix while it parses, so no
// blob is ever lost; but the key that is printed then depends on what else the context has read. These functions tell
// which resources a module prints and give them chosen keys.
#include "airlink/Shims/Shims.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinDialect.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

void airlinkDenseResources(MlirOperation root, AirlinkResourceCallback callback, void *userData) {
  // Distinct keys in the order of their first use, which is that of the text.
  llvm::MapVector<StringRef, AsmResourceBlob *> found;
  unwrap(root)->walk<WalkOrder::PreOrder>([&](Operation *op) {
    op->getAttrDictionary().walk([&](DenseResourceElementsAttr attribute) {
      DenseResourceElementsHandle handle = attribute.getRawHandle();
      found.insert({handle.getKey(), handle.getBlob()});
    });
  });
  for (auto [key, blob] : found) {
    ArrayRef<char> bytes = blob ? blob->getData() : ArrayRef<char>();
    callback(wrap(key), bytes.data(), bytes.size(), userData);
  }
}

intptr_t airlinkRenameDenseResources(MlirOperation root, intptr_t count, const MlirStringRef *from,
                                     const MlirStringRef *to) {
  auto &manager = DenseResourceElementsHandle::getManagerInterface(unwrap(root)->getContext());
  llvm::DenseMap<StringRef, StringRef> names;
  for (intptr_t index = 0; index < count; ++index)
    names[unwrap(from[index])] = unwrap(to[index]);

  // A key cannot be changed, so a second entry is made that shows the same bytes. Entries live as long as the context,
  // hence the bytes outlive it.
  llvm::DenseMap<StringRef, DenseResourceElementsHandle> made;
  auto renamed = [&](DenseResourceElementsHandle handle) {
    auto name = names.find(handle.getKey());
    if (name == names.end() || !handle.getBlob())
      return handle;
    auto it = made.find(handle.getKey());
    if (it != made.end())
      return it->second;
    AsmResourceBlob *blob = handle.getBlob();
    DenseResourceElementsHandle fresh = manager.insert(
        name->second, UnmanagedAsmResourceBlob::allocateWithAlign(blob->getData(), blob->getDataAlignment()));
    made.insert({handle.getKey(), fresh});
    return fresh;
  };
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](DenseResourceElementsAttr attribute) -> std::pair<Attribute, WalkResult> {
    return {DenseResourceElementsAttr::get(attribute.getType(), renamed(attribute.getRawHandle())),
            WalkResult::skip()};
  });
  replacer.recursivelyReplaceElementsIn(unwrap(root));
  return static_cast<intptr_t>(llvm::count_if(
      made, [&](const auto &entry) { return entry.second.getKey() == names.find(entry.first)->second; }));
}

MlirStringRef airlinkDenseResourceBytes(MlirAttribute attribute) {
  auto resource = dyn_cast<DenseResourceElementsAttr>(unwrap(attribute));
  AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  return blob ? mlirStringRefCreate(blob->getData().data(), blob->getData().size()) : mlirStringRefCreate(nullptr, 0);
}
