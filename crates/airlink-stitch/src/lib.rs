//! Carries a plan out on IR: wrap, rename, merge.
