// Waiting, asynchronous regions, and the opaque operation.
#ifndef AIRLINK_AIR_ASYNC_TD
#define AIRLINK_AIR_ASYNC_TD

include "airlink/AIR/AIRBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def AIR_WaitAllOp : AIR_Op<"wait_all", [AIR_AsyncInterface]> {
  let summary = "Wait for tokens, or join them into one";
  let arguments = (ins Variadic<AIR_AsyncToken>:$async_dependencies);
  let results = (outs Optional<AIR_AsyncToken>:$async_token);
  let assemblyFormat = "`` custom<Async>(type($async_token), $async_dependencies) attr-dict";
}

def AIR_ExecuteOp : AIR_Op<"execute", [
    SingleBlockImplicitTerminator<"ExecuteTerminatorOp">, AIR_AsyncInterface]> {
  let summary = "Run a region asynchronously";
  let description = [{
    The token is always there and always first. The other results are what the
    terminator hands out.
  }];
  let arguments = (ins Variadic<AIR_AsyncToken>:$async_dependencies);
  let results = (outs AIR_AsyncToken:$async_token, Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$region);
  let assemblyFormat = [{
    (` ` `[` $async_dependencies^ `]`)? (`->` `(` type($results)^ `)`)? $region attr-dict
  }];
  let hasVerifier = 1;
}

def AIR_ExecuteTerminatorOp
    : AIR_Op<"execute_terminator", [HasParent<"ExecuteOp">, Pure, ReturnLike, Terminator]> {
  let summary = "Ends the region of `air.execute` and hands out its values";
  let arguments = (ins Variadic<AnyType>:$values);
  let builders = [OpBuilder<(ins), [{ (void)$_builder; (void)$_state; }]>];
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def AIR_CustomOp
    : AIR_Op<"custom", [AttrSizedOperandSegments, AIR_AsyncInterface]> {
  let summary = "An operation whose meaning is outside the program";
  let arguments = (ins
    OptionalAttr<StrAttr>:$sym_name,
    OptionalAttr<SymbolRefAttr>:$symbol,
    Variadic<AIR_AsyncToken>:$async_dependencies,
    Variadic<AnyType>:$custom_operands);
  let results = (outs Optional<AIR_AsyncToken>:$async_token);
  let hasCustomAssemblyFormat = 1;
}

#endif // AIRLINK_AIR_ASYNC_TD
