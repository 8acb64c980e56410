//! `airlink diff`: are two modules the same program?

use airlink_diag::Reported;
use airlink_ir::melior::ir::operation::OperationLike as _;
use airlink_ir::{Ir, OperationRef};

use crate::cli::DiffArgs;
use crate::exit::Exit;
use crate::invocation::Invocation;
use crate::read::{self, Wanted};

pub fn run(invocation: &mut Invocation, args: &DiffArgs) -> Exit {
    match compare(invocation, args) {
        Ok(text) if text.is_empty() => {
            invocation.say("the same program\n");
            Exit::Done
        }
        Ok(text) => {
            invocation.print(&text);
            Exit::Differs
        }
        Err(reported) => invocation.exit_of(reported),
    }
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
