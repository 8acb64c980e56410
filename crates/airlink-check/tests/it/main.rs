mod diff;
mod mutants;
mod programs;
