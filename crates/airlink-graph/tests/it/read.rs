//! The reader: what it takes, and what it says about the rest.

use airlink_diag::codes;
use airlink_graph::{Fuse, KSplit, PingPong, Role, StepEntry};

use crate::support::{self, lines, read, read_ok};

const HEAD: &str = "[graph]\nname = \"g\"\n";
const LAUNCH: &str = "[[launch]]\nname = \"a\"\nkernel = \"k.mlir\"\nargs = [\"x\", \"y\"]\n";

/// The findings about `text` below a good head and launch.
fn found(text: &str) -> Vec<String> {
    lines(&read(&format!("{HEAD}{LAUNCH}{text}")).1)
}

#[test]
fn every_key_of_the_interface_is_read() {
    let graph = read_ok(
        r#"
[graph]
name = "layer"
device = "npu2_4col"
ref = { rope = "rope_halfsplit" }
[graph.compiler]
ping_pong = "L2"
runtime_tiling = [16, 4]
stack_bytes = 0x800
lock_fix = true
[[buffer]]
name = "wq"
type = "memref<8x8xbf16>"
role = "static"
[[view]]
name = "row1"
of = "wq"
offsets = [1, 0]
sizes = [1, 8]
strides = [1, 1]
type = "memref<8xbf16>"
[[launch]]
name = "q"
kernel = "gemv.mlir"
args = ["wq", "x"]
func = "matvec"
objects = { "mv.o" = "build/mv_t2.o" }
ref = { rope = "rope_interleaved" }
k_split = 70
fuse = "never"
elf = "cache/q.elf"
[[host]]
name = "attention"
reads = ["q"]
writes = ["row1"]
[[elf]]
name = "first"
launches = ["q"]
args = ["wq", "x"]
[elf.compiler]
ping_pong = "off"
"#,
    );
    assert_eq!(graph.device.unwrap().value, "npu2_4col");
    assert_eq!(graph.refs["rope"].value, "rope_halfsplit");
    assert_eq!(graph.compiler.ping_pong.as_ref().unwrap().value, PingPong::L2);
    assert_eq!(graph.compiler.stack_bytes.as_ref().unwrap().value, 2048);
    assert_eq!(graph.buffers[0].role.as_ref().unwrap().value, Role::Static);
    assert_eq!(graph.views[0].offsets.value, [1, 0]);
    let StepEntry::Launch(launch) = &graph.steps[0] else { panic!("{:?}", graph.steps[0]) };
    assert_eq!(launch.k_split.as_ref().unwrap().value, KSplit::Parts(70));
    assert_eq!(launch.fuse.as_ref().unwrap().value, Fuse::Never);
    assert_eq!(launch.objects["mv.o"].value, "build/mv_t2.o");
    let cut = &graph.elfs[0];
    assert_eq!(cut.args.as_ref().unwrap().value.len(), 2);
    let options = cut.compiler.over(&graph.compiler);
    assert_eq!(options.ping_pong.unwrap().value, PingPong::Off);
    assert_eq!(options.runtime_tiling.unwrap().value, [16, 4]);
}

#[test]
fn launches_hosts_and_blocks_keep_the_order_of_the_file() {
    let graph = read_ok(
        r#"
[[host]]
name = "embed"
writes = ["x_0"]
[[block]]
name = "layer"
count = 2
[[block.launch]]
name = "norm_{i}"
kernel = "norm.mlir"
args = ["x_{i}", "w_{i}", "n_{i}"]
[[block.host]]
name = "attention_{i}"
reads = ["n_{i}"]
writes = ["x_{i+1}"]
[[block.buffer]]
name = "w_{i}"
role = "static"
[[launch]]
name = "head"
kernel = "head.mlir"
args = ["x_2", "logits"]
[graph]
name = "g"
"#,
    );
    let names: Vec<_> = graph
        .steps
        .iter()
        .map(|s| match s {
            StepEntry::Launch(l) => {
                (l.name.value.as_str(), l.args.value.iter().map(|a| a.value.as_str()).collect::<Vec<_>>())
            }
            StepEntry::Host(h) => {
                (h.name.value.as_str(), h.reads.iter().chain(&h.writes).map(|a| a.value.as_str()).collect())
            }
        })
        .collect();
    assert_eq!(
        names,
        [
            ("embed", vec!["x_0"]),
            ("norm_0", vec!["x_0", "w_0", "n_0"]),
            ("attention_0", vec!["n_0", "x_1"]),
            ("norm_1", vec!["x_1", "w_1", "n_1"]),
            ("attention_1", vec!["n_1", "x_2"]),
            ("head", vec!["x_2", "logits"]),
        ]
    );
    assert_eq!(graph.buffers.iter().map(|b| b.name.value.as_str()).collect::<Vec<_>>(), ["w_0", "w_1"]);
}

#[test]
fn all_findings_come_at_once_and_in_file_order() {
    let (graph, findings) = read(
        r#"[graph]
nmae = "g"
device = "npu_2"
[graph.compiler]
ping_pong = "maybe"
runtime_tiling = [0, 1.5]
stack_bytes = -1
lock_fix = 1
[[launch]]
name = "1q"
kernel = 7
args = "x"
colour = "red"
k_split = 0
[[launch]]
name = ""
args = ["a b", 3]
fuse = "sometimes"
[[elf]]
name = "e"
[bufer]
"#,
    );
    assert!(graph.is_none());
    assert_eq!(
        lines(&findings),
        [
            "graph.toml:2:1: error[AL0106]: unknown key `nmae` in `[graph]`",
            "graph.toml:3:10: error[AL0109]: unknown device `npu_2`",
            "graph.toml:5:13: error[AL0109]: unknown ping_pong `maybe`",
            "graph.toml:6:19: error[AL0109]: `runtime_tiling` is 0",
            "graph.toml:6:22: error[AL0107]: `runtime_tiling` is a float, not an integer",
            "graph.toml:7:15: error[AL0109]: `stack_bytes` is -1",
            "graph.toml:8:12: error[AL0107]: `lock_fix` is an integer, not true or false",
            "graph.toml:11:10: error[AL0107]: `kernel` is an integer, not a string",
            "graph.toml:12:8: error[AL0107]: `args` is a string, not an array of strings",
            "graph.toml:13:1: error[AL0106]: unknown key `colour` in `[[launch]]`",
            "graph.toml:14:11: error[AL0109]: `k_split` is 0",
            "graph.toml:15:1: error[AL0108]: this `[[launch]]` has no `kernel`",
            "graph.toml:16:8: error[AL0109]: `name` is empty",
            "graph.toml:17:16: error[AL0107]: `args` is an integer, not a string",
            "graph.toml:18:8: error[AL0109]: unknown fuse `sometimes`",
            "graph.toml:19:1: error[AL0108]: this `[[elf]]` has no `launches`",
            "graph.toml:21:2: error[AL0106]: unknown key `bufer` at the top level",
        ]
    );
    let remedy = |n: usize| findings.in_file_order()[n].remedy.clone().unwrap();
    assert_eq!(remedy(0), "write `name`");
    assert_eq!(remedy(1), "write `npu2`");
    assert_eq!(remedy(16), "write `buffer`");
    assert!(remedy(9).contains("`k_split`"), "{}", remedy(9));
}

#[test]
fn names_must_be_usable_and_stand_once() {
    assert_eq!(
        found(
            r#"
[[buffer]]
name = "w-1"
[[buffer]]
name = "w"
[[view]]
name = "w"
of = "0w"
offsets = [0]
sizes = [1]
type = "memref<1xf32>"
[[host]]
name = "a"
[[block]]
name = "a"
count = 1
[[elf]]
name = "e"
launches = ["a"]
[[elf]]
name = "e"
launches = ["a"]
[[launch]]
name = "é"
kernel = "k"
args = ["x.y"]
"#
        ),
        [
            "graph.toml:9:8: error[AL0202]: buffer name `w-1` is not usable",
            "graph.toml:14:6: error[AL0202]: buffer name `0w` is not usable",
            "graph.toml:19:8: error[AL0201]: a launch and a host step are named `a`",
            "graph.toml:21:8: error[AL0201]: a launch and a block are named `a`",
            "graph.toml:27:8: error[AL0201]: two ELFs are named `e`",
            "graph.toml:30:8: error[AL0202]: launch name `é` is not usable",
            "graph.toml:32:9: error[AL0202]: buffer name `x.y` is not usable",
        ]
    );
}

#[test]
fn a_name_used_twice_shows_both_places() {
    let (_, findings) = read(&format!("{HEAD}{LAUNCH}{LAUNCH}"));
    let finding = findings.iter().next().unwrap();
    assert_eq!((finding.code, finding.headline.as_str()), (codes::AL0201, "two launches are named `a`"));
    let places: Vec<_> =
        finding.labels.iter().map(|l| findings.sources.line_column(l.span.file, l.span.start).line).collect();
    assert_eq!(places, [8, 4]);
}

#[test]
fn blocks_are_checked_once_for_all_copies() {
    let block =
        |count: &str, body: &str| found(&format!("[[block]]\nname = \"b\"\ncount = {count}\n[[block.launch]]\n{body}"));
    let line = |name: &str, args: &str| format!("name = \"{name}\"\nkernel = \"k\"\nargs = [\"{args}\"]\n");
    assert_eq!(block("4", &line("q_{i}", "x_{i+1}")), Vec::<String>::new());
    assert_eq!(block("1", &line("q", "x")), Vec::<String>::new());
    assert_eq!(block("4", &line("q", "x")), ["graph.toml:11:8: error[AL0201]: 4 copies of launch `q` have one name"]);
    assert_eq!(block("4", &line("{i}q", "x")), ["graph.toml:11:8: error[AL0202]: launch name `0q` is not usable"]);
    assert_eq!(
        block("4", &line("q_{j}_{i}", "x")),
        ["graph.toml:11:8: error[AL0202]: launch name `q_{j}_0` is not usable"]
    );
    assert_eq!(
        block("4", &line("q_{i}", "x_{i-1}")),
        ["graph.toml:13:9: error[AL0109]: `x_{i-1}` has no value in the first copy of block `b`"]
    );
    assert_eq!(block("0", &line("q_{i}", "x")), ["graph.toml:9:9: error[AL0109]: `count` is 0"]);
    for count in ["100001", "9223372036854775807"] {
        assert_eq!(
            block(count, &line("q_{i}", "x")),
            ["graph.toml:9:9: error[AL0109]: block `b` expands to too many steps"]
        );
    }
    assert_eq!(
        block("99999999999999999999", &line("q_{i}", "x"))[0],
        "graph.toml:9:9: error[AL0109]: `count` is 99999999999999999999"
    );
}

#[test]
fn copies_that_meet_a_name_outside_are_found() {
    let text = "[[block]]\nname = \"b\"\ncount = 2\n[[block.host]]\nname = \"a{i}\"\n[[host]]\nname = \"a1\"\n";
    assert_eq!(found(text), ["graph.toml:13:8: error[AL0201]: two host steps are named `a1`"]);
}

#[test]
fn kernels_and_objects_take_the_index_too() {
    let graph = read_ok(&format!(
        "{HEAD}[[block]]\nname = \"b\"\ncount = 2\n[[block.launch]]\nname = \"q{{i}}\"\nkernel = \"k{{i}}/{{name}}.mlir\"\nargs = []\n\
         objects = {{ \"mv.o\" = \"mv_{{i+10}}.o\" }}\nelf = \"c{{i}}.elf\"\n"
    ));
    let StepEntry::Launch(launch) = &graph.steps[1] else { panic!() };
    assert_eq!(launch.kernel.value, "k1/{name}.mlir");
    assert_eq!(launch.objects["mv.o"].value, "mv_11.o");
    assert_eq!(launch.elf.as_ref().unwrap().value, "c1.elf");
    assert_eq!(launch.block, Some(("b".to_string(), 1)));
}

#[test]
fn an_empty_graph_says_what_is_missing() {
    assert_eq!(lines(&read("").1), ["graph.toml:1:1: error[AL0108]: the launch graph has no `[graph]`"]);
    assert_eq!(lines(&read(HEAD).1), ["graph.toml:2:8: error[AL0221]: graph `g` has no launches"]);
    assert_eq!(
        lines(&read("graph = 1\n").1),
        ["graph.toml:1:9: error[AL0107]: `graph` is an integer, not a table: `[graph]`"]
    );
    assert_eq!(
        lines(&read("graph = { name = \"g\" }\nlaunch = [1]\n").1),
        ["graph.toml:2:11: error[AL0107]: `launch` is an integer, not a table: `[[launch]]`"]
    );
}

#[test]
fn malformed_toml_gives_every_syntax_error_with_its_place() {
    let (_, findings) = read("[graph\nname = \"g\"\n[[launch]]\nname = = 3\nkernel = \"a\nargs = [1, 2\n");
    assert!(findings.iter().all(|f| f.code == codes::AL0101), "{:?}", lines(&findings));
    let at: Vec<_> = findings
        .iter()
        .map(|f| findings.sources.line_column(f.labels[0].span.file, f.labels[0].span.start).line)
        .collect();
    assert!([1, 4, 5].iter().all(|l| at.contains(l)), "{:?}", lines(&findings));
    let twice = lines(&read("[graph]\nname = \"a\"\nname = \"b\"\n").1);
    assert_eq!(twice, ["graph.toml:3:1: error[AL0101]: malformed TOML: duplicate key"]);
}

#[test]
fn nul_bytes_and_deep_nesting_have_codes_of_their_own() {
    assert_eq!(
        lines(&read("[graph]\nname = \"a\0b\"\n").1),
        ["graph.toml:2:10: error[AL0103]: the launch graph holds a NUL byte"]
    );
    for open in ["[", "{ a = "] {
        for depth in [100, 20_000] {
            let text = format!("{HEAD}x = {}\n", open.repeat(depth));
            let (graph, findings) = read(&text);
            assert!(graph.is_none());
            assert_eq!(support::codes(&findings).last().unwrap(), "error AL0104", "{open} {depth}");
            assert!(findings.iter().count() <= 20);
        }
    }
    let dotted = format!("{HEAD}{} = 1\n", vec!["a"; 20_000].join("."));
    assert!(support::codes(&read(&dotted).1).contains(&"error AL0104".to_string()));
}

#[test]
fn remedies_name_the_edit() {
    let remedy = |text: &str| read(text).1.iter().next().unwrap().remedy.clone().unwrap();
    let head = |device: &str| format!("[graph]\nname = \"g\"\ndevice = \"{device}\"\n{LAUNCH}");
    assert_eq!(remedy(&head("npu2_8col")), "write `npu2`");
    assert_eq!(remedy(&head("npu2_5cols")), "write `npu2_5col`");
    assert!(remedy(&head("xilinx")).starts_with("write `npu2` for Strix"));
    assert_eq!(remedy(&format!("{HEAD}{LAUNCH}kernels = \"k\"\n")), "remove it; `kernel` is given already");
    assert_eq!(remedy(&format!("{HEAD}{LAUNCH}k_split = 0\n")), "give `k_split` a number from 1 up, below 2^63");
}
