// Uses of symbols: found and renamed wherever a symbol reference stands, in one walk for any number of names.
#include "airlink/Shims/Shims.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;

/// Calls `visit` on `root` and on every op below it whose references resolve in `root`'s symbol table: the ops inside
/// a nested table resolve theirs there, the table itself does not.
static void walkSymbolScope(Operation *root, llvm::function_ref<void(Operation *)> visit) {
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    visit(op);
    bool nestedTable = op != root && op->hasTrait<OpTrait::SymbolTable>();
    return nestedTable ? WalkResult::skip() : WalkResult::advance();
  });
}

static bool mentions(SymbolRefAttr reference, StringRef symbol) {
  return reference.getRootReference() == symbol ||
         llvm::any_of(reference.getNestedReferences(),
                      [&](FlatSymbolRefAttr nested) { return nested.getValue() == symbol; });
}

void airlinkSymbolUses(MlirOperation root, MlirStringRef symbol, AirlinkSymbolUseCallback callback, void *userData) {
  StringRef wanted = unwrap(symbol);
  walkSymbolScope(unwrap(root), [&](Operation *op) {
    for (NamedAttribute named : op->getAttrDictionary())
      named.getValue().walk<WalkOrder::PreOrder>([&](SymbolRefAttr reference) {
        if (wanted.empty() || mentions(reference, wanted))
          callback(wrap(op), wrap(Attribute(reference)), wrap(named.getName().getValue()), userData);
        // The parts of a nested reference are references themselves; it is reported once, as a whole.
        return WalkResult::skip();
      });
  });
}

intptr_t airlinkReplaceSymbolUses(MlirOperation root, intptr_t count, const MlirStringRef *from,
                                  const MlirStringRef *to) {
  MLIRContext *context = unwrap(root)->getContext();
  llvm::DenseMap<StringAttr, StringAttr> renamed;
  for (intptr_t index = 0; index < count; ++index)
    renamed[StringAttr::get(context, unwrap(from[index]))] = StringAttr::get(context, unwrap(to[index]));

  auto newName = [&](StringAttr name) {
    auto it = renamed.find(name);
    return it == renamed.end() ? name : it->second;
  };
  // Replaces each distinct attribute once, however many operations carry it.
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](SymbolRefAttr reference) -> std::pair<Attribute, WalkResult> {
    SmallVector<FlatSymbolRefAttr> nested;
    for (FlatSymbolRefAttr part : reference.getNestedReferences())
      nested.push_back(FlatSymbolRefAttr::get(newName(part.getAttr())));
    return {SymbolRefAttr::get(newName(reference.getRootReference()), nested), WalkResult::skip()};
  });

  intptr_t changed = 0;
  walkSymbolScope(unwrap(root), [&](Operation *op) {
    DictionaryAttr before = op->getAttrDictionary();
    auto after = cast<DictionaryAttr>(replacer.replace(before));
    if (after == before)
      return;
    op->setAttrs(after);
    ++changed;
  });
  return changed;
}
