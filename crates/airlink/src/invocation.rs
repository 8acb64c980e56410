//! What every command shares: the options, the findings, and how both reach the user.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use airlink_diag::{Finding, Findings, Reported, Severity, codes, render};
use camino::Utf8PathBuf;

use crate::cli::{Color, Command, Emit, MessageFormat, Shared};
use crate::exit::Exit;

/// One run of a command.
pub struct Invocation {
    pub options: Shared,
    pub findings: Findings,
    timings: Vec<(&'static str, Duration)>,
    /// Whether this run would write files: then a failure says that it wrote none.
    pub writes: bool,
    /// Every file that this run read, as the user would write it; no output may replace one.
    pub inputs: Vec<Utf8PathBuf>,
    /// The log that a failed run leaves.
    pub log_of_failure: Option<Utf8PathBuf>,
    /// Whether broken limits of the device are errors, and a device is assumed where none is named.
    pub judges_limits: bool,
    /// Whether this run tells what would make a plan better.
    pub wants_advice: bool,
    /// Whether this run links kernel objects: then each must be one of the host's.
    pub links: bool,
}

impl Invocation {
    pub fn new(options: &Shared) -> Invocation {
        Invocation {
            options: options.clone(),
            findings: Findings::default(),
            timings: Vec::new(),
            writes: false,
            inputs: Vec::new(),
            log_of_failure: None,
            judges_limits: false,
            wants_advice: false,
            links: false,
        }
    }

    /// `AIRLINK_LD`: the linker to use before those that are looked for.
    pub fn linker(&self) -> Option<PathBuf> {
        std::env::var_os("AIRLINK_LD").filter(|v| !v.is_empty()).map(PathBuf::from)
    }

    /// Whether `stitch` is to write this kind of file.
    pub fn emits(&self, kind: Emit) -> bool {
        self.options.emit.is_empty() || self.options.emit.contains(&kind)
    }

    /// Runs a phase and keeps its time for `--timing`.
    pub fn time<T>(&mut self, phase: &'static str, run: impl FnOnce(&mut Invocation) -> T) -> T {
        let start = Instant::now();
        let result = run(self);
        self.timings.push((phase, start.elapsed()));
        result
    }

    /// Exit 2 and a word for each option given that nothing implements yet, or whose value is unknown.
    pub fn refuse_options(&self, command: &Command) -> Option<Exit> {
        let list = self.options.unimplemented(command);
        for name in &list {
            self.complain(&format!("`{name}` is not implemented yet for `airlink {}`", command.name()));
        }
        if !list.is_empty() {
            return Some(Exit::Usage);
        }
        if self.options.is_output_idle(command) {
            let name = command.name();
            return Some(self.usage(&format!("`airlink {name}` writes no file, so `-o` has no meaning for it")));
        }
        let is_other_machine = self.options.cpu == airlink_host::Machine::AARCH64;
        if is_other_machine && (!matches!(command, Command::Stitch(_)) || self.emits(Emit::Elf)) {
            let text = "`--cpu aarch64` makes objects that are not linked and not run: `airlink stitch --emit obj`";
            return Some(self.usage(text));
        }
        if !is_other_machine && airlink_rt::CpuLevel::parse(&self.options.cpu).is_none() {
            let known = "x86-64, x86-64-v2, x86-64-v3, x86-64-v4, and aarch64 for objects";
            return Some(self.usage(&format!("`--cpu {}` is no CPU level; known are {known}", self.options.cpu)));
        }
        crate::limits::refuse(self)
    }

    /// A usage error: what is wrong with the command line.
    pub fn usage(&self, text: &str) -> Exit {
        self.complain(text);
        Exit::Usage
    }

    fn complain(&self, text: &str) {
        let style =
            if self.is_colored(std::io::stderr().is_terminal()) { ("\x1b[1m\x1b[31m", "\x1b[0m") } else { ("", "") };
        eprintln!("{}error{}: {text}", style.0, style.1);
    }

    /// Prints what the command itself has to say: to standard output, or to standard error where findings are JSON.
    pub fn print(&self, text: &str) {
        let written = match self.options.message_format {
            MessageFormat::Json => std::io::stderr().write_all(text.as_bytes()),
            _ => std::io::stdout().write_all(text.as_bytes()),
        };
        // A closed pipe is the reader's choice; any other failure has nowhere to be told.
        let _ = written;
    }

    /// As [`Invocation::print`], but silent with `-q`.
    pub fn say(&self, text: &str) {
        if !self.options.quiet {
            self.print(text);
        }
    }

    /// Prints the findings so far, turns warnings into errors with `-Werror`, and gives the exit code.
    pub fn finish(&mut self, exit: Exit) -> Exit {
        if self.options.is_werror() {
            self.findings.deny_warnings();
        }
        self.print_findings();
        if self.options.timing {
            for (phase, time) in &self.timings {
                eprintln!("{phase:<10} {:>9.3} ms", time.as_secs_f64() * 1e3);
            }
        }
        match exit {
            Exit::Done if self.findings.has_errors() => Exit::Findings,
            exit => exit,
        }
    }

    fn print_findings(&mut self) {
        let all = self.findings.in_file_order();
        let is_wanted = |f: &&&Finding| !self.options.quiet || f.severity != Severity::Note;
        let list: Vec<&&Finding> = all.iter().filter(is_wanted).collect();
        let mut text = String::new();
        let to_stdout = self.options.message_format == MessageFormat::Json;
        let is_terminal = if to_stdout { std::io::stdout().is_terminal() } else { std::io::stderr().is_terminal() };
        for finding in list {
            text += &match self.options.message_format {
                MessageFormat::Human => {
                    render::human(finding, &self.findings.sources, self.is_colored(is_terminal), WIDTH) + "\n"
                }
                MessageFormat::Short => render::short(finding, &self.findings.sources),
                MessageFormat::Json => render::json(finding, &self.findings.sources),
            };
        }
        if self.options.message_format == MessageFormat::Human {
            text += &self.summary_line();
        }
        let _ = match to_stdout {
            true => std::io::stdout().write_all(text.as_bytes()),
            false => std::io::stderr().write_all(text.as_bytes()),
        };
    }

    /// `no errors`, with the warnings; with `-Werror` they count as what they become.
    pub fn verdict(&self) -> String {
        let (errors, warnings) = (self.findings.count(Severity::Error), self.findings.count(Severity::Warning));
        let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        match (errors, warnings) {
            (0, 0) => "no errors".to_string(),
            (e, w) if e > 0 || self.options.is_werror() => plural(e + w, "error"),
            (_, w) => format!("no errors, {}", plural(w, "warning")),
        }
    }

    fn summary_line(&self) -> String {
        let errors = self.findings.count(Severity::Error);
        let warnings = self.findings.count(Severity::Warning);
        let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let wrote = match (&self.log_of_failure, self.writes) {
            (Some(log), true) => format!("; nothing written but {log}"),
            (None, true) => "; nothing written".to_string(),
            (_, false) => String::new(),
        };
        match (errors, warnings) {
            (0, _) => String::new(),
            (e, 0) => format!("{}{wrote}\n", plural(e, "error")),
            (e, w) => format!("{}, {}{wrote}\n", plural(e, "error"), plural(w, "warning")),
        }
    }

    fn is_colored(&self, is_terminal: bool) -> bool {
        match self.options.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => is_terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
        }
    }

    /// The exit code of a phase that gave up: 3 where a file named on the command line is the reason, 2 where another
    /// word on it is, 4 for a tool.
    pub fn exit_of(&self, _: Reported) -> Exit {
        let errors = || self.findings.iter().filter(|f| f.severity == Severity::Error);
        let without_place = |f: &&Finding| f.primary_span().is_none();
        if errors().any(|f| f.code.stage() == 9) {
            return Exit::Bug;
        }
        if errors().any(|f| f.code == codes::AL0803 || f.code == codes::AL0804) {
            return Exit::Tool;
        }
        match errors().find(without_place) {
            Some(f) if f.code == codes::AL0801 || f.code == codes::AL0802 || f.code == codes::AL0806 => Exit::File,
            Some(f) if f.code == codes::AL0704 => Exit::Usage,
            _ => Exit::Findings,
        }
    }
}

/// Columns that findings may use: what `annotate-snippets` cuts source lines to.
const WIDTH: usize = 120;
