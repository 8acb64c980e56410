// The dialect, its types, its attribute and its interfaces.
#ifndef AIRLINK_AIR_BASE_TD
#define AIRLINK_AIR_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def AIR_Dialect : Dialect {
  let name = "air";
  let cppNamespace = "::airlink::air";
  let summary = "Launches, segments and herds of an NPU, and the transfers between them";
  let description = [{
    A program is a tree of isolated regions: a *launch* reserves a share of the
    array and runs over an iteration space; a *segment* owns L2 memory and
    herds; a *herd* is a grid of tiles that all run the same body. Data moves
    through explicit copies or through channels, which are symbols.

    The text form is the one that mlir-air reads and prints. Memory spaces are
    plain integers: none is L3, 1 is L2, 2 is L1.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

class AIR_Type<string cppName, string typeMnemonic> : TypeDef<AIR_Dialect, cppName> {
  let mnemonic = typeMnemonic;
}

def AIR_AsyncToken : AIR_Type<"AsyncToken", "async.token"> {
  let summary = "Completion of an asynchronous operation";
}

def AIR_Universe : AIR_Type<"Universe", "universe"> {
  let summary = "A pool of devices from which ranks are drawn";
}

def AIR_SymmetricHeap : AttrDef<AIR_Dialect, "SymmetricHeap"> {
  let mnemonic = "symmetric_heap";
  let summary = "Memory space of buffers that every rank can address";
}

def AIR_AsyncInterface : OpInterface<"AsyncInterface"> {
  let cppNamespace = "::airlink::air";
  let description = [{
    Starts after the tokens it takes are complete. With a token result it runs
    beside its successors; without one, what follows waits for it.
  }];
  let methods = [
    InterfaceMethod<"Tokens this operation waits for.",
      "::mlir::OperandRange", "getAsyncDependencies">,
    InterfaceMethod<"The token this operation completes, or null.",
      "::mlir::Value", "getAsyncToken">
  ];
}

def AIR_HierarchyInterface : OpInterface<"HierarchyInterface"> {
  let cppNamespace = "::airlink::air";
  let description = [{
    One level of the hierarchy. The block arguments of its body are the ids, as
    many extents, then one argument for each kernel operand.
  }];
  let methods = [
    InterfaceMethod<"Extents of the iteration space, seen from outside.",
      "::mlir::OperandRange", "getSizes">,
    InterfaceMethod<"Outer values that the body sees.",
      "::mlir::OperandRange", "getKernelOperands">,
    InterfaceMethod<"Rank of the iteration space.", "unsigned", "getNumDims", (ins), [{}], [{
      return $_op.getSizes().size();
    }]>,
    InterfaceMethod<"The body's ids.",
      "::llvm::ArrayRef<::mlir::BlockArgument>", "getIds", (ins), [{}], [{
      return $_op.getBody()->getArguments().take_front($_op.getSizes().size());
    }]>,
    InterfaceMethod<"The extents, seen from inside.",
      "::llvm::ArrayRef<::mlir::BlockArgument>", "getExtents", (ins), [{}], [{
      return $_op.getBody()->getArguments().slice($_op.getSizes().size(), $_op.getSizes().size());
    }]>,
    InterfaceMethod<"The kernel operands, seen from inside.",
      "::llvm::ArrayRef<::mlir::BlockArgument>", "getKernelArguments", (ins), [{}], [{
      return $_op.getBody()->getArguments().drop_front(2 * $_op.getSizes().size());
    }]>
  ];
}

class AIR_Op<string opMnemonic, list<Trait> traits = []> : Op<AIR_Dialect, opMnemonic, traits>;

#endif // AIRLINK_AIR_BASE_TD
