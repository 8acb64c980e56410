// Channels, the two ends of a channel, and the copy.
#ifndef AIRLINK_AIR_TRANSFER_TD
#define AIRLINK_AIR_TRANSFER_TD

include "airlink/AIR/AIRBase.td"
include "mlir/IR/SymbolInterfaces.td"

def AIR_ChannelOp : AIR_Op<"channel", [Symbol]> {
  let summary = "An array of streams between memories";
  let description = [{
    `size` is the shape of the array; the empty shape is one stream.
    `broadcast_shape`, of the same rank, is the shape that the getting side
    sees. A stream carries elements, not messages: one put may feed many gets.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    DefaultValuedAttr<I64ArrayAttr, "{}">:$size,
    DefaultValuedAttr<StrAttr, "\"npu_dma_stream\"">:$channel_type);
  let assemblyFormat = "$sym_name $size attr-dict";
  let hasVerifier = 1;
}

// An access to a memref: three lists, each mixed of integers and values. The value groups and the `static_*`
// attributes are declared per operation, since their names and their places among the operands are part of the format.
class AIR_TransferOp<string opMnemonic>
    : AIR_Op<opMnemonic, [AttrSizedOperandSegments, AIR_AsyncInterface]> {
  let results = (outs Optional<AIR_AsyncToken>:$async_token);
  let hasVerifier = 1;
}

def AIR_ChannelPutOp : AIR_TransferOp<"channel.put"> {
  let summary = "Send the elements of an access into a channel";
  let description = [{
    `dest` is the rank that receives, on channels between ranks.
  }];
  let arguments = (ins
    Variadic<AIR_AsyncToken>:$async_dependencies,
    FlatSymbolRefAttr:$chan_name,
    Variadic<Index>:$indices,
    AnyRankedOrUnrankedMemRef:$src,
    Variadic<Index>:$dynamic_src_offsets,
    Variadic<Index>:$dynamic_src_sizes,
    Variadic<Index>:$dynamic_src_strides,
    Optional<Index>:$dest,
    DenseI64ArrayAttr:$static_src_offsets,
    DenseI64ArrayAttr:$static_src_sizes,
    DenseI64ArrayAttr:$static_src_strides,
    OptionalAttr<DenseI32ArrayAttr>:$pad_before,
    OptionalAttr<DenseI32ArrayAttr>:$pad_after);
  let assemblyFormat = [{
    `` custom<Async>(type($async_token), $async_dependencies)
    $chan_name `[` ($indices^)? `]`
    `(` $src `` custom<DynamicIndexList>($dynamic_src_offsets, $static_src_offsets)
                custom<DynamicIndexList>($dynamic_src_sizes, $static_src_sizes)
                custom<DynamicIndexList>($dynamic_src_strides, $static_src_strides) `)`
    (`dest` `(` $dest^ `)`)?
    attr-dict `:` `(` type($src) `)`
  }];
}

def AIR_ChannelGetOp : AIR_TransferOp<"channel.get"> {
  let summary = "Receive the elements of an access from a channel";
  let arguments = (ins
    Variadic<AIR_AsyncToken>:$async_dependencies,
    FlatSymbolRefAttr:$chan_name,
    Variadic<Index>:$indices,
    AnyRankedOrUnrankedMemRef:$dst,
    Variadic<Index>:$dynamic_dst_offsets,
    Variadic<Index>:$dynamic_dst_sizes,
    Variadic<Index>:$dynamic_dst_strides,
    DenseI64ArrayAttr:$static_dst_offsets,
    DenseI64ArrayAttr:$static_dst_sizes,
    DenseI64ArrayAttr:$static_dst_strides,
    OptionalAttr<DenseI32ArrayAttr>:$pad_before,
    OptionalAttr<DenseI32ArrayAttr>:$pad_after);
  let assemblyFormat = [{
    `` custom<Async>(type($async_token), $async_dependencies)
    $chan_name `[` ($indices^)? `]`
    `(` $dst `` custom<DynamicIndexList>($dynamic_dst_offsets, $static_dst_offsets)
                custom<DynamicIndexList>($dynamic_dst_sizes, $static_dst_sizes)
                custom<DynamicIndexList>($dynamic_dst_strides, $static_dst_strides) `)`
    attr-dict `:` `(` type($dst) `)`
  }];
}

def AIR_DmaMemcpyNdOp : AIR_TransferOp<"dma_memcpy_nd"> {
  let summary = "Copy the elements of one access to another";
  let description = [{
    `src_rank` and `dst_rank` name the rank whose heap a memref lies on.
  }];
  let arguments = (ins
    Variadic<AIR_AsyncToken>:$async_dependencies,
    AnyRankedOrUnrankedMemRef:$dst,
    Variadic<Index>:$dynamic_dst_offsets,
    Variadic<Index>:$dynamic_dst_sizes,
    Variadic<Index>:$dynamic_dst_strides,
    AnyRankedOrUnrankedMemRef:$src,
    Variadic<Index>:$dynamic_src_offsets,
    Variadic<Index>:$dynamic_src_sizes,
    Variadic<Index>:$dynamic_src_strides,
    DenseI64ArrayAttr:$static_dst_offsets,
    DenseI64ArrayAttr:$static_dst_sizes,
    DenseI64ArrayAttr:$static_dst_strides,
    DenseI64ArrayAttr:$static_src_offsets,
    DenseI64ArrayAttr:$static_src_sizes,
    DenseI64ArrayAttr:$static_src_strides,
    OptionalAttr<DenseI32ArrayAttr>:$pad_before,
    OptionalAttr<DenseI32ArrayAttr>:$pad_after,
    OptionalAttr<I64Attr>:$src_rank,
    OptionalAttr<I64Attr>:$dst_rank);
  let assemblyFormat = [{
    `` custom<Async>(type($async_token), $async_dependencies) ` `
    `(` $dst `` custom<DynamicIndexList>($dynamic_dst_offsets, $static_dst_offsets)
                custom<DynamicIndexList>($dynamic_dst_sizes, $static_dst_sizes)
                custom<DynamicIndexList>($dynamic_dst_strides, $static_dst_strides) `,`
        $src `` custom<DynamicIndexList>($dynamic_src_offsets, $static_src_offsets)
                custom<DynamicIndexList>($dynamic_src_sizes, $static_src_sizes)
                custom<DynamicIndexList>($dynamic_src_strides, $static_src_strides) `)`
    attr-dict `:` `(` type($dst) `,` type($src) `)`
  }];
}

def AIR_TranslateOp : AIR_Op<"translate", [Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "The same buffer as another rank addresses it";
  let arguments = (ins AnyMemRef:$source, Index:$from_rank, Index:$to_rank,
                       MemRefRankOf<[Index], [1]>:$heap_bases);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = [{
    $source `,` $from_rank `,` $to_rank `,` $heap_bases attr-dict `:` type($source) `,` type($heap_bases)
  }];
}

#endif // AIRLINK_AIR_TRANSFER_TD
