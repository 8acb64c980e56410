// The C functions that fill the gaps of MLIR's C API. crates/airlink-mlir-sys/src/lib.rs declares them for Rust and
// documents them; a signature changes in both places.
#ifndef AIRLINK_SHIMS_SHIMS_H
#define AIRLINK_SHIMS_SHIMS_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

// Parse.cpp
MlirModule airlinkModuleParse(MlirContext context, MlirStringRef source, MlirStringRef fileName);

// Function.cpp
bool airlinkFunctionSetArgumentAttribute(MlirOperation function, intptr_t index, MlirStringRef name,
                                         MlirAttribute attribute);
MlirAttribute airlinkFunctionGetArgumentAttributes(MlirOperation function, intptr_t index);

// Symbols.cpp
typedef void (*AirlinkSymbolUseCallback)(MlirOperation user, MlirAttribute reference, MlirStringRef attributeName,
                                         void *userData);
void airlinkSymbolUses(MlirOperation root, MlirStringRef symbol, AirlinkSymbolUseCallback callback, void *userData);
intptr_t airlinkReplaceSymbolUses(MlirOperation root, intptr_t count, const MlirStringRef *from,
                                  const MlirStringRef *to);

// Locations.cpp
typedef struct AirlinkFileRange {
  MlirStringRef file;
  uint32_t line, column, endLine, endColumn;
} AirlinkFileRange;
bool airlinkLocationResolve(MlirLocation location, AirlinkFileRange *range);

// Resources.cpp
typedef void (*AirlinkResourceCallback)(MlirStringRef key, const void *bytes, size_t length, void *userData);
void airlinkDenseResources(MlirOperation root, AirlinkResourceCallback callback, void *userData);
intptr_t airlinkRenameDenseResources(MlirOperation root, intptr_t count, const MlirStringRef *from,
                                     const MlirStringRef *to);
// The blob of a dense resource attribute, which lives as long as the context; empty for another attribute.
MlirStringRef airlinkDenseResourceBytes(MlirAttribute attribute);

// Emit.cpp
typedef void (*AirlinkBytesCallback)(const char *bytes, size_t length, void *userData);
enum AirlinkEmitKind { AirlinkEmitObject = 0, AirlinkEmitAssembly = 1, AirlinkEmitLLVM = 2 };
enum AirlinkEmitStatus {
  AirlinkEmitOk = 0,
  AirlinkEmitBadTarget = 1,
  AirlinkEmitBadModule = 2,
  AirlinkEmitFastMath = 3,
  AirlinkEmitFMulAdd = 4,
  AirlinkEmitBackend = 5,
};
typedef struct AirlinkEmitOptions {
  MlirStringRef triple, cpu, features;
  int32_t optLevel;
  int32_t kind;
} AirlinkEmitOptions;
int32_t airlinkEmit(MlirOperation module, const AirlinkEmitOptions *options, AirlinkBytesCallback sink, void *sinkData,
                    AirlinkBytesCallback error, void *errorData);

// Passes.cpp
void airlinkRegisterPasses(void);

#ifdef __cplusplus
}
#endif

#endif // AIRLINK_SHIMS_SHIMS_H
