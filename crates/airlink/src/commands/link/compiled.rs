//! The compiled kernels that a graph names.

use std::collections::BTreeMap;

use airlink_diag::{Finding, Findings, Reported, Severity, Span, codes};
use airlink_elf::npu::{Part, PartError, control_code, is_npu_elf, lint, pdi, read_npu_elf};
use airlink_graph::{Launch, Placed};
use camino::{Utf8Path, Utf8PathBuf};

use crate::load::Loaded;
use crate::paths;

/// Each kernel once, by the paths of its file and of its configuration as the graph spells them.
pub struct Compiled {
    parts: BTreeMap<(String, Option<String>), Part>,
}

impl Compiled {
    /// Reads what the launches name, and adds the files to those that were read.
    ///
    /// # Errors
    /// AL0731 for a launch that names none, AL0801 for a file that is not there, and what is wrong with files; all at
    /// once.
    pub fn read(loaded: &mut Loaded<'_>, graph: &Utf8Path, findings: &mut Findings) -> Result<Compiled, Reported> {
        let mut parts = BTreeMap::new();
        let mut failed = None;
        let launches: Vec<Launch> = loaded.graph.launches.clone();
        for launch in &launches {
            let Some(elf) = &launch.elf else {
                failed = Some(findings.fail(without_elf(launch)));
                continue;
            };
            let key = key(launch, elf);
            if parts.contains_key(&key) {
                continue;
            }
            match read_part(loaded, graph, launch, elf, findings) {
                Ok(part) => drop(parts.insert(key, part)),
                Err(reported) => failed = Some(reported),
            }
        }
        failed.map_or(Ok(Compiled { parts }), Err)
    }

    pub fn part(&self, launch: &Launch) -> Option<&Part> {
        self.parts.get(&key(launch, launch.elf.as_ref()?))
    }
}

fn key(launch: &Launch, elf: &Placed<String>) -> (String, Option<String>) {
    (elf.value.clone(), launch.pdi.as_ref().map(|p| p.value.clone()))
}

fn without_elf(launch: &Launch) -> Finding {
    Finding::error(codes::AL0731, format!("launch `{}` names no compiled kernel", launch.name.value))
        .at(launch.name.span, "has no `elf`")
        .remedy("add `elf = \"PATH\"`, or fuse the kernels' modules with `airlink stitch`")
}

fn read_part(
    loaded: &mut Loaded<'_>,
    graph: &Utf8Path,
    launch: &Launch,
    elf: &Placed<String>,
    findings: &mut Findings,
) -> Result<Part, Reported> {
    let bytes = read_file(loaded, &paths::beside(graph, &elf.value), elf.span, findings)?;
    let configuration = match &launch.pdi {
        None => None,
        Some(path) => {
            let content = read_file(loaded, &paths::beside(graph, &path.value), path.span, findings)?;
            if let Err(error) = pdi(&content) {
                let headline = format!("`{}` is no PDI that can be read: {error}", path.value);
                let finding = Finding::error(codes::AL0732, headline).at(path.span, "named here");
                return Err(findings.fail(finding.remedy("name the PDI that was made with the control code")));
            }
            Some((path, content))
        }
    };
    let part = if is_npu_elf(&bytes) {
        of_elf(&bytes, elf, configuration.as_ref().map(|(p, c)| (*p, &c[..])), findings)?
    } else if control_code(&bytes).is_ok() {
        configuration
            .ok_or(PartError::NoPdi { abi: "none: it is control code".to_string() })
            .and_then(|(_, content)| Part::of_stream(&bytes, &content))
    } else {
        let kind = airlink_elf::file_kind(&bytes);
        let why = control_code(&bytes).err().filter(|_| bytes.get(3) == Some(&6)).map(|e| e.to_string());
        let headline = match why {
            Some(why) => format!("`{}` is neither an NPU ELF nor whole control code: {why}", elf.value),
            None => format!("`{}` is neither an NPU ELF nor control code: it is {kind}", elf.value),
        };
        let finding = Finding::error(codes::AL0730, headline).at(elf.span, "named here");
        return Err(
            findings.fail(finding.remedy("name what aiecc wrote for this kernel: its full ELF, or its control code"))
        );
    };
    part.map_err(|error| findings.fail(unlinkable(&error, elf)))
}

fn of_elf(
    bytes: &[u8],
    path: &Placed<String>,
    configuration: Option<(&Placed<String>, &[u8])>,
    findings: &mut Findings,
) -> Result<Result<Part, PartError>, Reported> {
    let name = &path.value;
    let elf = read_npu_elf(bytes).map_err(|error| {
        let finding = Finding::error(codes::AL0730, format!("`{name}` is a broken NPU ELF: {error}"));
        findings.fail(finding.at(path.span, "named here").remedy("compile the kernel again"))
    })?;
    // What linking mends, and what it leaves out, is no concern here; what it carries over is.
    let matters = [codes::AL0643, codes::AL0646, codes::AL0647, codes::AL0648, codes::AL0649, codes::AL0732];
    let carried = lint(&elf, name).into_iter().filter(|f| matters.contains(&f.code));
    let mut failed = None;
    for finding in carried {
        let finding = finding.at(path.span, "named here");
        match finding.severity {
            Severity::Error => failed = Some(findings.fail(finding)),
            _ => findings.push(finding),
        }
    }
    if let Some(reported) = failed {
        return Err(reported);
    }
    Ok(match configuration {
        None => Part::of_elf(&elf),
        Some((_, content)) => Part::of_partial_elf(&elf, content),
    })
}

fn unlinkable(error: &PartError, path: &Placed<String>) -> Finding {
    let name = &path.value;
    let (code, remedy) = match error {
        PartError::NoPdi { .. } => {
            (codes::AL0731, "add `pdi = \"PATH\"` to the launch: the configuration that it runs on")
        }
        PartError::SecondPdi => (codes::AL0731, "remove `pdi` from the launch: the kernel loads what it needs"),
        PartError::Family { .. } => (codes::AL0733, "compile the kernel for npu2"),
        PartError::HalfPreemption => (codes::AL0736, "assemble the kernel again"),
        _ => (codes::AL0739, "compile the kernel again as a full ELF with one kernel, or one that is called `main`"),
    };
    Finding::error(code, format!("`{name}` cannot be linked: {error}")).at(path.span, "named here").remedy(remedy)
}

fn read_file(
    loaded: &mut Loaded<'_>,
    path: &Utf8PathBuf,
    named_at: Span,
    findings: &mut Findings,
) -> Result<Vec<u8>, Reported> {
    let bytes = std::fs::read(path).map_err(|error| {
        let finding = Finding::error(codes::AL0801, format!("`{path}` cannot be read: {error}"));
        findings.fail(finding.at(named_at, "named here").remedy("paths in a graph are relative to the graph's folder"))
    })?;
    if !loaded.files.contains(path) {
        loaded.files.push(path.clone());
    }
    Ok(bytes)
}
