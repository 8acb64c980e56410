mod compiled;
mod rename;
mod tools;
