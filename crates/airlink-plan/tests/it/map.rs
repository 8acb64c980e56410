//! The link map.

use airlink_plan::link_map;
use indexmap::IndexMap;

use crate::support::plan_of;
use crate::text::layer;

#[test]
fn a_link_map_says_what_was_linked() {
    let (text, kernels) = layer();
    let planned = plan_of(&text, &kernels);
    let plan = planned.plan.unwrap();
    let tools = IndexMap::from([("airlink".to_string(), "0.1.0".to_string())]);
    let map = link_map(&plan, 1, &planned.graph, &planned.kernels, tools);
    insta::assert_snapshot!(serde_json::to_string_pretty(&map).unwrap());
}

#[test]
fn every_elf_has_a_map_with_its_own_cut() {
    let (text, kernels) = layer();
    let planned = plan_of(&text, &kernels);
    let plan = planned.plan.unwrap();
    let cuts = |elf| {
        let map = link_map(&plan, elf, &planned.graph, &planned.kernels, IndexMap::new());
        map.cuts.into_iter().map(|c| c.after).collect::<Vec<_>>()
    };
    assert_eq!((cuts(0), cuts(1)), (vec!["rope".to_string()], vec!["rope".to_string(), "add2".to_string()]));
}
