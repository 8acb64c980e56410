//! Generates the dialect from `mlir/include/airlink/AIR/AIR.td` and compiles every C++ file below `mlir/lib`, each into
//! an archive of its own: a file takes 10 to 40 seconds, and `cc` would compile all of them again for an edit of one.

use std::{
    collections::hash_map::DefaultHasher,
    env,
    ffi::OsString,
    fmt::Write as _,
    fs,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    process::{Command, Output, exit},
    sync::Mutex,
};

fn main() {
    if let Err(message) = run() {
        for line in message.lines() {
            println!("cargo::error={line}");
        }
        exit(1);
    }
}

fn run() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed=MLIR_SYS_LINK_SHARED");
    println!("cargo::rerun-if-env-changed=MLIR_SYS_220_PREFIX");
    let tree = Tree::locate()?;
    for watched in [&tree.include, &tree.lib] {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    generate_dialect(&tree)?;
    let sources = sources_below(&tree.lib)?;
    let objects = compile_changed(&tree, &sources)?;
    for object in objects {
        archive(&object);
    }
    Ok(())
}

/// The places this build reads and writes.
struct Tree {
    /// Where LLVM is installed.
    prefix: PathBuf,
    /// `mlir/include` of the workspace.
    include: PathBuf,
    /// `mlir/lib` of the workspace.
    lib: PathBuf,
    out: PathBuf,
}

impl Tree {
    fn locate() -> Result<Tree, String> {
        // libMLIR.so is compiled by clang. Trait ids fall back to the text of __PRETTY_FUNCTION__, which g++ spells
        // differently, so a dialect compiled by g++ silently loses its traits. Statically linked copies merge.
        if env::var("MLIR_SYS_LINK_SHARED").is_ok_and(|value| value == "1") {
            return Err("MLIR_SYS_LINK_SHARED=1 is not supported: against the shared MLIR the traits of our dialect \
                        get ids of their own and stop working without a word. Unset it; MLIR is linked statically."
                .into());
        }
        let prefix = env::var_os("MLIR_SYS_220_PREFIX").map(PathBuf::from).ok_or(
            "MLIR_SYS_220_PREFIX is not set. It names the directory of LLVM 22; the workspace's .cargo/config.toml \
             sets it, so build from inside the workspace.",
        )?;
        for (file, package) in [
            ("bin/mlir-tblgen", "mlir-22-tools"),
            ("include/mlir/IR/Operation.h", "libmlir-22-dev"),
            ("include/llvm/Config/llvm-config.h", "llvm-22-dev"),
        ] {
            let path = prefix.join(file);
            if !path.exists() {
                return Err(format!(
                    "{} is missing. Install the package {package}, or run ./setup.sh, which installs all that the \
                     build needs. If LLVM 22 is elsewhere, set MLIR_SYS_220_PREFIX to its directory.",
                    path.display()
                ));
            }
        }
        let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("../../mlir");
        let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
        Ok(Tree { prefix, include: root.join("include"), lib: root.join("lib"), out: variable("OUT_DIR")?.into() })
    }

    fn llvm_include(&self) -> PathBuf {
        self.prefix.join("include")
    }

    /// Root of the generated headers.
    fn generated(&self) -> PathBuf {
        self.out.join("include")
    }
}

fn variable(name: &str) -> Result<OsString, String> {
    env::var_os(name).ok_or_else(|| format!("{name} is not set; cargo sets it"))
}

fn generate_dialect(tree: &Tree) -> Result<(), String> {
    let directory = tree.generated().join("airlink/AIR");
    fs::create_dir_all(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    // mlir-tblgen emits the interfaces of the file it is given, not of what that file includes.
    for (file, definitions, arguments) in [
        ("AIRDialect.h.inc", "AIR.td", &["-gen-dialect-decls", "-dialect=air"][..]),
        ("AIRDialect.cpp.inc", "AIR.td", &["-gen-dialect-defs", "-dialect=air"]),
        ("AIRTypes.h.inc", "AIR.td", &["-gen-typedef-decls", "-typedefs-dialect=air"]),
        ("AIRTypes.cpp.inc", "AIR.td", &["-gen-typedef-defs", "-typedefs-dialect=air"]),
        ("AIRAttrs.h.inc", "AIR.td", &["-gen-attrdef-decls", "-attrdefs-dialect=air"]),
        ("AIRAttrs.cpp.inc", "AIR.td", &["-gen-attrdef-defs", "-attrdefs-dialect=air"]),
        ("AIRInterfaces.h.inc", "AIRBase.td", &["-gen-op-interface-decls"]),
        ("AIRInterfaces.cpp.inc", "AIRBase.td", &["-gen-op-interface-defs"]),
        ("AIROps.h.inc", "AIR.td", &["-gen-op-decls"]),
        ("AIROps.cpp.inc", "AIR.td", &["-gen-op-defs"]),
    ] {
        let mut command = Command::new(tree.prefix.join("bin/mlir-tblgen"));
        command.args(arguments).arg("-I").arg(tree.llvm_include()).arg("-I").arg(&tree.include);
        command.arg(tree.include.join("airlink/AIR").join(definitions)).arg("--write-if-changed");
        command.arg("-o").arg(directory.join(file));
        checked(&mut command)?;
    }
    Ok(())
}

/// Every `.cpp` below `directory`, in a stable order.
fn sources_below(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let mut sources = Vec::new();
    let mut pending = vec![directory.to_path_buf()];
    while let Some(directory) = pending.pop() {
        let entries = fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "cpp") {
                sources.push(path);
            }
        }
    }
    sources.sort();
    Ok(sources)
}

/// One C++ file, its object, and what the object was made from.
struct Unit {
    source: PathBuf,
    /// Path below `mlir/lib` as one word: the name of the object and of the archive.
    name: String,
    object: PathBuf,
    /// The compiler's list of what the source includes, without system headers.
    depfile: PathBuf,
    /// Fingerprint of the last successful compilation.
    stamp: PathBuf,
}

impl Unit {
    fn new(tree: &Tree, source: &Path) -> Unit {
        let below = source.strip_prefix(&tree.lib).unwrap_or(source).with_extension("");
        let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy().to_lowercase()).collect();
        let name = format!("airlink_{}", parts.join("_"));
        Unit {
            source: source.to_path_buf(),
            object: tree.out.join(format!("{name}.o")),
            depfile: tree.out.join(format!("{name}.d")),
            stamp: tree.out.join(format!("{name}.stamp")),
            name,
        }
    }

    /// Hash of the compiler command and of the content of every file the object depends on. `None` if one of them is
    /// unknown or gone. Contents, not times: a checkout touches files without changing them.
    fn fingerprint(&self, command: u64) -> Option<String> {
        let mut hasher = DefaultHasher::new();
        command.hash(&mut hasher);
        for file in dependencies(&fs::read_to_string(&self.depfile).ok()?) {
            fs::read(&file).ok()?.hash(&mut hasher);
            file.hash(&mut hasher);
        }
        Some(format!("{:016x}", hasher.finish()))
    }

    fn is_current(&self, command: u64) -> bool {
        self.object.exists()
            && fs::read_to_string(&self.stamp).is_ok_and(|stamp| Some(stamp) == self.fingerprint(command))
    }

    fn compile(&self, compiler: &cc::Tool, command_hash: u64) -> Result<(), String> {
        let _ = fs::remove_file(&self.stamp);
        let mut command = compiler.to_command();
        command.arg("-c").arg(&self.source).arg("-o").arg(&self.object).arg("-MMD").arg("-MF").arg(&self.depfile);
        let output = checked(&mut command)?;
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            println!("cargo::warning={line}");
        }
        let fingerprint = self
            .fingerprint(command_hash)
            .ok_or_else(|| format!("{}: the compiler wrote no list of headers", self.depfile.display()))?;
        fs::write(&self.stamp, fingerprint).map_err(|error| format!("{}: {error}", self.stamp.display()))
    }
}

/// The prerequisites of a make rule as compilers write it: blanks separate, a backslash escapes a blank or a line end.
fn dependencies(rule: &str) -> Vec<PathBuf> {
    let (_, list) = rule.split_once(": ").unwrap_or_default();
    let mut files = vec![String::new()];
    let mut characters = list.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.peek() == Some(&' ') => files.last_mut().unwrap().extend(characters.next()),
            '\\' if characters.peek() == Some(&'\n') => {}
            ' ' | '\n' => files.push(String::new()),
            other => files.last_mut().unwrap().push(other),
        }
    }
    files.into_iter().filter(|file| !file.is_empty()).map(PathBuf::from).collect()
}

fn build_settings(tree: &Tree) -> cc::Build {
    let mut build = cc::Build::new();
    // LLVM's headers use neither exceptions nor, in Debian's build, -fno-rtti: our RTTI must match theirs.
    build.cpp(true).std("c++17").debug(false).opt_level(2).warnings(true).flag("-fno-exceptions");
    // Patterns and interfaces fix signatures whose arguments we do not all need.
    build
        .flag_if_supported("-Wno-unused-parameter")
        // GCC 12 sees such uses in LLVM's own headers.
        .flag_if_supported("-Wno-maybe-uninitialized");
    build.include(&tree.include).include(tree.generated());
    build.flag("-isystem").flag(tree.llvm_include());
    build
}

fn command_hash(tree: &Tree, compiler: &cc::Tool) -> Result<u64, String> {
    let mut hasher = DefaultHasher::new();
    compiler.path().hash(&mut hasher);
    compiler.args().hash(&mut hasher);
    checked(Command::new(compiler.path()).arg("--version"))?.stdout.hash(&mut hasher);
    // Stands for the system headers, which the compiler's lists leave out.
    checked(Command::new(tree.prefix.join("bin/mlir-tblgen")).arg("--version"))?.stdout.hash(&mut hasher);
    Ok(hasher.finish())
}

/// Compiles what has changed, as many at a time as cargo allows.
fn compile_changed(tree: &Tree, sources: &[PathBuf]) -> Result<Vec<Unit>, String> {
    let compiler = build_settings(tree)
        .try_get_compiler()
        .map_err(|error| format!("no C++ compiler: {error}. Install the package g++, or run ./setup.sh."))?;
    let hash = command_hash(tree, &compiler)?;
    let units: Vec<_> = sources.iter().map(|source| Unit::new(tree, source)).collect();
    let stale = Mutex::new(units.iter().filter(|unit| !unit.is_current(hash)).collect::<Vec<_>>());
    let errors = Mutex::new(String::new());
    let jobs = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse::<usize>().ok()).unwrap_or(1);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(unit) = { stale.lock().unwrap().pop() } {
                    if let Err(error) = unit.compile(&compiler, hash) {
                        let _ = writeln!(errors.lock().unwrap(), "{error}");
                    }
                }
            });
        }
    });
    let errors = errors.into_inner().unwrap();
    if errors.is_empty() { Ok(units) } else { Err(errors) }
}

/// Packs one object and tells cargo to link it. The archives refer to each other; rustc bundles them all into this
/// crate's rlib, so their order does not matter.
fn archive(unit: &Unit) {
    cc::Build::new().cpp(true).object(&unit.object).compile(&unit.name);
}

fn checked(command: &mut Command) -> Result<Output, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("{command:?} failed ({})\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}
