mod columns;
mod diff;
mod mutants;
mod programs;
mod rows;
