// Launches with channels: what their code shares with airlink-rt. `crates/airlink-rt/src/stream/abi.rs` reads the same
// tables and fills the same list of services; a change here is a change there, and a new kStreamAbi.
#ifndef AIRLINK_HOST_STREAMS_H
#define AIRLINK_HOST_STREAMS_H

#include "airlink/AIR/AIRDialect.h"
#include "airlink/Host/Host.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/MapVector.h"
#include <variant>

namespace airlink::host {

using namespace mlir;

/// The version of the tables and services below.
constexpr int64_t kStreamAbi = 2;

/// The type of channels that keep what was put last: gets copy it and take nothing away.
constexpr StringLiteral kLatchType = "npu_mmio";

/// What an ELF asks of the run time, in the order of the service table, behind its version and its size.
enum class Service : int32_t {
  Begin, End, Put, Get, Copy, Herd, Alloc, Free, Join, Fence, Settle, Enter, Leave, Touch, Lend, Count
};

/// Marks a get of a tile whose buffer may lie where the data is.
constexpr llvm::StringLiteral kLent = "airlink.lent";

/// A word of a constant table: a number, or the address of another table.
using Word = std::variant<int64_t, LLVM::GlobalOp>;

/// Tables and calls of services.
class Runtime {
public:
  explicit Runtime(ModuleOp module);

  /// Calls a service; its i64 or pointer, null if it returns nothing.
  Value call(OpBuilder &builder, Location loc, Service service, ValueRange arguments);

  LLVM::GlobalOp table(ArrayRef<Word> words);
  /// Lets `now` be what refers to `old`, which goes.
  void replaceTable(LLVM::GlobalOp old, LLVM::GlobalOp now);
  /// A C string; equal texts are one.
  LLVM::GlobalOp text(StringRef text);
  /// Null for no words.
  Word words(ArrayRef<int64_t> values);
  /// The table of a channel; null if there is no such channel.
  LLVM::GlobalOp channel(Operation *user, StringRef name);
  Value address(OpBuilder &builder, Location loc, Word word);

  /// An array of i64 on the stack of the function, filled here; a constant where all values are. Null for no values.
  Value array(OpBuilder &builder, Location loc, ArrayRef<OpFoldResult> values);

private:
  ModuleOp module;
  SymbolTable symbols;
  OpBuilder constants;
  LLVM::GlobalOp services;
  llvm::StringMap<LLVM::GlobalOp> texts, channels;
};

/// The buffers of a tile that lie in its scratch block, and how large the block is.
struct TileScratch {
  struct Buffer {
    int64_t offset, bytes;
    std::string text;
  };
  SmallVector<Buffer> buffers;
  int64_t bytes = 0;
};

/// In which order of their row-major numbers the tiles of a herd run, each to its end. Any: at the same time. Task: it is
/// no herd, and runs of it are no runs of the same tiles.
enum class TileOrder : int64_t { Any, Ascending, Descending, Task };

/// The order that the buffers want through which tiles hand on data; privatizeTileBuffers finds it.
TileOrder orderOf(Operation *level);

/// What is known of each herd that became a function of its own, by the function's name.
struct HerdTable {
  LLVM::GlobalOp site;
  SmallVector<Word> head;
  SmallVector<std::array<int64_t, 3>> accesses;
  TileScratch scratch;
  TileOrder order = TileOrder::Any;
};
using HerdTables = llvm::MapVector<StringRef, HerdTable>;

/// Where the channel, the transfer or the herd stands: `kernel.mlir:12:3`; empty if unknown.
std::string placeText(Location loc);

/// ``launch `@q` ``, ``herd``.
std::string described(Operation *op);

/// What the launch, segment or herd of an argument is given for it; null for its ids and extents, and for arguments of
/// something else.
Value givenFor(BlockArgument argument);

/// The `memref.alloc` that a value comes from, also out of an `air.execute`; null if it comes from elsewhere.
memref::AllocOp allocOf(Value buffer);

/// Lets each put say itself how often it puts its elements: what its buffer or its channel says goes to it.
LogicalResult settleRefeeds(ModuleOp module);
int64_t timesPut(air::ChannelPutOp put);

/// Turns what an `air.execute` of control code does to memory in code of its own into a herd of one tile, where nothing
/// but its token comes out.
void makeTasksOfExecutes(Operation *entry);

/// Turns `herd` into a function that runs one tile and a call that issues the tiles.
LogicalResult outlineHerd(air::HerdOp herd, Runtime &runtime, HerdTables &tables);

/// Writes the tables of the herds once their scratch blocks are laid out.
void finishHerds(Runtime &runtime, HerdTables &tables);

/// Whether a function runs one tile of a herd.
bool isTile(func::FuncOp function);

/// Turns the launches that use channels into calls of services. The rest is left as it is, without tokens.
LogicalResult lowerStreams(ModuleOp module, Runtime &runtime, HerdTables &tables, std::optional<uint8_t> poison);

/// Gives each `memref.alloc` and `memref.alloca` a place on the stack or in static memory, those that kernels get between
/// zones that airlink-rt watches. If `poison` is given, the buffer is filled with that byte each time the operation is
/// reached, and all buffers are watched. Buffers of tiles that cannot lie on the stack go into `tiles`' scratch blocks.
mlir::LogicalResult placeBuffers(mlir::ModuleOp module, std::optional<uint8_t> poison, HerdTables &tiles);

/// Lets the bound run time be kept: `airlink_bind`.
void buildBind(ModuleOp module);

} // namespace airlink::host

#endif // AIRLINK_HOST_STREAMS_H
