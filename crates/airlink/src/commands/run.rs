//! `airlink run`: one run of a host ELF.

use airlink_diag::{Finding, Reported, codes};
use airlink_host::RunInputs;
use camino::Utf8PathBuf;
use indexmap::IndexMap;

use crate::cli::{Format, RunArgs};
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::write::{self, Output};

pub fn run(invocation: &mut Invocation, args: &RunArgs) -> Exit {
    if !invocation.options.quiet {
        crate::watch::start();
    }
    match run_once(invocation, args) {
        Ok(()) => Exit::Done,
        Err(reported) => invocation.exit_of(reported),
    }
}

fn run_once(invocation: &mut Invocation, args: &RunArgs) -> Result<(), Reported> {
    let streams = args.streams.options();
    let mut inputs = RunInputs { seed: args.seed, arrays: IndexMap::new(), keep_intermediates: args.all, streams };
    for pair in &args.args {
        let Some((name, file)) = pair.split_once('=') else {
            return Err(invocation.findings.fail(
                Finding::error(codes::AL0711, format!("`--arg {pair}` names no file"))
                    .remedy("write --arg NAME=FILE.npy"),
            ));
        };
        let bytes = std::fs::read(file).map_err(|error| {
            let text = format!("`{file}` cannot be read: {error}");
            invocation.findings.fail(Finding::error(codes::AL0801, text).remedy("check the path"))
        })?;
        inputs.arrays.insert(name.to_string(), (file.to_string(), bytes));
    }
    let mut read = vec![args.file.clone()];
    read.extend(inputs.arrays.values().map(|(file, _)| Utf8PathBuf::from(file)));
    let output = airlink_host::run(args.file.as_std_path(), &inputs, &mut invocation.findings)?;
    let folder = invocation.options.output.clone().unwrap_or_else(|| Utf8PathBuf::from("."));
    let time = output.duration.as_secs_f64() * 1e3;
    // A ledger for programs stands alone on standard output.
    let is_ledger = args.profile && invocation.options.format == Some(Format::Json);
    let say = |invocation: &Invocation, text: &str| {
        if !is_ledger {
            invocation.say(text);
        }
    };
    say(
        invocation,
        &format!("ran {} launches of `{}` in {time:.3} ms\n", output.manifest.launches.len(), output.manifest.name),
    );
    if args.profile {
        let profile = airlink_host::profile(args.file.as_std_path(), &inputs, &mut invocation.findings)?;
        match invocation.options.format {
            Some(Format::Json) => invocation.print(&format!("{:#}\n", profile.json())),
            _ => invocation.print(&profile.table()),
        }
    }
    let files: Vec<Output> = output
        .arrays
        .into_iter()
        .map(|(name, bytes)| Output { path: folder.join(format!("{name}.npy")), bytes })
        .collect();
    write::spare(&files, &read, &mut invocation.findings)?;
    if invocation.options.dry_run {
        return Ok(());
    }
    write::all(&files, &mut invocation.findings)?;
    files.iter().for_each(|f| say(invocation, &format!("wrote {}\n", f.path)));
    Ok(())
}
