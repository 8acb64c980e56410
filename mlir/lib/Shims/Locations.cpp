// From a location to the place in the user's file.
#include "airlink/Shims/Shims.h"

#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/Location.h"

using namespace mlir;

bool airlinkLocationResolve(MlirLocation location, AirlinkFileRange *range) {
  // A stack and not recursion: text can nest locations deeply. The first place in reading order wins.
  SmallVector<Location> pending = {unwrap(location)};
  while (!pending.empty()) {
    LocationAttr current = pending.pop_back_val();
    if (auto file = dyn_cast<FileLineColRange>(current)) {
      *range = {wrap(file.getFilename().getValue()), file.getStartLine(), file.getStartColumn(), file.getEndLine(),
                file.getEndColumn()};
      return true;
    }
    if (auto name = dyn_cast<NameLoc>(current)) {
      pending.push_back(name.getChildLoc());
    } else if (auto call = dyn_cast<CallSiteLoc>(current)) {
      // The callee is the operation's own place, the caller how it got there.
      pending.push_back(call.getCaller());
      pending.push_back(call.getCallee());
    } else if (auto fused = dyn_cast<FusedLoc>(current)) {
      for (Location part : llvm::reverse(fused.getLocations()))
        pending.push_back(part);
    } else if (auto opaque = dyn_cast<OpaqueLoc>(current)) {
      pending.push_back(opaque.getFallbackLocation());
    }
  }
  return false;
}
