//! Decides cuts, order, wiring, names and variants. Plain data.
