//! Where things are, and one run of the binary.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The project's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the project is there")
}

/// A fixture by its path below `fixtures/`.
pub fn fixture(path: &str) -> PathBuf {
    root().join("fixtures").join(path)
}

/// The folder of shared test inputs; `None`, said aloud, where it is absent. `.ci/run` forbids the skip.
pub fn shared() -> Option<PathBuf> {
    let path = root().join("../shared");
    if path.join("corpus").is_dir() {
        return path.canonicalize().ok();
    }
    assert!(std::env::var_os("AIRLINK_REQUIRE_SHARED").is_none(), "the shared test inputs are required and absent");
    println!("skipped: no shared test inputs beside the project");
    None
}

/// How a run ended.
pub struct Outcome {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Outcome {
    /// Every finding of a run with `--message-format json`, as severity and code.
    pub fn findings(&self) -> Vec<String> {
        let field = |line: &str, name: &str| {
            let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
            Some(rest.split_once('"')?.0.to_string())
        };
        let finding = |line: &str| Some(format!("{} {}", field(line, "severity")?, field(line, "code")?));
        self.stdout.lines().filter(|l| l.starts_with("{\"code\"")).filter_map(finding).collect()
    }

    #[track_caller]
    pub fn expect(self, code: i32) -> Outcome {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }
}

/// Runs the binary in `folder`; the environment is the test's less what airlink reads.
pub fn airlink(folder: &Path, args: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_airlink"))
        .args(args)
        .current_dir(folder)
        .env_remove("NO_COLOR")
        .env_remove("AIRLINK_LD")
        .output()
        .expect("the binary starts");
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The files in a folder with their bytes, sorted by name.
pub fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut list: Vec<_> = entries
        .map(|e| e.expect("readable").path())
        .map(|p| (p.file_name().expect("named").to_string_lossy().into_owned(), std::fs::read(&p).expect("readable")))
        .collect();
    list.sort();
    list
}
