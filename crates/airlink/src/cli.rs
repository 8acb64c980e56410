//! The command line. Every option of the manual parses here; what nothing implements yet is refused by
//! [`Shared::unimplemented`], not ignored.

use camino::Utf8PathBuf;
use clap::{Args, Parser, Subcommand, ValueEnum};

/// Fuses the AIR kernels of a launch graph into multi-launch ELFs.
#[derive(Parser, Debug)]
#[command(name = "airlink", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub enum Command {
    /// Plan, merge and rename the kernels of a launch graph and write one fused ELF per cut.
    Stitch(LoggedArgs),
    /// Print which launches share an ELF and why, arguments, roles and renames.
    Plan(LoggedArgs),
    /// Check wiring, names and hazards of a graph or a module; whether the host can build it, only stitch and verify try.
    Check(GraphArgs),
    /// Build fused and unfused for the host, run both on the same inputs and compare bit for bit.
    Verify(VerifyArgs),
    /// Run a host ELF on seeded inputs or given arrays.
    Run(RunArgs),
    /// Write a launch graph to start from for some kernels.
    Init(FilesArgs),
    /// Compare two modules (the same program?) or two ELFs (the same ABI and operations?).
    Diff(DiffArgs),
    /// Rename symbols of a kernel object.
    Rename(RenameArgs),
    /// Show a host ELF, an NPU ELF, a kernel object, a PDI or a control-code stream.
    Inspect(FileArgs),
    /// Fuse kernels that are already compiled to NPU ELFs.
    Link(LinkArgs),
    /// Parse, verify and print a module.
    Opt(OptArgs),
    /// Print the page of a code.
    Explain(ExplainArgs),
    /// Say what is installed and what each target can do here.
    Doctor(PlainArgs),
    /// Print shell completions.
    Completions(CompletionsArgs),
    /// Print the manual page.
    Man(PlainArgs),
}

/// A launch graph (TOML), or where the command takes one, a module (MLIR).
#[derive(Args, Debug)]
pub struct GraphArgs {
    /// The launch graph.
    #[arg(value_name = "GRAPH.toml")]
    pub graph: Utf8PathBuf,
    /// Seed of the inputs that `verify` makes.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub streams: StreamArgs,
    #[command(flatten)]
    pub shared: Shared,
}

#[derive(Args, Debug)]
pub struct VerifyArgs {
    #[command(flatten)]
    pub graph: GraphArgs,
    /// Compare each launch also with the one of the same name in this graph, which adds in another order: within bounds.
    #[arg(long, value_name = "GRAPH.toml")]
    pub against: Option<Utf8PathBuf>,
    /// The launches round this many partial sums to bf16 where those of the other graph keep f32.
    #[arg(long, value_name = "N", requires = "against", value_parser = clap::value_parser!(u64).range(1..))]
    pub bf16_partials: Option<u64>,
}

/// How `verify` and `run` run launches with channels.
#[derive(Args, Debug, Clone)]
pub struct StreamArgs {
    /// Run with streams that hold this many bytes each, to see what lives off more; by default they hold what it takes.
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1..))]
    pub fifo: Option<u64>,
    /// The most that streams and the buffers of segments may hold together.
    #[arg(long, value_name = "BYTES", default_value_t = airlink_rt::StreamOptions::MEMORY_LIMIT_BYTES)]
    pub memory_limit: u64,
    /// Let memtiles go on with gets and puts that only pass on what comes, as long as there is something to get.
    #[arg(long)]
    pub self_loop_relays: bool,
}

impl StreamArgs {
    pub fn options(&self) -> airlink_rt::StreamOptions {
        airlink_rt::StreamOptions {
            fifo_bytes: self.fifo,
            memory_limit_bytes: self.memory_limit,
            self_loop_relays: self.self_loop_relays,
            ..airlink_rt::StreamOptions::default()
        }
    }
}

/// What decides and so can tell how it came out.
#[derive(Args, Debug)]
pub struct LoggedArgs {
    #[command(flatten)]
    pub graph: GraphArgs,
    /// Write what was applied, skipped or refused, with reasons and numbers, as Markdown; also when the run fails.
    #[arg(long, value_name = "FILE.md")]
    pub log: Option<Utf8PathBuf>,
}

#[derive(Args, Debug)]
pub struct LinkArgs {
    /// The launch graph, whose launches name their compiled kernels with `elf`.
    #[arg(value_name = "GRAPH.toml")]
    pub graph: Utf8PathBuf,
    /// Version of the ELF's layout: 1.0, which more loaders take, or 2.1.
    #[arg(long, value_name = "VERSION", default_value = "1.0")]
    pub elf_abi: String,
    #[command(flatten)]
    pub shared: Shared,
}

#[derive(Args, Debug)]
pub struct RunArgs {
    /// A host ELF that airlink wrote.
    pub file: Utf8PathBuf,
    /// Take argument NAME from a .npy file; may be repeated.
    #[arg(long = "arg", value_name = "NAME=FILE.npy")]
    pub args: Vec<String>,
    /// Seed of the inputs that are not given.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Write intermediates too, not only outputs.
    #[arg(long)]
    pub all: bool,
    /// Time each launch, and print time, bytes and shares as a table or, with `--format json`, as JSON.
    #[arg(long)]
    pub profile: bool,
    #[command(flatten)]
    pub streams: StreamArgs,
    #[command(flatten)]
    pub shared: Shared,
}

#[derive(Args, Debug)]
pub struct FilesArgs {
    #[arg(required = true)]
    pub files: Vec<Utf8PathBuf>,
    #[command(flatten)]
    pub shared: Shared,
}

#[derive(Args, Debug)]
pub struct FileArgs {
    pub file: Utf8PathBuf,
    #[command(flatten)]
    pub shared: Shared,
}

#[derive(Args, Debug)]
pub struct PlainArgs {
    #[command(flatten)]
    pub shared: Shared,
}

#[derive(Args, Debug)]
pub struct DiffArgs {
    pub a: Utf8PathBuf,
    pub b: Utf8PathBuf,
    #[command(flatten)]
    pub shared: Shared,
}

#[derive(Args, Debug)]
pub struct RenameArgs {
    /// An ELF relocatable object.
    pub input: Utf8PathBuf,
    /// Rename symbol OLD to NEW; may be repeated.
    #[arg(long = "map", value_name = "OLD=NEW", required = true)]
    pub map: Vec<String>,
    #[command(flatten)]
    pub shared: Shared,
}

#[derive(Args, Debug)]
pub struct OptArgs {
    /// A module; `-` reads standard input.
    #[arg(value_name = "FILE.mlir")]
    pub file: Utf8PathBuf,
    /// Treat each part between `// -----` lines as a module of its own.
    #[arg(long)]
    pub split_input_file: bool,
    /// Compare what is found with the `expected-error` comments of the file.
    #[arg(long)]
    pub verify_diagnostics: bool,
    #[command(flatten)]
    pub shared: Shared,
}

#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// A code such as AL0203; none lists them all.
    pub code: Option<String>,
    /// Say what a compiler's output means.
    #[arg(long, value_name = "FILE", conflicts_with = "code")]
    pub log: Option<Utf8PathBuf>,
    #[command(flatten)]
    pub shared: Shared,
}

#[derive(Args, Debug)]
pub struct CompletionsArgs {
    pub shell: clap_complete::Shell,
    #[command(flatten)]
    pub shared: Shared,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Target {
    Host,
    Npu2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    Human,
    Short,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SplitChoice {
    Auto,
    Off,
}

/// What a plan is the best of: fewest calls, least time, what compiles fast, fewest bytes between host and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ObjectiveChoice {
    Launches,
    Time,
    Compile,
    Bytes,
}

/// What may be written (`stitch --emit`) or how it is shown (`plan --emit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Emit {
    Elf,
    Mlir,
    Obj,
    Map,
    Text,
    Json,
    Html,
    Dot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
    Html,
    Dot,
}

/// Options that every command takes.
#[derive(Args, Debug, Clone)]
pub struct Shared {
    /// Where to write: a folder for stitch and run (default: the current one), a file for plan, init, rename and opt,
    /// either for link.
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<Utf8PathBuf>,
    /// Artefacts to write: elf, mlir, obj, map; default all. For `plan`, another name of --format.
    #[arg(long, value_delimiter = ',', value_name = "KINDS")]
    pub emit: Vec<Emit>,
    /// The form of what the command prints.
    #[arg(long, value_name = "FORM")]
    pub format: Option<Format>,
    /// What the ELFs are for.
    #[arg(long, value_name = "TARGET", default_value = "host")]
    pub target: Target,
    /// The device whose limits count: npu1, npu2, npu2_4col, ...
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<String>,
    /// Look for kernel objects here; may be repeated.
    #[arg(short = 'L', value_name = "DIR")]
    pub library_dirs: Vec<Utf8PathBuf>,
    /// Which reference kernel an extern means on the host; may be repeated.
    #[arg(long = "ref", value_name = "SYM=VARIANT")]
    pub refs: Vec<String>,
    /// Whether transfers whose K is above 8160 are split.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub k_split: SplitChoice,
    /// Whether matrix-vector products are spread over columns that their herds leave unused.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub n_split: SplitChoice,
    /// Whether launches that repeat a push too often are cut into several.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub row_split: SplitChoice,
    /// What the partition into ELFs is the best of; each call of an ELF costs the host 50 to 200 µs.
    #[arg(long, value_name = "WHAT", default_value = "launches")]
    pub objective: ObjectiveChoice,
    /// No ELF has more launches than this.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_launches: Option<u64>,
    /// Let steps that do not depend on one another change places, where fewer ELFs do then.
    #[arg(long)]
    pub reorder: bool,
    /// Let ELFs cross the ends of a layer's iterations, instead of sharing ELFs among them.
    #[arg(long)]
    pub unroll: bool,
    /// The kernels are compiled without double buffering.
    #[arg(long)]
    pub no_pingpong: bool,
    /// Tiling of run-time loops, as the compiler is told: 16,16.
    #[arg(long, value_delimiter = ',', value_name = "N,N")]
    pub runtime_tiling: Vec<u64>,
    /// Stack of each core, in bytes.
    #[arg(long, value_name = "N")]
    pub stack_bytes: Option<u64>,
    /// The compiler version whose rules count; `list` prints them.
    #[arg(long, value_name = "PROFILE")]
    pub toolchain: Option<String>,
    /// The CPU level of host code, or `aarch64` for objects that another machine links.
    #[arg(long, value_name = "LEVEL", default_value = "x86-64-v3")]
    pub cpu: String,
    /// Keep locations in the fused module.
    #[arg(long)]
    pub locations: bool,
    /// How many ELFs to compile at a time.
    #[arg(short = 'j', value_name = "N")]
    pub jobs: Option<u64>,
    /// Write a Makefile dependency file.
    #[arg(long = "MD")]
    pub md: bool,
    /// The dependency file's name.
    #[arg(long = "MF", value_name = "FILE")]
    pub mf: Option<Utf8PathBuf>,
    /// Add a phony target for each prerequisite.
    #[arg(long = "MP")]
    pub mp: bool,
    /// The target of the rule.
    #[arg(long = "MT", value_name = "TARGET")]
    pub mt: Vec<String>,
    /// The form of findings.
    #[arg(long, value_name = "FORM", default_value = "human")]
    pub message_format: MessageFormat,
    /// When to use colours.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
    /// Say more; may be repeated.
    #[arg(short, long, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Print errors and warnings only.
    #[arg(short, long)]
    pub quiet: bool,
    /// Treat warnings as errors (`-Werror`).
    #[arg(short = 'W', value_name = "error", value_parser = ["error"])]
    pub warnings: Option<String>,
    /// Print the time of each phase.
    #[arg(long)]
    pub timing: bool,
    /// Do everything but write.
    #[arg(long)]
    pub dry_run: bool,
}

impl Command {
    /// The options that every command takes.
    pub fn shared(&self) -> &Shared {
        match self {
            Command::Stitch(a) | Command::Plan(a) => &a.graph.shared,
            Command::Check(a) => &a.shared,
            Command::Verify(a) => &a.graph.shared,
            Command::Link(a) => &a.shared,
            Command::Run(a) => &a.shared,
            Command::Init(a) => &a.shared,
            Command::Diff(a) => &a.shared,
            Command::Rename(a) => &a.shared,
            Command::Inspect(a) => &a.shared,
            Command::Opt(a) => &a.shared,
            Command::Explain(a) => &a.shared,
            Command::Doctor(a) | Command::Man(a) => &a.shared,
            Command::Completions(a) => &a.shared,
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Command::Stitch(_) => "stitch",
            Command::Plan(_) => "plan",
            Command::Check(_) => "check",
            Command::Verify(_) => "verify",
            Command::Run(_) => "run",
            Command::Init(_) => "init",
            Command::Diff(_) => "diff",
            Command::Rename(_) => "rename",
            Command::Inspect(_) => "inspect",
            Command::Link(_) => "link",
            Command::Opt(_) => "opt",
            Command::Explain(_) => "explain",
            Command::Doctor(_) => "doctor",
            Command::Completions(_) => "completions",
            Command::Man(_) => "man",
        }
    }
}

/// `-MD`, `-MF`, `-MP` and `-MT` are spelled with one dash, as compilers do; clap wants two.
pub fn normalize(args: impl Iterator<Item = std::ffi::OsString>) -> Vec<std::ffi::OsString> {
    args.map(|arg| match arg.to_str() {
        Some("-MD" | "-MF" | "-MP" | "-MT") => format!("-{}", arg.to_string_lossy()).into(),
        _ => arg,
    })
    .collect()
}

impl Shared {
    /// The options given that nothing implements yet, for this command. An option that exists and that a command has no
    /// use for is accepted, as compilers do.
    pub fn unimplemented(&self, command: &Command) -> Vec<&'static str> {
        let mut list = Vec::new();
        let mut add = |given: bool, name| {
            if given {
                list.push(name);
            }
        };
        // What `link` writes is for the NPU in any case.
        add(self.target == Target::Npu2 && !matches!(command, Command::Link(_)), "--target npu2");
        add(self.objective == ObjectiveChoice::Time, "--objective time");
        add(self.jobs.is_some(), "-j");
        let has_depfile = matches!(command, Command::Stitch(_) | Command::Link(_));
        add(self.is_depfile_wanted() && !has_depfile, "-MD, -MF, -MP, -MT");
        // `--emit` names artefacts for `stitch`, and is another name of `--format` for `plan`.
        let is_plan = matches!(command, Command::Plan(_));
        let is_profile = matches!(command, Command::Run(r) if r.profile);
        let prints_json =
            is_plan || is_profile || matches!(command, Command::Check(_) | Command::Inspect(_) | Command::Doctor(_));
        add(self.format == Some(Format::Html) && !is_plan, "--format html");
        add(self.format == Some(Format::Dot) && !is_plan, "--format dot");
        add(self.format == Some(Format::Json) && !prints_json, "--format json");
        let artefacts = [Emit::Elf, Emit::Mlir, Emit::Obj, Emit::Map];
        add(self.emit.iter().any(|e| artefacts.contains(e) == is_plan), "this kind of --emit");
        list
    }

    /// The form of a plan: `--emit` is another name of `--format` there.
    pub fn plan_format(&self) -> Format {
        let named = self.emit.iter().find_map(|emit| match emit {
            Emit::Text => Some(Format::Text),
            Emit::Json => Some(Format::Json),
            Emit::Html => Some(Format::Html),
            Emit::Dot => Some(Format::Dot),
            Emit::Elf | Emit::Mlir | Emit::Obj | Emit::Map => None,
        });
        self.format.or(named).unwrap_or(Format::Text)
    }

    /// Whether the command writes files at all: `-o` for another would promise one.
    pub fn is_output_idle(&self, command: &Command) -> bool {
        let writes = matches!(
            command,
            Command::Stitch(_)
                | Command::Plan(_)
                | Command::Link(_)
                | Command::Run(_)
                | Command::Init(_)
                | Command::Rename(_)
                | Command::Opt(_)
        );
        self.output.is_some() && !writes
    }

    /// `-MF`, `-MP` and `-MT` ask for the file as `-MD` does.
    pub fn is_depfile_wanted(&self) -> bool {
        self.md || self.mf.is_some() || self.mp || !self.mt.is_empty()
    }

    pub fn is_werror(&self) -> bool {
        self.warnings.is_some()
    }
}
