//! Local names and the names of segments around bare herds.

use airlink_kernel::{EntryKind, LocalKind};
use airlink_plan::{NameAllocator, Plan};

use crate::support::{copy, errors, launch, lines, plan_of, plan_ok};

/// Per launch: `kind from=to`.
fn locals(plan: &Plan) -> Vec<String> {
    let launches = plan.elfs.iter().flat_map(|e| &e.launches);
    launches.flat_map(|l| &l.locals).map(|l| format!("{} {}={}", l.kind.as_str(), l.from, l.to)).collect()
}

fn segments(plan: &Plan) -> Vec<Option<&str>> {
    let launches = plan.elfs.iter().flat_map(|e| &e.launches);
    launches.flat_map(|l| &l.entries).map(|e| e.segment.as_deref()).collect()
}

#[test]
fn local_names_get_the_launch_as_prefix() {
    let kernel = copy("k.mlir")
        .local(LocalKind::Channel, "c")
        .local(LocalKind::Global, "table")
        .local(LocalKind::Herd, "h")
        .local(LocalKind::Resource, "blob");
    let text = launch("h", "k.mlir", &["x", "t"]) + &launch("b", "k.mlir", &["t", "y"]);
    let expected = [
        "channel c=h_c",
        "global table=h_table",
        "herd h=h_h",
        "resource blob=h_blob",
        "channel c=b_c",
        "global table=b_table",
        "herd h=b_h",
        "resource blob=b_blob",
    ];
    assert_eq!(locals(&plan_ok(&text, &[kernel])), expected);
}

#[test]
fn a_taken_local_name_moves_on() {
    // By an extern, which keeps its name; by the fused function; by another launch.
    let a = copy("a.mlir").local(LocalKind::Channel, "x").local(LocalKind::Channel, "y").local(LocalKind::Herd, "x");
    let b = copy("b.mlir").calls("a_x", &["i32"], Some("mv.o"));
    let text = launch("a", "a.mlir", &["x", "t"])
        + &launch("b", "b.mlir", &["t", "y"])
        + &launch("a_y", "c.mlir", &["y", "z"]);
    let c = copy("c.mlir").local(LocalKind::Channel, "2");
    let elf = crate::support::elf("a_y", &["a", "b", "a_y"]);
    let expected = ["channel x=a_x_2", "channel y=a_y_2", "herd x=a_x", "channel 2=a_y_2_2"];
    assert_eq!(locals(&plan_ok(&(text + &elf), &[a, b, c])), expected);
}

#[test]
fn name_spaces_are_per_elf() {
    let kernel =
        copy("k.mlir").local(LocalKind::Channel, "c").local(LocalKind::Segment, "c").local(LocalKind::Launch, "c");
    let text = launch("a", "k.mlir", &["x", "y"]);
    assert_eq!(locals(&plan_ok(&text, &[kernel])), ["channel c=a_c", "segment c=a_c", "launch c=a_c"]);
}

#[test]
fn bare_herds_get_a_segment() {
    let one = copy("k.mlir").bare(EntryKind::BareHerd, 1);
    let text = launch("a", "k.mlir", &["x", "t"]) + &launch("b", "k.mlir", &["t", "y"]);
    let planned = plan_of(&text, &[one]);
    let plan = planned.plan.unwrap();
    assert_eq!(segments(&plan), [Some("a_seg"), Some("b_seg")]);
    // Once per kernel.
    assert_eq!(
        lines(&planned.findings),
        ["k.mlir:1:25: note[AL0214]: bare herd of `k.mlir` wrapped in a launch and a segment `@a_seg`"]
    );
}

#[test]
fn several_bare_herds_and_a_segment_of_that_name() {
    let two = copy("k.mlir").bare(EntryKind::BareHerd, 2).local(LocalKind::Segment, "seg");
    let plan = plan_ok(&launch("a", "k.mlir", &["x", "y"]), &[two]);
    assert_eq!(locals(&plan), ["segment seg=a_seg"]);
    assert_eq!(segments(&plan), [Some("a_seg_2"), Some("a_seg_3")]);
}

#[test]
fn a_bare_segment_gets_a_launch_only() {
    let planned = plan_of(&launch("a", "k.mlir", &["x", "y"]), &[copy("k.mlir").bare(EntryKind::BareSegment, 1)]);
    assert_eq!(segments(&planned.plan.unwrap()), [None]);
    let said = lines(&planned.findings);
    assert!(said.iter().any(|l| l.ends_with("note[AL0214]: bare segment of `k.mlir` wrapped in a launch")), "{said:?}");
}

#[test]
fn other_functions_come_along_unless_they_are_kernels() {
    let kernel = copy("k.mlir").function("helper", false).function("other_kernel", true);
    let text = launch("a", "k.mlir", &["x", "y"]).replace("args", "func = \"k\"\nargs");
    let plan = plan_ok(&text, &[kernel]);
    assert_eq!(locals(&plan), ["function helper=a_helper"]);
    assert_eq!(plan.elfs[0].launches[0].dropped_functions, ["other_kernel"]);
    assert_eq!(plan.elfs[0].launches[0].function, "k");
}

#[test]
fn herds_that_link_one_extern_with_two_files_are_an_error() {
    // The summary of a kernel whose second herd links another object.
    let kernel = copy("k.mlir").bare(EntryKind::Launch, 2).calls("f", &["i32"], None).herd_link("o.o");
    assert_eq!(plan_ok(&launch("a", "k.mlir", &["x", "y"]), std::slice::from_ref(&kernel)).objects.len(), 1);
    let found = errors(&launch("a", "k.mlir", &["x", "y"]), &[kernel.second_call_links("p.o")]);
    assert_eq!(found, ["k.mlir:2:30: error[AL0402]: two herds link `@f` with different objects"]);
}

#[test]
fn the_allocator_gives_each_name_once() {
    let mut names = NameAllocator::with_taken(["a", "b_2"]);
    let got: Vec<_> = ["a", "a", "b", "b", "a_2", "b"].iter().map(|s| names.allocate(s)).collect();
    assert_eq!(got, ["a_2", "a_3", "b", "b_3", "a_2_2", "b_4"]);
}
