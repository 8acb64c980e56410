//! Roles per ELF, and the dataflow that they come from.

use airlink_graph::{Dependence, LaunchGraph, LaunchIdx, Role, Step, roles};

use crate::support::{Kernel, kernel, launch, lines, resolve};

const VEC: &str = "memref<16xf32>";

fn kernels() -> Vec<Kernel> {
    vec![
        kernel("copy.mlir", &[VEC, VEC], &["r,w"]),
        kernel("add.mlir", &[VEC, VEC, VEC], &["r,r,w"]),
        kernel("update.mlir", &[VEC], &["rw"]),
        kernel("fresh.mlir", &[VEC], &["wr"]),
        kernel("two.mlir", &[VEC, VEC, VEC], &["r,w,", ",r,w"]),
        kernel("scalar.mlir", &[VEC, VEC, "index"], &["r,w,"]),
        kernel("idle.mlir", &[VEC, VEC], &["r,"]),
        kernel("pair.mlir", &["memref<2x16xf32>", VEC], &["r,w"]),
    ]
}

fn graph(text: &str) -> LaunchGraph {
    let (graph, findings) = resolve(text, &kernels());
    graph.unwrap_or_else(|| panic!("{:?}", lines(&findings)))
}

/// Per ELF the roles as `name:role`, with `name:declared/dataflow` where they differ, and the warnings.
fn roles_of(text: &str, partition: &[&[usize]]) -> (Vec<String>, Vec<String>) {
    let (graph, mut findings) = resolve(text, &kernels());
    let graph = graph.unwrap_or_else(|| panic!("{:?}", lines(&findings)));
    let parts: Vec<Vec<_>> = partition.iter().map(|p| p.iter().map(|i| LaunchIdx(*i)).collect()).collect();
    let text = |elf: &airlink_graph::ElfRoles| {
        let one = |(index, r): (&airlink_graph::BufferIdx, &airlink_graph::BufferRole)| {
            let name = &graph.buffer(*index).name;
            let flow = if r.role == r.dataflow { String::new() } else { format!("/{}", r.dataflow.as_str()) };
            format!("{name}:{}{flow}", r.role.as_str())
        };
        elf.buffers.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    let elfs = roles(&graph, &parts, &mut findings).iter().map(text).collect();
    (elfs, lines(&findings))
}

fn quiet(text: &str, partition: &[&[usize]]) -> Vec<String> {
    let (elfs, findings) = roles_of(text, partition);
    assert_eq!(findings, Vec::<String>::new());
    elfs
}

fn buffer(name: &str, role: &str) -> String {
    format!("[[buffer]]\nname = \"{name}\"\ntype = \"{VEC}\"\nrole = \"{role}\"\n")
}

fn chain() -> String {
    launch("a", "copy.mlir", &["x", "m"])
        + &launch("b", "copy.mlir", &["m", "n"])
        + &launch("c", "add.mlir", &["n", "w", "y"])
}

#[test]
fn one_elf_hides_what_it_makes_and_uses_up() {
    assert_eq!(
        quiet(&(buffer("w", "static") + &chain()), &[&[0, 1, 2]]),
        ["x:input m:intermediate n:intermediate w:static y:output"]
    );
}

#[test]
fn what_crosses_a_cut_is_output_here_and_input_there() {
    assert_eq!(quiet(&chain(), &[&[0, 1], &[2]]), ["x:input m:intermediate n:output", "n:input w:input y:output"]);
    // A launch in no part stands for another ELF.
    assert_eq!(quiet(&chain(), &[&[0], &[2]]), ["x:input m:output", "n:input w:input y:output"]);
}

#[test]
fn what_the_host_reads_or_writes_between() {
    let text = launch("a", "copy.mlir", &["x", "m"])
        + "[[host]]\nname = \"h\"\nreads = [\"m\"]\nwrites = [\"n\"]\n"
        + &launch("b", "add.mlir", &["m", "n", "y"]);
    assert_eq!(quiet(&text, &[&[0], &[1]]), ["x:input m:output", "m:input n:input y:output"]);
    // Even within one ELF: the host reads it.
    assert_eq!(quiet(&text, &[&[0, 1]]), ["x:input m:output n:input y:output"]);
}

#[test]
fn updates_are_inout_and_fresh_buffers_are_not() {
    assert_eq!(quiet(&launch("a", "update.mlir", &["x"]), &[&[0]]), ["x:inout"]);
    assert_eq!(quiet(&launch("a", "fresh.mlir", &["x"]), &[&[0]]), ["x:intermediate"]);
    let text = launch("a", "copy.mlir", &["x", "m"]) + &launch("b", "update.mlir", &["m"]);
    assert_eq!(quiet(&text, &[&[0, 1]]), ["x:input m:output"]);
    assert_eq!(quiet(&text, &[&[0], &[1]]), ["x:input m:output", "m:inout"]);
}

#[test]
fn two_launches_of_one_kernel_follow_each_other() {
    assert_eq!(quiet(&launch("a", "two.mlir", &["x", "t", "y"]), &[&[0]]), ["x:input t:intermediate y:output"]);
}

#[test]
fn a_scratch_buffer_that_two_elfs_fill_anew_is_intermediate_in_both() {
    let half = |n: usize, from: &str, to: &str| {
        launch(&format!("a{n}"), "copy.mlir", &[from, "t"]) + &launch(&format!("b{n}"), "copy.mlir", &["t", to])
    };
    let text = half(0, "x", "y") + &half(1, "y", "z");
    assert_eq!(
        quiet(&text, &[&[0, 1], &[2, 3]]),
        ["x:input t:intermediate y:output", "y:input t:intermediate z:output"]
    );
}

#[test]
fn a_write_that_another_elf_overwrites_unread_is_still_an_output() {
    let text = launch("a", "copy.mlir", &["x", "y"]) + &launch("b", "copy.mlir", &["x", "y"]);
    assert_eq!(quiet(&text, &[&[0], &[1]]), ["x:input y:output", "x:input y:output"]);
    assert_eq!(quiet(&text, &[&[0, 1]]), ["x:input y:output"]);
}

#[test]
fn rows_of_one_buffer_count_by_their_bytes() {
    let rows = "[[buffer]]\nname = \"p\"\ntype = \"memref<2x16xf32>\"\n\
        [[view]]\nname = \"row0\"\nof = \"p\"\noffsets = [0, 0]\nsizes = [1, 16]\ntype = \"memref<16xf32>\"\n";
    let row1 =
        rows.lines().skip(3).collect::<Vec<_>>().join("\n").replace("row0", "row1").replace("[0, 0]", "[1, 0]") + "\n";
    let fill = |row: &str| launch(&format!("f{row}"), "copy.mlir", &["x", row]);
    let read = launch("r", "pair.mlir", &["p", "y"]);
    let one = rows.to_string() + &fill("row0") + &read;
    assert_eq!(quiet(&one, &[&[0, 1]]), ["x:input p:inout y:output"]);
    let both = rows.to_string() + &row1 + &fill("row0") + &fill("row1") + &read;
    assert_eq!(quiet(&both, &[&[0, 1, 2]]), ["x:input p:intermediate y:output"]);
    let late = rows.to_string() + &row1 + &fill("row0") + &launch("r", "copy.mlir", &["row0", "y"]) + &fill("row1");
    assert_eq!(quiet(&late, &[&[0, 1, 2]]), ["x:input p:output y:output"]);
}

#[test]
fn scalars_are_inputs_and_untouched_arguments_dead() {
    assert_eq!(quiet(&launch("a", "scalar.mlir", &["x", "y", "n"]), &[&[0]]), ["x:input y:output n:input"]);
    assert_eq!(quiet(&launch("a", "idle.mlir", &["x", "y"]), &[&[0]]), ["x:input y:dead"]);
}

#[test]
fn declarations_that_the_dataflow_leaves_open_hold() {
    // The host may read what is made on the way; a kernel may write a part only.
    assert_eq!(
        quiet(&(buffer("m", "output") + &buffer("y", "inout") + &buffer("x", "input") + &chain()), &[&[0, 1, 2]]),
        ["x:input m:output/intermediate n:intermediate w:input y:inout/output"]
    );
    // Across cuts: it is an output where it is made and an input where it is read.
    assert_eq!(
        quiet(&(buffer("n", "output") + &chain()), &[&[0, 1], &[2]]),
        ["x:input m:intermediate n:output", "n:input w:input y:output"]
    );
}

#[test]
fn declarations_that_the_dataflow_contradicts_are_kept_and_reported() {
    let check = |name: &str, role: &str, partition: &[&[usize]], found: &str| {
        let (elfs, findings) = roles_of(&(buffer(name, role) + &chain()), partition);
        let wanted =
            format!("graph.toml:6:8: warning[AL0213]: `{name}` is declared `{role}`, but its use makes it `{found}`");
        assert_eq!(findings, [wanted]);
        assert!(elfs.iter().any(|e| e.contains(&format!("{name}:{role}/{found}"))), "{elfs:?}");
    };
    let all: &[&[usize]] = &[&[0, 1, 2]];
    check("x", "output", all, "input");
    check("x", "intermediate", all, "input");
    check("x", "inout", all, "input");
    check("x", "dead", all, "input");
    check("m", "input", all, "intermediate");
    check("m", "static", all, "intermediate");
    check("m", "dead", all, "intermediate");
    check("y", "intermediate", all, "output");
    check("y", "static", all, "output");
    check("n", "intermediate", &[&[0, 1], &[2]], "output");
    check("n", "input", &[&[0, 1], &[2]], "output");
}

#[test]
fn a_contradiction_shows_the_declaration_the_uses_and_the_kernels() {
    let (graph, mut findings) = resolve(&(buffer("m", "static") + &chain()), &kernels());
    roles(&graph.unwrap(), &[vec![LaunchIdx(0), LaunchIdx(1), LaunchIdx(2)]], &mut findings);
    let finding = findings.iter().next().unwrap();
    let at: Vec<_> = finding.labels.iter().map(|l| (l.text.as_str(), findings.sources.snippet(l.span))).collect();
    assert_eq!(
        at,
        [
            ("`a` writes and `b` reads it", "\"static\""),
            ("written here", "\"m\""),
            ("written by the kernel", "write"),
            ("read here", "\"m\""),
            ("read by the kernel", "read"),
        ]
    );
}

#[test]
fn listed_and_unused_is_dead_whatever_was_declared() {
    let elf = "[[elf]]\nname = \"e\"\nlaunches = [\"a\", \"b\", \"c\"]\nargs = [\"x\", \"m\", \"n\", \"w\", \"y\", \"idle\"]\n";
    let (_, findings) = roles_of(&(buffer("idle", "intermediate") + &chain() + elf), &[&[0, 1, 2]]);
    assert_eq!(
        findings,
        ["graph.toml:6:8: warning[AL0213]: `idle` is declared `intermediate`, but its use makes it `dead`"]
    );
    assert_eq!(quiet(&(buffer("idle", "dead") + &chain() + elf), &[&[0, 1, 2]]).len(), 1);
}

#[test]
fn index_lists_follow_the_roles() {
    let lists = airlink_graph::index_lists([
        Role::Input,
        Role::Static,
        Role::Output,
        Role::Intermediate,
        Role::Inout,
        Role::Dead,
    ]);
    assert_eq!(lists.static_input_indices, [1]);
    assert_eq!(lists.output_indices, [2, 4]);
    assert_eq!(lists.intermediate_indices, [2, 3, 5]);
}

/// Edges as `a->b buffer kind`.
fn edges(graph: &LaunchGraph) -> Vec<String> {
    let flow = graph.dataflow();
    let name = |n: petgraph::graph::NodeIndex| graph.step_name(flow[n]).value.as_str();
    let kind = |k| match k {
        Dependence::ReadAfterWrite => "raw",
        Dependence::WriteAfterRead => "war",
        Dependence::WriteAfterWrite => "waw",
    };
    flow.edge_indices()
        .map(|e| {
            let ((from, to), edge) = (flow.edge_endpoints(e).unwrap(), flow[e]);
            format!("{}->{} {} {}", name(from), name(to), graph.buffer(edge.buffer).name, kind(edge.kind))
        })
        .collect()
}

#[test]
fn the_dataflow_has_every_dependence_once() {
    let text = launch("a", "copy.mlir", &["x", "m"])
        + "[[host]]\nname = \"h\"\nreads = [\"m\"]\nwrites = [\"x\"]\n"
        + &launch("b", "add.mlir", &["m", "m", "y"])
        + &launch("c", "copy.mlir", &["x", "m"])
        + &launch("d", "update.mlir", &["m"]);
    let graph = graph(&text);
    assert_eq!(
        edges(&graph),
        [
            "a->h x war",
            "a->h m raw",
            "a->b m raw",
            "a->c m waw",
            "h->c x raw",
            "h->c m war",
            "b->c m war",
            "c->d m raw",
            "c->d m waw"
        ]
    );
    let flow = graph.dataflow();
    assert_eq!(flow.node_count(), 5);
    assert!(matches!(flow[petgraph::graph::NodeIndex::new(1)], Step::Host(_)));
    assert!(!petgraph::algo::is_cyclic_directed(&flow));
}

#[test]
fn a_static_buffer_that_all_read_makes_no_edges() {
    let text: String = (0..50).map(|i| launch(&format!("l{i}"), "add.mlir", &["w", "w", &format!("y{i}")])).collect();
    assert_eq!(edges(&graph(&text)), Vec::<String>::new());
}
