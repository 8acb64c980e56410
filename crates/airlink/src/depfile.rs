//! Makefile dependency files, as compilers write them.

use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::Shared;
use crate::write::Output;

/// The dependency file that the options ask for: `-MF`'s name, else `<graph>.d` beside the outputs. Its rule says that
/// `outputs` are made from `inputs`, the graph first.
pub fn output(options: &Shared, graph: &str, folder: &Utf8Path, outputs: &[Output], inputs: &[Utf8PathBuf]) -> Output {
    let path = options.mf.clone().unwrap_or_else(|| folder.join(format!("{graph}.d")));
    let targets = match &options.mt[..] {
        [] => outputs.iter().map(|o| escape(o.path.as_str())).collect(),
        // As given: whoever names a target may mean a variable of the Makefile.
        given => given.to_vec(),
    };
    Output { path, bytes: text(&targets, inputs, options.mp).into_bytes() }
}

fn text(targets: &[String], inputs: &[Utf8PathBuf], has_phony: bool) -> String {
    let mut prerequisites: Vec<String> = Vec::new();
    for input in inputs.iter().map(|i| escape(i.as_str())) {
        if !prerequisites.contains(&input) {
            prerequisites.push(input);
        }
    }
    let mut text = format!("{}:", targets.join(" \\\n  "));
    prerequisites.iter().for_each(|p| text += &format!(" \\\n  {p}"));
    text.push('\n');
    if has_phony {
        // All but the graph: a kernel that is gone is no error once the graph stops naming it.
        prerequisites.iter().skip(1).for_each(|p| text += &format!("{p}:\n"));
    }
    text
}

/// A file name as make reads it: `$` is doubled; blanks, `#` and `:` get a backslash, which doubles those before it.
fn escape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut backslashes = 0;
    for c in name.chars() {
        match c {
            '$' => out.push('$'),
            ' ' | '\t' | '#' | ':' => (0..=backslashes).for_each(|_| out.push('\\')),
            _ => {}
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        out.push(c);
    }
    out
}
