//! The airlink command: the only crate that prints, exits or reads the environment.

mod cli;
mod commands;
mod depfile;
mod exit;
mod load;
mod paths;
mod pipe;
mod session;
mod write;

use clap::Parser;

use cli::{Cli, Command};
use exit::Exit;
use session::Session;

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
    let mut session = Session::new(cli.command.shared());
    if let Some(exit) = session.refuse_options(&cli.command) {
        return exit;
    }
    let exit = match cli.command {
        Command::Stitch(args) => pipe::stitch(&mut session, &args),
        Command::Plan(args) => commands::plan::run(&mut session, &args),
        Command::Check(args) => commands::check::run(&mut session, &args),
        Command::Verify(args) => commands::verify::run(&mut session, &args),
        Command::Run(args) => commands::run::run(&mut session, &args),
        Command::Diff(args) => commands::diff::run(&mut session, &args),
        Command::Rename(args) => commands::rename::run(&mut session, &args),
        Command::Opt(args) => commands::opt::run(&mut session, &args),
        Command::Explain(args) => commands::explain::run(&mut session, &args),
        Command::Completions(args) => commands::help::completions(&mut session, &args),
        Command::Man(_) => commands::help::man(&mut session),
        Command::Init(args) => commands::init::run(&mut session, &args),
        Command::Inspect(args) => commands::inspect::run(&mut session, &args),
        Command::Link(_) => session.not_implemented("`airlink link`"),
        Command::Doctor(_) => commands::doctor::run(&mut session),
    };
    session.finish(exit)
}
