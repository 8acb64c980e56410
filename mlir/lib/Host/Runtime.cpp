// Tables that airlink-rt reads, and calls of what it offers.
#include "airlink/Host/Streams.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace airlink::host {

namespace {

constexpr StringLiteral kServices = "airlink.services";
// Version and size stand in front of the services.
constexpr int32_t kFirstService = 2;

Type pointerType(MLIRContext *context) { return LLVM::LLVMPointerType::get(context); }

/// What a service returns; null for nothing.
Type resultType(Service service, MLIRContext *context) {
  switch (service) {
  case Service::Put:
  case Service::Get:
  case Service::Copy:
  case Service::Herd:
  case Service::Join:
  case Service::Leave:
    return IntegerType::get(context, 64);
  case Service::Alloc:
  case Service::Lend:
    return pointerType(context);
  default:
    return {};
  }
}

/// Where allocations of a function stand, so that a loop does not grow its stack.
Block &entryBlock(OpBuilder &builder) {
  Operation *op = builder.getInsertionBlock()->getParentOp();
  auto function = dyn_cast<func::FuncOp>(op);
  return (function ? function : op->getParentOfType<func::FuncOp>()).getBody().front();
}

} // namespace

Runtime::Runtime(ModuleOp module) : module(module), symbols(module), constants(module.getContext()) {
  constants.setInsertionPointToStart(module.getBody());
  Type pointer = pointerType(module.getContext());
  services = module.lookupSymbol<LLVM::GlobalOp>(kServices);
  if (services)
    return;
  services = LLVM::GlobalOp::create(constants, module.getLoc(), pointer, /*isConstant=*/false,
                                    LLVM::Linkage::Internal, kServices, Attribute(), 8);
  OpBuilder inside(module.getContext());
  inside.createBlock(&services.getInitializerRegion());
  LLVM::ReturnOp::create(inside, module.getLoc(), LLVM::ZeroOp::create(inside, module.getLoc(), pointer).getResult());
}

Value Runtime::call(OpBuilder &builder, Location loc, Service service, ValueRange arguments) {
  MLIRContext *context = module.getContext();
  Type pointer = pointerType(context);
  Value table = LLVM::LoadOp::create(builder, loc, pointer, LLVM::AddressOfOp::create(builder, loc, services), 8);
  Value slot = LLVM::GEPOp::create(builder, loc, pointer, pointer, table,
                                   ArrayRef<LLVM::GEPArg>{kFirstService + static_cast<int32_t>(service)});
  SmallVector<Value> operands{LLVM::LoadOp::create(builder, loc, pointer, slot, 8)};
  llvm::append_range(operands, arguments);
  Type result = resultType(service, context);
  auto type = LLVM::LLVMFunctionType::get(result ? result : LLVM::LLVMVoidType::get(context),
                                          SmallVector<Type>(arguments.getTypes()));
  auto call = LLVM::CallOp::create(builder, loc, type, operands);
  return result ? call.getResult() : Value();
}

LLVM::GlobalOp Runtime::table(ArrayRef<Word> words) {
  MLIRContext *context = module.getContext();
  Type i64 = constants.getI64Type(), pointer = pointerType(context);
  SmallVector<Type> types;
  for (const Word &word : words)
    types.push_back(std::holds_alternative<int64_t>(word) ? i64 : pointer);
  auto type = LLVM::LLVMStructType::getLiteral(context, types);
  Location loc = module.getLoc();
  constants.setInsertionPointToStart(module.getBody());
  auto global = LLVM::GlobalOp::create(constants, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                       "airlink.table", Attribute(), 8);
  symbols.insert(global);
  OpBuilder inside(context);
  inside.createBlock(&global.getInitializerRegion());
  Value content = LLVM::ZeroOp::create(inside, loc, type);
  for (auto [index, word] : llvm::enumerate(words)) {
    Value value;
    if (auto *number = std::get_if<int64_t>(&word))
      value = i64Constant(inside, loc, *number);
    else if (LLVM::GlobalOp other = std::get<LLVM::GlobalOp>(word))
      value = LLVM::AddressOfOp::create(inside, loc, other);
    else
      continue; // A null pointer is there already.
    content = LLVM::InsertValueOp::create(inside, loc, content, value, ArrayRef<int64_t>{int64_t(index)});
  }
  LLVM::ReturnOp::create(inside, loc, content);
  return global;
}

void Runtime::replaceTable(LLVM::GlobalOp old, LLVM::GlobalOp now) {
  StringAttr name = old.getSymNameAttr();
  symbols.erase(old);
  symbols.remove(now);
  now.setSymNameAttr(name);
  symbols.insert(now);
}

LLVM::GlobalOp Runtime::text(StringRef text) {
  LLVM::GlobalOp &global = texts[text];
  if (global)
    return global;
  std::string bytes = text.str();
  bytes.push_back('\0');
  auto type = LLVM::LLVMArrayType::get(constants.getI8Type(), bytes.size());
  constants.setInsertionPointToStart(module.getBody());
  global = LLVM::GlobalOp::create(constants, module.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Internal,
                                  "airlink.text", constants.getStringAttr(bytes));
  symbols.insert(global);
  return global;
}

Word Runtime::words(ArrayRef<int64_t> values) {
  if (values.empty())
    return LLVM::GlobalOp();
  return table(llvm::map_to_vector(values, [](int64_t value) { return Word(value); }));
}

LLVM::GlobalOp Runtime::channel(Operation *user, StringRef name) {
  LLVM::GlobalOp &global = channels[name];
  if (global)
    return global;
  auto channel = module.lookupSymbol<air::ChannelOp>(name);
  if (!channel) {
    user->emitError("AL0701: there is no channel `@") << name << "`";
    return {};
  }
  auto extents = [](ArrayAttr shape) {
    return llvm::map_to_vector(shape, [](Attribute extent) { return cast<IntegerAttr>(extent).getInt(); });
  };
  SmallVector<int64_t> members = extents(channel.getSize());
  auto broadcast = channel->getAttrOfType<ArrayAttr>("broadcast_shape");
  SmallVector<int64_t> destinations = broadcast ? extents(broadcast) : members;
  StringRef kind = channel.getChannelType();
  const StringRef kinds[] = {"npu_dma_stream", "npu_dma_packet", "npu_cascade", kLatchType};
  const StringRef *known = llvm::find(kinds, kind);
  if (known == std::end(kinds)) {
    user->emitError("AL0701: channel `@") << name << "` has type `" << kind << "`, which the host target cannot run yet";
    return {};
  }
  int64_t number = known - std::begin(kinds);
  global = table({text(name), text(placeText(channel.getLoc())), number, int64_t(members.size()),
                  words(members), words(destinations)});
  return global;
}

Value Runtime::address(OpBuilder &builder, Location loc, Word word) {
  auto *global = std::get_if<LLVM::GlobalOp>(&word);
  if (global && *global)
    return LLVM::AddressOfOp::create(builder, loc, *global);
  return LLVM::ZeroOp::create(builder, loc, pointerType(module.getContext()));
}

Value Runtime::array(OpBuilder &builder, Location loc, ArrayRef<OpFoldResult> values) {
  SmallVector<int64_t> known;
  for (OpFoldResult value : values)
    if (std::optional<int64_t> constant = getConstantIntValue(value))
      known.push_back(*constant);
  if (known.size() == values.size())
    return address(builder, loc, words(known));
  Type i64 = builder.getI64Type(), pointer = pointerType(builder.getContext());
  OpBuilder first = OpBuilder::atBlockBegin(&entryBlock(builder));
  Value count = i64Constant(first, loc, values.size());
  Value array = LLVM::AllocaOp::create(first, loc, pointer, i64, count, 8);
  for (auto [index, value] : llvm::enumerate(values)) {
    Value word;
    if (std::optional<int64_t> constant = getConstantIntValue(value))
      word = i64Constant(builder, loc, *constant);
    else if (word = cast<Value>(value); word.getType().isIndex())
      word = arith::IndexCastOp::create(builder, loc, i64, word);
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, i64, array, ArrayRef<LLVM::GEPArg>{int32_t(index)});
    LLVM::StoreOp::create(builder, loc, word, slot, 8);
  }
  return array;
}

std::string placeText(Location loc) {
  std::string text;
  Attribute(LocationAttr(loc)).walk<WalkOrder::PreOrder>([&](FileLineColRange file) {
    text = (file.getFilename().getValue() + ":" + Twine(file.getStartLine()) + ":" + Twine(file.getStartColumn())).str();
    return WalkResult::interrupt();
  });
  return text;
}

void buildBind(ModuleOp module) {
  auto services = module.lookupSymbol<LLVM::GlobalOp>(kServices);
  if (!services)
    return;
  MLIRContext *context = module.getContext();
  Location loc = module.getLoc();
  Type pointer = pointerType(context);
  OpBuilder builder = OpBuilder::atBlockEnd(module.getBody());
  Type i32 = builder.getI32Type(), i64 = builder.getI64Type();
  auto bind = func::FuncOp::create(builder, loc, "airlink_bind", builder.getFunctionType({pointer}, {i32}));
  Block *check = bind.addEntryBlock(), *keep = bind.addBlock(), *refuse = bind.addBlock();
  builder.setInsertionPointToEnd(check);
  auto word = [&](int32_t index) -> Value {
    Value slot = LLVM::GEPOp::create(builder, loc, pointer, i64, check->getArgument(0), ArrayRef<LLVM::GEPArg>{index});
    return LLVM::LoadOp::create(builder, loc, i64, slot, 8);
  };
  Value known = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, word(0),
                                      i64Constant(builder, loc, kStreamAbi));
  int64_t bytes = 8 * (kFirstService + static_cast<int64_t>(Service::Count));
  Value large = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, word(1),
                                      i64Constant(builder, loc, bytes));
  Value fits = arith::AndIOp::create(builder, loc, known, large);
  cf::CondBranchOp::create(builder, loc, fits, keep, refuse);
  auto end = [&](Block *block, int64_t code) {
    builder.setInsertionPointToEnd(block);
    if (block == keep)
      LLVM::StoreOp::create(builder, loc, check->getArgument(0), LLVM::AddressOfOp::create(builder, loc, services), 8);
    func::ReturnOp::create(builder, loc, Value(arith::ConstantIntOp::create(builder, loc, i32, code)));
  };
  end(keep, 0);
  end(refuse, 1);
}

} // namespace airlink::host
