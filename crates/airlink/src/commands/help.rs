//! `airlink completions` and `airlink man`.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArgs};
use crate::exit::Exit;
use crate::invocation::Invocation;

pub fn completions(invocation: &mut Invocation, args: &CompletionsArgs) -> Exit {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "airlink", &mut text);
    invocation.print(&String::from_utf8_lossy(&text));
    Exit::Done
}

/// The manual page with a section for every command.
pub fn man(invocation: &mut Invocation) -> Exit {
    let command = Cli::command();
    let mut text = Vec::new();
    let mut pages = vec![command.clone()];
    pages.extend(
        command
            .get_subcommands()
            .filter(|c| c.get_name() != "help")
            .map(|c| c.clone().display_name(format!("airlink-{}", c.get_name()))),
    );
    for page in pages {
        // Writing to memory does not fail.
        let _ = clap_mangen::Man::new(page).render(&mut text);
    }
    invocation.print(&String::from_utf8_lossy(&text));
    Exit::Done
}
