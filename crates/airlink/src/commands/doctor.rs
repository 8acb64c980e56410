//! `airlink doctor`: what is installed, and what each target can do here.

use std::path::{Path, PathBuf};

use airlink_host::Linker;
use airlink_rt::CpuLevel;
use serde_json::{Value, json};

use crate::cli::{Emit, Format};
use crate::exit::Exit;
use crate::invocation::Invocation;

pub fn run(invocation: &mut Invocation) -> Exit {
    let report = Report::look(invocation.linker());
    let wants_json = invocation.options.format == Some(Format::Json) || invocation.options.emit.contains(&Emit::Json);
    let text = if wants_json {
        serde_json::to_string_pretty(&report.json()).unwrap_or_default() + "\n"
    } else {
        report.text()
    };
    invocation.print(&text);
    Exit::Done
}

struct Report {
    llvm: String,
    /// What `AIRLINK_LD` names, then the linkers that are looked for without it; with the version of those that run.
    linkers: Vec<(String, Option<String>)>,
    is_linker_named: bool,
    cpu: Option<CpuLevel>,
    missing_for_v3: Vec<&'static str>,
    folders: Vec<Folder>,
}

/// An installation that a variable points at.
struct Folder {
    variable: &'static str,
    what: &'static str,
    path: Option<PathBuf>,
    /// The tools of it that airlink would use, and whether they are there.
    tools: Vec<(&'static str, bool)>,
}

impl Report {
    fn look(named: Option<PathBuf>) -> Report {
        let is_linker_named = named.is_some();
        let candidates = named.into_iter().chain(Linker::CANDIDATES.map(PathBuf::from));
        let linkers = candidates.map(|p| {
            let version = Linker::probe(&p).map(|l| l.version().to_string());
            (p.display().to_string(), version)
        });
        Report {
            llvm: airlink_ir::llvm_version(),
            linkers: linkers.collect(),
            is_linker_named,
            cpu: CpuLevel::of_this_machine(),
            missing_for_v3: CpuLevel::V3.missing_features(),
            folders: vec![
                Folder::look("PEANO_INSTALL_DIR", "the AIE compiler (llvm-aie)", &["bin/clang", "bin/llc"]),
                Folder::look(
                    "MLIR_AIE_INSTALL_DIR",
                    "mlir-aie and mlir-air",
                    &["bin/aiecc", "bin/aiecc.py", "bin/aircc"],
                ),
            ],
        }
    }

    /// The one that links: the first that runs, but only the one that the user names if there is such a one.
    fn linker(&self) -> Option<&(String, Option<String>)> {
        let usable = if self.is_linker_named { &self.linkers[..1] } else { &self.linkers[..] };
        usable.iter().find(|(_, version)| version.is_some())
    }

    fn can_run_default(&self) -> bool {
        self.missing_for_v3.is_empty()
    }

    fn text(&self) -> String {
        let mut out = format!("airlink {}, with LLVM {}\n", env!("CARGO_PKG_VERSION"), self.llvm);
        out += "\nlinkers for host ELFs, in the order of the search\n";
        for (position, (program, version)) in self.linkers.iter().enumerate() {
            let mark = if self.linker().is_some_and(|(used, _)| used == program) { "*" } else { " " };
            let from = if self.is_linker_named && position == 0 { " (AIRLINK_LD)" } else { "" };
            out += &format!("  {mark} {program}{from}: {}\n", version.as_deref().unwrap_or("does not run"));
        }
        if !self.is_linker_named {
            out += "    AIRLINK_LD is not set\n";
        }
        out += "\nmachine\n";
        let level = self.cpu.map_or("no x86-64", CpuLevel::name);
        out += &format!("    CPU level {level}; host ELFs are for x86-64-v3 unless --cpu says otherwise\n");
        out += "\nNPU tools\n";
        self.folders.iter().for_each(|f| out += &f.text());
        out += "\ntargets\n";
        out += &format!("    host  build  {}\n", self.build_text());
        out += &format!("          run    {}\n", self.run_text());
        out += "    npu2  build  not implemented yet; `--emit mlir,map` writes the fused module, which mlir-air compiles\n";
        out += "          run    not implemented yet\n";
        out
    }

    fn build_text(&self) -> String {
        match self.linker() {
            Some((program, _)) => format!("yes, linked by {program}"),
            None if self.is_linker_named => "no: the linker that AIRLINK_LD names does not run".to_string(),
            None => "no: no linker runs; install lld (Debian: `apt-get install lld-22`)".to_string(),
        }
    }

    fn run_text(&self) -> String {
        match self.cpu {
            _ if self.can_run_default() => "yes".to_string(),
            Some(level) => format!(
                "only ELFs built with `--cpu {}`: this CPU lacks {}",
                level.name(),
                self.missing_for_v3.join(", ")
            ),
            None => "no: host ELFs are for x86-64".to_string(),
        }
    }

    fn json(&self) -> Value {
        let linkers: Vec<Value> = self.linkers.iter().map(|(p, v)| json!({ "program": p, "version": v })).collect();
        json!({
            "schema": 1,
            "airlink": env!("CARGO_PKG_VERSION"),
            "llvm": self.llvm,
            "linkers": linkers,
            "linker": self.linker().map(|(p, _)| p),
            "cpu": self.cpu.map(CpuLevel::name),
            "installations": self.folders.iter().map(Folder::json).collect::<Vec<_>>(),
            "targets": {
                "host": { "build": self.linker().is_some(), "run": self.can_run_default() },
                "npu2": { "build": false, "run": false },
            },
        })
    }
}

impl Folder {
    fn look(variable: &'static str, what: &'static str, tools: &[&'static str]) -> Folder {
        let path = std::env::var_os(variable).filter(|v| !v.is_empty()).map(PathBuf::from);
        let is_there = |tool: &str| path.as_ref().is_some_and(|p| Path::new(p).join(tool).is_file());
        let tools = tools.iter().map(|t| (*t, is_there(t))).collect();
        Folder { variable, what, path, tools }
    }

    fn text(&self) -> String {
        let Some(path) = &self.path else {
            return format!("    {} is not set, so airlink does not look for {}\n", self.variable, self.what);
        };
        let head = format!("    {} = {}", self.variable, path.display());
        if !path.is_dir() {
            return format!("{head}: no such folder\n");
        }
        let tools = self.tools.iter().map(|(t, there)| format!("{t}{}", if *there { "" } else { " missing" }));
        format!("{head}: {}\n", tools.collect::<Vec<_>>().join(", "))
    }

    fn json(&self) -> Value {
        let tools: serde_json::Map<String, Value> = self.tools.iter().map(|(t, b)| (t.to_string(), json!(b))).collect();
        json!({
            "variable": self.variable,
            "path": self.path.as_ref().map(|p| p.display().to_string()),
            "is_folder": self.path.as_ref().is_some_and(|p| p.is_dir()),
            "tools": tools,
        })
    }
}
