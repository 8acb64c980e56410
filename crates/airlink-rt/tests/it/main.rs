//! Tests of the run time, on host ELFs that the C compiler makes while the tests run.

mod buffers;
mod calls;
mod comparing;
mod elements;
mod loading;
mod npy_files;
mod program;
mod seeded;
mod signals;
