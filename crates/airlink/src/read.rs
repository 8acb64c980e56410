//! Reading text files, and saying what a file is that is not what the command wants.

use airlink_diag::{FileId, Finding, Findings, Reported, Span, codes};
use camino::Utf8Path;

/// What a command takes a file for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A launch graph, in TOML.
    Graph,
    /// A module, in MLIR.
    Module,
}

/// Reads a text file into the sources. `named_at` is where the user named it; without one, the command line did.
///
/// # Errors
/// AL0801 if it cannot be read, AL0105 if it is not UTF-8, AL0101 or AL0102 if it is plainly of another kind.
pub fn text_file(
    path: &Utf8Path,
    wanted: Wanted,
    named_at: Option<Span>,
    findings: &mut Findings,
) -> Result<FileId, Reported> {
    let bytes = std::fs::read(path).map_err(|error| {
        findings.fail(
            Finding::error(codes::AL0801, format!("`{path}` cannot be read: {error}"))
                .maybe_at(named_at, "named here")
                .remedy(match named_at {
                    Some(_) => "paths in a graph are relative to the graph's folder",
                    None => "check the path",
                }),
        )
    })?;
    if let Some(what) = airlink_elf::binary_kind(&bytes) {
        return Err(findings.fail(binary(path, what, wanted).maybe_at(named_at, "named here")));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let finding = not_utf8(path, &error, named_at, findings);
            return Err(findings.fail(finding));
        }
    };
    match other_kind(path, &text, wanted) {
        Some(finding) => Err(findings.fail(finding.maybe_at(named_at, "named here"))),
        None => Ok(findings.sources.add(path.as_str(), text)),
    }
}

/// A file of a known binary format.
fn binary(path: &Utf8Path, what: &str, wanted: Wanted) -> Finding {
    let finding = Finding::error(codes::AL0105, format!("`{path}` is {what}, not {}", wanted.name()));
    match what.contains("ELF") {
        true => finding.remedy(format!("`airlink inspect {path}` shows it; give {} here", wanted.name())),
        false => finding.remedy(format!("give {} here, as UTF-8 text", wanted.name())),
    }
}

/// Text in another encoding is shown where it goes wrong; anything else stays off the terminal.
fn not_utf8(
    path: &Utf8Path,
    error: &std::string::FromUtf8Error,
    named_at: Option<Span>,
    all: &mut Findings,
) -> Finding {
    let finding = Finding::error(codes::AL0105, format!("`{path}` is not UTF-8 text"))
        .remedy("save the file as UTF-8; MLIR bytecode and compiled files are not read here");
    let is_text = |b: &u8| *b >= 0x80 || b.is_ascii_graphic() || b.is_ascii_whitespace();
    if !error.as_bytes().iter().all(is_text) {
        return finding.maybe_at(named_at, "named here");
    }
    let at = error.utf8_error().valid_up_to();
    let file = all.sources.add(path.as_str(), String::from_utf8_lossy(error.as_bytes()));
    finding
        .at(Span::new(file, at..at + char::REPLACEMENT_CHARACTER.len_utf8()), "the first byte that is not UTF-8")
        .maybe_also(named_at, "named here")
}

/// What to say of a text file that is plainly of another kind: one line in place of a parser's many.
fn other_kind(path: &Utf8Path, text: &str, wanted: Wanted) -> Option<Finding> {
    let found = kind(path, text)?;
    match (wanted, found) {
        (Wanted::Graph, Kind::Module) => Some(
            Finding::error(codes::AL0101, format!("`{path}` is MLIR, not a launch graph"))
                .remedy(format!("`airlink init {path} -o graph.toml` makes a graph from it")),
        ),
        (Wanted::Module, Kind::Graph) => Some(
            Finding::error(codes::AL0102, format!("`{path}` is TOML, not MLIR"))
                .remedy("give a kernel's module; `airlink plan` shows a launch graph"),
        ),
        (Wanted::Graph, Kind::C) => Some(
            Finding::error(codes::AL0101, format!("`{path}` is C or C++, not a launch graph"))
                .remedy("`airlink init KERNEL.mlir... -o graph.toml` makes a graph from the modules that call it"),
        ),
        (Wanted::Module, Kind::C) => Some(
            Finding::error(codes::AL0102, format!("`{path}` is C or C++, not MLIR"))
                .remedy("give the module that calls it; its object is found by the `link_with` name there"),
        ),
        (Wanted::Graph, Kind::Json) => Some(
            Finding::error(codes::AL0101, format!("`{path}` is JSON, not a launch graph"))
                .remedy("`airlink inspect` shows a link map; a launch graph is TOML"),
        ),
        (Wanted::Module, Kind::Json) => Some(
            Finding::error(codes::AL0102, format!("`{path}` is JSON, not MLIR"))
                .remedy("`airlink inspect` shows a link map; give a kernel's module here"),
        ),
        (Wanted::Graph, Kind::Graph) | (Wanted::Module, Kind::Module) => None,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Graph,
    Module,
    C,
    Json,
}

/// By the first line that says something. `#` starts a comment in TOML, an attribute alias in MLIR and a directive in C.
fn kind(path: &Utf8Path, text: &str) -> Option<Kind> {
    if matches!(path.extension(), Some("c" | "cc" | "cpp" | "cxx" | "h" | "hpp")) || is_c(text) {
        return Some(Kind::C);
    }
    let is_silent = |l: &&str| l.is_empty() || l.starts_with('#') || l.starts_with("//") || l.starts_with('!');
    let line = text.trim_start_matches('\u{feff}').lines().map(str::trim).find(|l| !is_silent(l))?;
    const MODULE: [&str; 8] = [
        "module {",
        "module @",
        "module attributes",
        "func.func ",
        "\"builtin.module\"",
        "builtin.module",
        "air.",
        "aie.",
    ];
    let is_header = line.starts_with('[') && line.split('#').next().is_some_and(|l| l.trim_end().ends_with(']'));
    if MODULE.iter().any(|m| line.starts_with(m)) || line == "module" {
        Some(Kind::Module)
    } else if is_header && line.trim_matches(['[', ']']).starts_with(|c: char| c.is_ascii_alphabetic()) {
        Some(Kind::Graph)
    } else if line.starts_with('{') && path.extension() == Some("json") {
        Some(Kind::Json)
    } else {
        None
    }
}

fn is_c(text: &str) -> bool {
    text.lines().any(|l| l.trim_start().starts_with("#include ") || l.trim_start().starts_with("#include<"))
}

impl Wanted {
    fn name(self) -> &'static str {
        match self {
            Wanted::Graph => "a launch graph",
            Wanted::Module => "a module",
        }
    }
}
