//! Running host ELFs: guarded buffers, loading, faults, seeded inputs.
