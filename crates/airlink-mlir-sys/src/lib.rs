//! Builds mlir/ and declares its C functions.
