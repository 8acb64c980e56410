//! The safe layer over melior: context, parse, walk, symbols, clone, kernel summaries.
