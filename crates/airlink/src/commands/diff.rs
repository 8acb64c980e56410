//! `airlink diff`: are two modules the same program? May a host program take one NPU ELF for the other?

use airlink_diag::{Finding, Reported, codes};
use airlink_elf::npu::{NpuElf, diff, is_npu_elf, read_npu_elf};
use airlink_ir::melior::ir::operation::OperationLike as _;
use airlink_ir::{Ir, OperationRef};
use camino::Utf8PathBuf;

use crate::cli::DiffArgs;
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::read::{self, Wanted};

pub fn run(invocation: &mut Invocation, args: &DiffArgs) -> Exit {
    let elfs = match npu_elfs(invocation, args) {
        Ok(elfs) => elfs,
        Err(reported) => return invocation.exit_of(reported),
    };
    let (result, same) = match elfs {
        Some((a, b)) => (Ok(compare_elfs(&a, &b)), "the same ABI and operations\n"),
        None => (compare(invocation, args), "the same program\n"),
    };
    match result {
        Ok(text) if text.is_empty() => {
            invocation.say(same);
            Exit::Done
        }
        Ok(text) => {
            invocation.print(&text);
            Exit::Differs
        }
        Err(reported) => invocation.exit_of(reported),
    }
}

/// Both files as NPU ELFs; none where neither is one.
///
/// # Errors
/// AL0730 where only one is, or one is broken.
fn npu_elfs(invocation: &mut Invocation, args: &DiffArgs) -> Result<Option<(NpuElf, NpuElf)>, Reported> {
    let bytes = [&args.a, &args.b].map(|path| std::fs::read(path).unwrap_or_default());
    if !bytes.iter().any(|b| is_npu_elf(b)) {
        return Ok(None);
    }
    let mut read = |path: &Utf8PathBuf, bytes: &[u8]| {
        read_npu_elf(bytes).map_err(|error| {
            let headline = format!("`{path}` cannot be compared with an NPU ELF: {error}");
            invocation.findings.fail(Finding::error(codes::AL0730, headline).remedy("give two NPU ELFs"))
        })
    };
    Ok(Some((read(&args.a, &bytes[0])?, read(&args.b, &bytes[1])?)))
}

/// What a host program must change first, then what the array does otherwise; empty if nothing.
fn compare_elfs(a: &NpuElf, b: &NpuElf) -> String {
    let differences = diff(a, b);
    let part = |is_abi: bool, title: &str| {
        let texts: Vec<String> =
            differences.iter().filter(|d| d.is_abi == is_abi).map(|d| format!("  {}\n", d.text)).collect();
        if texts.is_empty() { String::new() } else { format!("{title}\n{}", texts.concat()) }
    };
    part(true, "a host program must change:") + &part(false, "operations differ:")
}

/// The differences as text; empty if there are none.
fn compare(invocation: &mut Invocation, args: &DiffArgs) -> Result<String, Reported> {
    let ir = Ir::new();
    let findings = &mut invocation.findings;
    let file_a = read::text_file(&args.a, Wanted::Module, None, findings)?;
    let file_b = read::text_file(&args.b, Wanted::Module, None, findings)?;
    // Both names may be one: locations then tell the sides apart.
    let a = airlink_ir::parse(&ir, file_a, &format!("a:{}", args.a), findings)?;
    let b = airlink_ir::parse(&ir, file_b, &format!("b:{}", args.b), findings)?;
    let place = |op: Option<OperationRef<'_, '_>>| {
        let span = airlink_ir::locate(op?.location(), &findings.sources)?;
        let at = findings.sources.line_column(span.file, span.start);
        Some(format!("{}:{}:{}", findings.sources.name(span.file), at.line, at.column))
    };
    let mut text = String::new();
    for d in airlink_check::same::modules(a.as_operation(), b.as_operation()) {
        let places: Vec<String> = [place(d.a), place(d.b)].into_iter().flatten().collect();
        text += &format!("{}: {}\n", places.join(" <> "), d.text);
    }
    Ok(text)
}
