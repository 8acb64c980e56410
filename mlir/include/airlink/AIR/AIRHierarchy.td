// launch, segment, herd, rank and their terminators.
#ifndef AIRLINK_AIR_HIERARCHY_TD
#define AIRLINK_AIR_HIERARCHY_TD

include "airlink/AIR/AIRBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

// One level. All four share a parser, a printer and a verifier (lib/AIR/Hierarchy.cpp); they differ in the operand
// group before the sizes (rank only) and in the keyword that introduces the space.
class AIR_HierarchyOp<string opMnemonic, string cppPrefix, dag extraAttributes, dag extraOperands>
    : AIR_Op<opMnemonic, [
        AttrSizedOperandSegments, IsolatedFromAbove, AffineScope,
        SingleBlockImplicitTerminator<cppPrefix # "TerminatorOp">,
        AIR_AsyncInterface,
        AIR_HierarchyInterface]> {
  // The name is not a symbol: two herds of one module may share it.
  let arguments = !con(
    (ins OptionalAttr<StrAttr>:$sym_name),
    extraAttributes,
    (ins Variadic<AIR_AsyncToken>:$async_dependencies),
    extraOperands,
    (ins Variadic<Index>:$sizes, Variadic<AnyType>:$kernel_operands));
  let results = (outs Optional<AIR_AsyncToken>:$async_token);
  let regions = (region SizedRegion<1>:$region);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

class AIR_HierarchyTerminatorOp<string parent, string cppParent>
    : AIR_Op<parent # "_terminator", [HasParent<cppParent>, Pure, Terminator]> {
  let summary = "Ends the body of `air." # parent # "`";
  let assemblyFormat = "attr-dict";
}

def AIR_LaunchOp : AIR_HierarchyOp<"launch", "Launch", (ins), (ins)> {
  let summary = "Run segments over an iteration space with a share of the array reserved";
}
def AIR_LaunchTerminatorOp : AIR_HierarchyTerminatorOp<"launch", "LaunchOp">;

def AIR_SegmentOp : AIR_HierarchyOp<"segment", "Segment", (ins), (ins)> {
  let summary = "Herds and the L2 memory they share, optionally unrolled in space";
}
def AIR_SegmentTerminatorOp : AIR_HierarchyTerminatorOp<"segment", "SegmentOp">;

def AIR_HerdOp : AIR_HierarchyOp<"herd", "Herd", (ins OptionalAttr<StrAttr>:$link_with), (ins)> {
  let summary = "A grid of tiles that run one body";
  let description = [{
    `link_with` names the kernel object that the tiles' calls resolve to.
  }];
}
def AIR_HerdTerminatorOp : AIR_HierarchyTerminatorOp<"herd", "HerdOp">;

def AIR_RankOp : AIR_HierarchyOp<"rank", "Rank", (ins), (ins Optional<AIR_Universe>:$universe)> {
  let summary = "Run launches once per device";
}
def AIR_RankTerminatorOp : AIR_HierarchyTerminatorOp<"rank", "RankOp">;

def AIR_UniverseAllocOp : AIR_Op<"universe.alloc", [Pure]> {
  let summary = "A pool of so many devices";
  let arguments = (ins Index:$capacity);
  let results = (outs AIR_Universe:$universe);
  let assemblyFormat = "`(` $capacity `)` attr-dict";
}

#endif // AIRLINK_AIR_HIERARCHY_TD
