//! The host target: AIR to LLVM to object to shared ELF; reference kernels; running and comparing.
