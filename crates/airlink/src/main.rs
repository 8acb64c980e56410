//! The airlink command: the only crate that prints, exits or reads the environment.

mod cli;
mod commands;
mod depfile;
mod exit;
mod invocation;
mod limits;
mod load;
mod outcome;
mod paths;
mod pipe;
mod read;
mod watch;
mod write;

use clap::Parser;

use cli::{Cli, Command};
use exit::Exit;
use invocation::Invocation;

fn main() -> std::process::ExitCode {
    // A reader that leaves early (`airlink plan ... | head`) ends the run without a word, as it does other tools.
    let cli = Cli::parse_from(cli::normalize(std::env::args_os()));
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        default_hook(info);
        eprintln!("error[AL0901]: this is a bug in airlink; please report it with the command and its input files");
    }));
    let exit = std::panic::catch_unwind(move || run(cli)).unwrap_or(Exit::Bug);
    exit.into()
}

fn run(cli: Cli) -> Exit {
    let mut invocation = Invocation::new(cli.command.shared());
    if let Some(exit) = invocation.refuse_options(&cli.command) {
        return exit;
    }
    let exit = match cli.command {
        Command::Stitch(args) => pipe::stitch(&mut invocation, &args),
        Command::Plan(args) => commands::plan::run(&mut invocation, &args),
        Command::Check(args) => commands::check::run(&mut invocation, &args),
        Command::Verify(args) => commands::verify::run(&mut invocation, &args),
        Command::Run(args) => commands::run::run(&mut invocation, &args),
        Command::Diff(args) => commands::diff::run(&mut invocation, &args),
        Command::Rename(args) => commands::rename::run(&mut invocation, &args),
        Command::Opt(args) => commands::opt::run(&mut invocation, &args),
        Command::Explain(args) => commands::explain::run(&mut invocation, &args),
        Command::Completions(args) => commands::help::completions(&mut invocation, &args),
        Command::Man(_) => commands::help::man(&mut invocation),
        Command::Init(args) => commands::init::run(&mut invocation, &args),
        Command::Inspect(args) => commands::inspect::run(&mut invocation, &args),
        Command::Link(args) => commands::link::run(&mut invocation, &args),
        Command::Doctor(_) => commands::doctor::run(&mut invocation),
    };
    invocation.finish(exit)
}
