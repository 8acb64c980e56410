//! TOML to [`GraphFile`]: every key has a place, and all findings come at once.

mod block;
mod entries;
mod names;
mod table;

use airlink_diag::{FileId, Finding, Findings, Reported, Severity, Span, codes};
use toml::de::DeTable;

use crate::{BufferEntry, CompilerOptions, ElfEntry, GraphFile, Placed, StepEntry, ViewEntry};
use table::{Table, TableArray};

/// No more steps, buffers and views than this come out of a graph: a slip in `count` must not fill the memory.
pub const EXPANDED_MAX: u64 = 100_000;

/// Findings of malformed TOML beyond this many follow from earlier ones.
const SYNTAX_FINDINGS_MAX: usize = 20;

/// Reads the launch graph `file`, which the caller has added to `findings.sources`.
///
/// Errors: AL0101 to AL0109 about the text, AL0201 and AL0202 about names, AL0221.
pub fn read(file: FileId, findings: &mut Findings) -> Result<GraphFile, Reported> {
    let errors_before = findings.count(Severity::Error);
    let sources = findings.sources.clone();
    let text = sources.text(file);
    if let Some(at) = text.find('\0') {
        return Err(findings.fail(nul_byte(Span::new(file, at..at + 1))));
    }
    let (root, syntax_errors) = DeTable::parse_recoverable(text);
    if !syntax_errors.is_empty() {
        return Err(report_syntax(file, text, &syntax_errors, findings));
    }
    let graph = Reader::default().read(Table::root(root.get_ref(), file, findings));
    if findings.count(Severity::Error) > errors_before {
        findings.check()?;
    }
    let graph = graph.ok_or_else(|| missing_graph(file, findings))?;
    if !graph.steps.iter().any(|s| matches!(s, StepEntry::Launch(_))) {
        return Err(findings.fail(
            Finding::error(codes::AL0221, format!("graph `{}` has no launches", graph.name.value))
                .at(graph.name.span, "nothing to stitch")
                .remedy("add a `[[launch]]` with `name`, `kernel` and `args`"),
        ));
    }
    Ok(graph)
}

/// What has been read so far.
#[derive(Default)]
struct Reader {
    buffers: Vec<BufferEntry>,
    views: Vec<ViewEntry>,
    steps: Vec<StepEntry>,
    elfs: Vec<ElfEntry>,
    blocks: Vec<Placed<String>>,
    expanded_count: u64,
}

impl Reader {
    fn read(mut self, mut root: Table) -> Option<GraphFile> {
        let file = root.file;
        let graph = root.required_table("graph").map(read_graph);
        for table in root.table_array("buffer") {
            self.buffers.extend(entries::buffer(&mut root.at(&table)));
        }
        for table in root.table_array("view") {
            self.views.extend(entries::view(&mut root.at(&table)));
        }
        let arrays = ["launch", "host", "block"].map(|key| (key, root.table_array(key)));
        for (key, table) in in_file_order(arrays) {
            let mut table = root.at(&table);
            match key {
                "launch" => self.steps.extend(entries::launch(&mut table)),
                "host" => self.steps.extend(entries::host(&mut table)),
                _ => self.block(&mut table),
            }
        }
        for table in root.table_array("elf") {
            self.elfs.extend(entries::elf(&mut root.at(&table)));
        }
        root.finish();
        self.check_names(root.findings);
        let Some(Some((name, device, compiler, refs))) = graph else { return None };
        let Reader { buffers, views, steps, elfs, .. } = self;
        Some(GraphFile { file, name, device, compiler, refs, buffers, views, steps, elfs })
    }
}

type Head = (Placed<String>, Option<Placed<String>>, CompilerOptions, indexmap::IndexMap<String, Placed<String>>);

/// `[graph]`.
fn read_graph(mut table: Table) -> Option<Head> {
    let name = table.required_string("name").filter(|n| names::check(n, "graph", table.findings));
    let device = table.string("device").filter(|d| entries::check_device(d, table.findings));
    let refs = table.string_map("ref");
    let compiler = entries::compiler(&mut table);
    table.finish();
    Some((name?, device, compiler, refs))
}

/// Merges arrays of tables by the places of their headers: TOML keeps the order within each array only.
fn in_file_order<'t, const N: usize>(
    arrays: [(&'static str, TableArray<'t>); N],
) -> Vec<(&'static str, table::Item<'t>)> {
    let mut all: Vec<_> = arrays.into_iter().flat_map(|(key, tables)| tables.map(move |t| (key, t))).collect();
    all.sort_by_key(|(_, t)| t.span.start);
    all
}

fn nul_byte(span: Span) -> Finding {
    Finding::error(codes::AL0103, "the launch graph holds a NUL byte")
        .at(span, "here")
        .remedy("remove the byte; a launch graph is UTF-8 text, not UTF-16 or binary")
}

fn missing_graph(file: FileId, findings: &mut Findings) -> Reported {
    findings.fail(Finding::error(codes::AL0108, "the file has no `[graph]`").at(Span::file_start(file), ""))
}

/// One finding per syntax error, in the words of the TOML parser.
fn report_syntax(file: FileId, text: &str, errors: &[toml::de::Error], findings: &mut Findings) -> Reported {
    let mut reported = None;
    for error in errors.iter().take(SYNTAX_FINDINGS_MAX) {
        let range = error.span().unwrap_or(0..0);
        let span =
            Span::new(file, range.start.min(text.len())..range.end.min(text.len()).max(range.start.min(text.len())));
        // The parser bounds its recursion itself; what it then says deserves the code of its own.
        let is_depth = error.message().contains("recurs");
        let finding = if is_depth {
            Finding::error(codes::AL0104, "the launch graph nests arrays or tables too deeply")
                .at(span, "one too deep")
                .allowed("80 levels")
                .source("the TOML parser's recursion limit")
                .remedy("flatten the value: no key of a launch graph nests deeper than two arrays")
        } else {
            let message = error.message().lines().next().unwrap_or_default();
            Finding::error(codes::AL0101, format!("malformed TOML: {message}"))
                .at(span, "")
                .remedy("mend the syntax here; `https://toml.io` describes it")
        };
        reported = Some(findings.fail(finding));
        if is_depth {
            break;
        }
    }
    reported.unwrap_or_else(|| missing_graph(file, findings))
}
