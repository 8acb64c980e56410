//! The host target's lowering of AIR: `mlir/lib/Host`.
//!
//! | pass | does |
//! |---|---|
//! | `airlink-lower-air{reverse-points poison=N}` | a fused AIR module becomes loops, copies and calls, with the entries of a host ELF; its diagnostics start with a code of airlink |

unsafe extern "C" {
    /// Registers the pass above for textual pipelines. Further calls do nothing.
    pub fn airlinkRegisterHostPasses();
}
