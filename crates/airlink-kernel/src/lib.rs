//! What a kernel module says, as plain data: types, arguments, accesses, launches, externs.
