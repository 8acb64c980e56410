//! The best partition: against brute force, and in cases that a reader can check.

use airlink_device::Device;
use airlink_diag::codes;
use airlink_graph::Role;
use airlink_plan::{CutReason, Objective, Plan, PlanOptions};
use proptest::prelude::*;

use crate::support::{Kernel, elf, host, kernel, launch, lines, plan_by, reordered};

/// Vectors of these many f32 elements.
const SIZES: [u64; 3] = [4, 16, 1024];

/// A kernel that reads and writes vectors: `r16w4` reads 16 elements and writes 4.
fn mover(reads: &[u64], writes: &[u64]) -> (String, Kernel) {
    let path: String = [('r', reads), ('w', writes)]
        .iter()
        .flat_map(|(c, sizes)| sizes.iter().map(move |s| format!("{c}{s}")))
        .collect();
    let of =
        |sizes: &[u64], access: &str| sizes.iter().map(|s| format!("memref<{s}xf32> {access}")).collect::<Vec<_>>();
    let args = [of(reads, "r"), of(writes, "w")].concat();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    (path.clone(), kernel(&path, &args))
}

/// One step of a random program.
#[derive(Clone, Debug)]
enum Op {
    /// Reads buffers and writes buffers, by number; the size of a buffer follows from its number.
    Launch {
        reads: Vec<usize>,
        writes: Vec<usize>,
        is_never: bool,
    },
    Host {
        reads: Vec<usize>,
        writes: Vec<usize>,
    },
}

fn any_op() -> impl Strategy<Value = Op> {
    let buffers = || proptest::collection::btree_set(0..12usize, 1..4);
    (buffers(), buffers(), 0..10u8).prop_map(|(reads, writes, kind)| {
        // In-place use is another matter, and buffer 0 is static.
        let writes: Vec<usize> = writes.into_iter().filter(|w| *w != 0 && !reads.contains(w)).collect();
        let reads: Vec<usize> = reads.into_iter().collect();
        match kind {
            0 => Op::Host { reads, writes },
            1 => Op::Launch { reads, writes, is_never: true },
            _ => Op::Launch { reads, writes, is_never: false },
        }
    })
}

fn size(buffer: usize) -> u64 {
    SIZES[buffer % SIZES.len()]
}

/// The graph of a program without cuts, its kernels, and its launches.
fn graph(ops: &[Op]) -> (String, Vec<Kernel>, Vec<String>) {
    let mut text = String::new();
    let mut kernels: Vec<(String, Kernel)> = Vec::new();
    let mut launches = Vec::new();
    let names = |list: &[usize]| list.iter().map(|b| format!("b{b}")).collect::<Vec<_>>();
    for buffer in 0..3 {
        text += &format!("[[buffer]]\nname = \"b{buffer}\"\nrole = \"{}\"\n", ["static", "output", "inout"][buffer]);
    }
    for (i, op) in ops.iter().enumerate() {
        match op {
            Op::Host { reads, writes } => {
                let [reads, writes] = [names(reads), names(writes)];
                let [reads, writes] = [&reads, &writes].map(|l| l.iter().map(String::as_str).collect::<Vec<_>>());
                text += &host(&format!("h{i}"), &reads, &writes);
            }
            Op::Launch { reads, writes, is_never } => {
                let sizes = |l: &[usize]| l.iter().map(|b| size(*b)).collect::<Vec<_>>();
                let (path, kernel) = mover(&sizes(reads), &sizes(writes));
                let args = [names(reads), names(writes)].concat();
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                text += &launch(&format!("l{i}"), &path, &args);
                if *is_never {
                    text += "fuse = \"never\"\n";
                }
                launches.push(format!("l{i}"));
                if !kernels.iter().any(|(p, _)| *p == path) {
                    kernels.push((path, kernel));
                }
            }
        }
    }
    (text, kernels.into_iter().map(|(_, k)| k).collect(), launches)
}

/// What a plan costs, from its text forms alone: roles, arguments and loads.
fn cost(plan: &Plan, objective: Objective) -> [u64; 4] {
    let mut sum = [0; 4];
    for elf in &plan.elfs {
        let bytes: u64 = elf
            .args
            .iter()
            .map(|a| {
                let given = matches!(a.role, Role::Input | Role::Inout);
                let taken = matches!(a.role, Role::Output | Role::Inout);
                a.size_bytes.unwrap() * (u64::from(given) + u64::from(taken))
            })
            .sum();
        let n = elf.launches.len() as u64;
        let odd = elf.resources.as_ref().map_or(0, |r| r.program.pdi_loads % 2);
        let cost = match objective {
            Objective::Launches => [1, odd, bytes, n * n],
            Objective::Bytes => [bytes, 1, odd, n * n],
            Objective::Compile => [n.saturating_sub(8), 1, n * n, odd],
        };
        (0..4).for_each(|i| sum[i] += cost[i]);
    }
    sum
}

/// The least cost over all partitions into neighbours, each given by hand and planned.
fn brute_force(text: &str, kernels: &[Kernel], launches: &[String], options: &PlanOptions) -> Option<[u64; 4]> {
    let mut least: Option<[u64; 4]> = None;
    'partitions: for ends in 0..1u32 << (launches.len() - 1) {
        let mut parts: Vec<Vec<&str>> = vec![vec![]];
        for (i, launch) in launches.iter().enumerate() {
            parts.last_mut().unwrap().push(launch);
            if i + 1 < launches.len() && ends >> i & 1 == 1 {
                parts.push(vec![]);
            }
        }
        let cuts: String = parts.iter().enumerate().map(|(i, p)| elf(&format!("e{i}"), p)).collect();
        let planned = plan_by(&format!("{text}{cuts}"), kernels, &[], options);
        let Some(plan) = planned.plan else { continue };
        if planned.findings.iter().any(|f| f.code == codes::AL0213) {
            continue;
        }
        for e in &plan.elfs {
            // An xclbin takes no more: what the device refuses in a merge is no partition.
            if options.device.is_some_and(|d| !d.has_full_elf) && e.launches.len() > 1 && e.args.len() > 16 {
                continue 'partitions;
            }
        }
        let cost = cost(&plan, options.objective);
        least = Some(least.map_or(cost, |l| l.min(cost)));
    }
    least
}

fn any_options() -> impl Strategy<Value = PlanOptions> {
    let objective = prop_oneof![Just(Objective::Launches), Just(Objective::Compile), Just(Objective::Bytes)];
    (objective, proptest::option::of(1..6u64), any::<bool>()).prop_map(|(objective, max_launches, is_npu1)| {
        PlanOptions {
            objective,
            max_launches,
            device: is_npu1.then(|| Device::named("npu1").unwrap()),
            unrolls: true,
            ..PlanOptions::default()
        }
    })
}

/// Plans a program twice and compares the cost with brute force.
fn check_best(ops: &[Op], options: &PlanOptions) -> Result<(), TestCaseError> {
    let (text, kernels, launches) = graph(ops);
    prop_assume!(!launches.is_empty());
    let planned = plan_by(&text, &kernels, &[], options);
    // A declared role that the dataflow contradicts is kept, whatever it costs.
    prop_assume!(planned.findings.iter().all(|f| f.code != codes::AL0213));
    let plan = planned.plan.unwrap_or_else(|| panic!("{:#?}", lines(&planned.findings)));
    prop_assert_eq!(Some(cost(&plan, options.objective)), brute_force(&text, &kernels, &launches, options));
    let again = plan_by(&text, &kernels, &[], options);
    prop_assert_eq!(Some(&plan), again.plan.as_ref());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn the_planner_is_as_good_as_brute_force(
        ops in proptest::collection::vec(any_op(), 1..9),
        options in any_options(),
    ) {
        check_best(&ops, &options)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

    #[test]
    fn the_planner_is_as_good_as_brute_force_on_fourteen_steps(
        ops in proptest::collection::vec(any_op(), 14),
        options in any_options(),
    ) {
        check_best(&ops, &options)?;
    }
}

/// A chain of `count` launches, each with a weight of its own: `count` * 2 + 1 arguments in one ELF.
fn chain(count: usize) -> (String, Vec<Kernel>) {
    let text = (0..count)
        .map(|i| launch(&format!("l{i}"), "r4r4w4", &[&format!("w{i}"), &format!("t{i}"), &format!("t{}", i + 1)]))
        .collect();
    (text, vec![mover(&[4, 4], &[4]).1])
}

fn shape(plan: &Plan) -> Vec<(usize, String)> {
    plan.elfs.iter().map(|e| (e.launches.len(), e.cut.to_string())).collect()
}

#[test]
fn only_a_limit_cuts_where_nothing_else_does() {
    let (text, kernels) = chain(10);
    let one = plan_by(&text, &kernels, &[], &PlanOptions::default()).plan.unwrap();
    assert_eq!(shape(&one), [(10, "end of the program".to_string())]);
    let npu1 = PlanOptions { device: Device::named("npu1"), ..PlanOptions::default() };
    let two = plan_by(&text, &kernels, &[], &npu1).plan.unwrap();
    assert_eq!(two.elfs.len(), 2);
    let CutReason::Limit { with, code, found, allowed, .. } = &two.elfs[0].cut else { panic!("{:?}", two.elfs[0].cut) };
    assert_eq!(code.map(|c| c.to_string()).as_deref(), Some("AL0319"));
    assert_eq!((with.as_str(), found.as_str(), allowed.as_str()), ("`l6` to `l9`", "21 buffers", "at most 16"));
}

#[test]
fn max_launches_is_kept_with_as_few_elfs_as_even_as_can_be() {
    let (text, kernels) = chain(10);
    let options = PlanOptions { max_launches: Some(4), ..PlanOptions::default() };
    let plan = plan_by(&text, &kernels, &[], &options).plan.unwrap();
    let sizes: Vec<usize> = plan.elfs.iter().map(|e| e.launches.len()).collect();
    // Three ELFs, none with an odd number of PDI loads.
    assert_eq!(sizes, [4, 4, 2]);
    assert!(plan.elfs[0].cut.to_string().ends_with("8 launches, 4 allowed (--max-launches)"), "{}", plan.elfs[0].cut);
}

#[test]
fn compile_keeps_to_the_launches_that_are_advised() {
    let (text, kernels) = chain(9);
    let options = PlanOptions { objective: Objective::Compile, ..PlanOptions::default() };
    let plan = plan_by(&text, &kernels, &[], &options).plan.unwrap();
    assert_eq!(shape(&plan)[0], (5, "with `l5` to `l8` 1 launches above the 8 advised, apart 0".to_string()));
}

#[test]
fn given_cuts_are_judged() {
    let (text, kernels) = chain(4);
    let cut = |cuts: &[(&str, &[&str])], options: &PlanOptions| {
        let cuts: String = cuts.iter().map(|(n, l)| elf(n, l)).collect();
        let planned = plan_by(&format!("{text}{cuts}"), &kernels, &[], options);
        lines(&planned.findings)
            .into_iter()
            .filter(|l| l.contains("AL0504") || l.contains("AL0508"))
            .collect::<Vec<_>>()
    };
    let default = PlanOptions::default();
    assert!(cut(&[("all", &["l0", "l1", "l2", "l3"])], &default).is_empty());
    let halves: [(&str, &[&str]); 2] = [("one", &["l0", "l1"]), ("two", &["l2", "l3"])];
    assert_eq!(cut(&halves, &default).len(), 1);
    assert!(cut(&halves, &PlanOptions { max_launches: Some(2), ..PlanOptions::default() }).is_empty());
    let too_long = cut(&halves, &PlanOptions { max_launches: Some(1), ..PlanOptions::default() });
    assert_eq!(too_long.len(), 2, "{too_long:?}");
}

/// Two layers with a host step each, flat or as a block.
fn layers(is_block: bool, count: usize) -> String {
    let layer = |prefix: &str, i: &str, next: &str| {
        let step = |kind: &str, body: String| format!("[[{prefix}{kind}]]\n{body}");
        step("launch", format!("name = \"a_{i}\"\nkernel = \"r4r4w4\"\nargs = [\"wa_{i}\", \"x_{i}\", \"q_{i}\"]\n"))
            + &step("host", format!("name = \"h_{i}\"\nreads = [\"q_{i}\"]\nwrites = [\"o_{i}\"]\n"))
            + &step(
                "launch",
                format!("name = \"b_{i}\"\nkernel = \"r4r4w4\"\nargs = [\"wb_{i}\", \"o_{i}\", \"x_{next}\"]\n"),
            )
    };
    match is_block {
        true => format!("[[block]]\nname = \"layer\"\ncount = {count}\n{}", layer("block.", "{i}", "{i+1}")),
        false => (0..count).map(|i| layer("", &i.to_string(), &(i + 1).to_string())).collect(),
    }
}

#[test]
fn a_block_is_planned_once_and_its_iterations_share_their_elfs() {
    let kernels = [mover(&[4, 4], &[4]).1];
    let plan = plan_by(&layers(true, 5), &kernels, &[], &PlanOptions::default()).plan.unwrap();
    let calls: Vec<usize> = plan.elfs.iter().map(|e| e.calls.len()).collect();
    assert_eq!(calls, [5, 5]);
    assert_eq!(
        plan.elfs[1].cut.to_string(),
        "an iteration of `layer` ends: 5 share their ELFs; with --unroll 6 calls of 2 ELFs instead of 10 calls of 2 ELFs"
    );
    // What an iteration hands to the next leaves its ELF.
    assert_eq!(plan.elfs[1].args.iter().map(|a| a.role).collect::<Vec<_>>(), [Role::Input, Role::Input, Role::Output]);
    let unrolled = PlanOptions { unrolls: true, ..PlanOptions::default() };
    assert_eq!(plan_by(&layers(true, 5), &kernels, &[], &unrolled).plan.unwrap().elfs.len(), 6);
}

#[test]
fn layers_that_repeat_without_a_block_are_found() {
    let kernels = [mover(&[4, 4], &[4]).1];
    let flat = plan_by(&layers(false, 5), &kernels, &[], &PlanOptions::default()).plan.unwrap();
    let block = plan_by(&layers(true, 5), &kernels, &[], &PlanOptions::default()).plan.unwrap();
    let calls = |p: &Plan| p.elfs.iter().map(|e| e.calls.clone()).collect::<Vec<_>>();
    assert_eq!(calls(&flat), calls(&block));
    // Not where wiring differs: each layer reads one weight of the last.
    let mut other = layers(false, 2);
    other = other.replace("\"wb_1\", \"o_1\"", "\"wa_1\", \"o_1\"");
    let plan = plan_by(&other, &kernels, &[], &PlanOptions::default()).plan.unwrap();
    assert!(plan.elfs.iter().all(|e| e.calls.len() == 1));
}

#[test]
fn iterations_of_other_wiring_have_elfs_of_their_own() {
    let kernels = [mover(&[4, 4], &[4]).1];
    // The first iteration reads one buffer twice, by name; the others don't.
    let text = "[[block]]\nname = \"layer\"\ncount = 3\n[[block.launch]]\nname = \"a_{i}\"\nkernel = \"r4r4w4\"\n\
                args = [\"x_0\", \"x_{i}\", \"y_{i}\"]\n\
                [[block.host]]\nname = \"h_{i}\"\nreads = [\"y_{i}\"]\nwrites = [\"x_{i+1}\"]\n";
    let plan = plan_by(text, &kernels, &[], &PlanOptions::default()).plan.unwrap();
    let calls: Vec<usize> = plan.elfs.iter().map(|e| e.calls.len()).collect();
    assert_eq!(calls, [1, 2], "{:?}", shape(&plan));
}

#[test]
fn a_block_without_host_steps_is_only_a_short_way_to_write_launches() {
    let kernels = [mover(&[4, 4], &[4]).1];
    let text = "[[block]]\nname = \"vocabulary\"\ncount = 19\n[[block.launch]]\nname = \"p_{i}\"\nkernel = \"r4r4w4\"\n\
                args = [\"w_{i}\", \"x\", \"logits_{i}\"]\n";
    let plan = plan_by(text, &kernels, &[], &PlanOptions::default()).plan.unwrap();
    assert_eq!(shape(&plan), [(19, "end of the program".to_string())]);
}

#[test]
fn reordered_steps_need_fewer_elfs_where_the_dataflow_allows() {
    let kernels = [mover(&[4], &[4]).1];
    let text = [
        launch("a", "r4w4", &["x", "q"]),
        host("h", &["q"], &["p"]),
        launch("b", "r4w4", &["u", "v"]),
        launch("c", "r4w4", &["p", "y"]),
    ]
    .concat();
    let planned = reordered(&text, &kernels);
    let names =
        |p: &Plan| p.elfs.iter().map(|e| e.launches.iter().map(|l| l.name.clone()).collect()).collect::<Vec<Vec<_>>>();
    // As many ELFs either way: nothing moves.
    assert_eq!(names(&planned), [vec!["a"], vec!["b", "c"]]);
    let text = [
        launch("a", "r4w4", &["x", "q"]),
        host("h", &["q"], &["p"]),
        launch("b", "r4w4", &["u", "v"]),
        host("g", &["p"], &["w"]),
        launch("c", "r4w4", &["w", "y"]),
    ]
    .concat();
    let planned = reordered(&text, &kernels);
    assert_eq!(names(&planned), [vec!["a", "b"], vec!["c"]]);
    assert_eq!(planned.moves.iter().map(|m| (m.step.as_str(), m.before.as_str())).collect::<Vec<_>>(), [("b", "h")]);
}

/// Fewest runs of launches over all orders that keep what depends on one another: by sets of steps that are done.
fn fewest_runs(before: &[Vec<usize>], fuses: &[bool]) -> usize {
    let n = before.len();
    let mut least = vec![[usize::MAX; 2]; 1 << n];
    // Whether the last step taken was a launch that may share an ELF.
    least[0] = [0, usize::MAX];
    for done in 0..1usize << n {
        for last in 0..2 {
            let runs = least[done][last];
            if runs == usize::MAX {
                continue;
            }
            for step in (0..n).filter(|s| done >> s & 1 == 0 && before[*s].iter().all(|b| done >> b & 1 == 1)) {
                let next = usize::from(fuses[step]);
                let more = usize::from(fuses[step] && last == 0);
                let entry = &mut least[done | 1 << step][next];
                *entry = (*entry).min(runs + more);
            }
        }
    }
    let [a, b] = least[(1 << n) - 1];
    a.min(b)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_order_has_fewer_elfs_than_the_one_chosen(ops in proptest::collection::vec(any_op(), 1..13)) {
        let (text, kernels, launches) = graph(&ops);
        prop_assume!(!launches.is_empty());
        let planned = plan_by(&text, &kernels, &[], &PlanOptions { unrolls: true, ..PlanOptions::default() });
        let flow = planned.graph.dataflow();
        let before: Vec<Vec<usize>> = flow
            .node_indices()
            .map(|n| flow.neighbors_directed(n, petgraph::Direction::Incoming).map(|b| b.index()).collect())
            .collect();
        let fuses: Vec<bool> = ops.iter().map(|o| matches!(o, Op::Launch { is_never: false, .. })).collect();
        let alone = ops.iter().filter(|o| matches!(o, Op::Launch { is_never: true, .. })).count();
        let reordered = airlink_graph::reorder(planned.graph);
        let mut findings = planned.findings;
        let options = PlanOptions { unrolls: true, ..PlanOptions::default() };
        let plan = airlink_plan::plan(&reordered, &planned.kernels, &Default::default(), &options, &mut findings).unwrap();
        prop_assert_eq!(plan.elfs.len(), fewest_runs(&before, &fuses) + alone);
        // What depends on another step still comes after it.
        let names: Vec<String> = reordered.steps.iter().map(|s| reordered.step_name(*s).value.clone()).collect();
        let at = |step: usize| {
            let kind = if matches!(ops[step], Op::Host { .. }) { 'h' } else { 'l' };
            names.iter().position(|n| *n == format!("{kind}{step}")).unwrap()
        };
        for (step, before) in before.iter().enumerate() {
            for b in before {
                prop_assert!(at(*b) < at(step));
            }
        }
    }
}
