//! Judges a fused module from the IR alone.
