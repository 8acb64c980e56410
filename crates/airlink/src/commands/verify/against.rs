//! `--against`: the launches of one graph against those of another that add in another order.

use airlink_diag::{Finding, Reported, codes};
use airlink_graph::{LaunchGraph, LaunchIdx};
use airlink_host::verify::{Gate, Pair, PairReport, TileRows};
use airlink_ir::Ir;
use airlink_kernel::{EntrySummary, Memory, Place};
use camino::Utf8Path;
use indexmap::IndexMap;

use crate::cli::VerifyArgs;
use crate::invocation::Invocation;
use crate::load::Loaded;
use crate::pipe;

/// Compares and says what was found.
pub fn compare(
    ir: &Ir,
    invocation: &mut Invocation,
    args: &VerifyArgs,
    loaded: &Loaded<'_>,
    path: &Utf8Path,
    reference: &Loaded<'_>,
) -> Result<(), Reported> {
    // What is to be said of the graph itself was said when it was verified.
    pipe::make_plan(invocation, reference)?;
    let expected = alone(ir, invocation, reference)?;
    let found = alone(ir, invocation, loaded)?;
    let mut pairs = Vec::new();
    let mut missing = None;
    for (name, elf) in found {
        match expected.get(&name) {
            Some(reference) => {
                let tiles = tiles(loaded, &name);
                pairs.push(Pair { name, found: elf, reference: reference.clone(), tiles });
            }
            None => {
                let headline = format!("launch `{name}` cannot be compared: `{path}` has no launch of that name");
                let place = launch(&loaded.graph, &name).map(|l| loaded.graph.launch(l).name.span);
                missing = Some(
                    invocation.findings.fail(
                        Finding::error(codes::AL0742, headline)
                            .maybe_at(place, "")
                            .remedy("give the two launches that compute the same the same name"),
                    ),
                );
            }
        }
    }
    if let Some(reported) = missing {
        return Err(reported);
    }
    let gate = Gate { bf16_partials: args.bf16_partials };
    let (seed, streams) = (args.graph.seed, args.graph.streams.options());
    let reports =
        invocation.time("against", |s| airlink_host::verify::against(&pairs, gate, seed, streams, &mut s.findings))?;
    invocation.say(&text(&reports, path));
    Ok(())
}

/// Each launch in an ELF of its own, as it is written.
fn alone(ir: &Ir, invocation: &mut Invocation, loaded: &Loaded<'_>) -> Result<IndexMap<String, Vec<u8>>, Reported> {
    let alone = super::plan_alone(invocation, loaded, None)?;
    let host = pipe::host_options(invocation);
    let objects = pipe::host_objects(ir, invocation, loaded, &alone, &host)?;
    let elfs = super::build(ir, invocation, loaded, &alone, &objects, &host)?;
    Ok(alone.elfs.iter().map(|e| e.launches[0].name.clone()).zip(elfs).collect())
}

fn launch(graph: &LaunchGraph, name: &str) -> Option<LaunchIdx> {
    graph.launches.iter().position(|l| l.name.value == name).map(LaunchIdx)
}

/// How the one herd of a launch shares a result: the part of a panel that each tile gives, where the tile's id says
/// which and panels follow one another.
fn tiles(loaded: &Loaded<'_>, name: &str) -> Option<TileRows> {
    let launch = loaded.graph.launch(launch(&loaded.graph, name)?);
    let entries: &[EntrySummary] = &loaded.kernels.get(&launch.kernel.value)?.functions.get(launch.function)?.entries;
    let [entry] = entries else { return None };
    let [herd] = &entry.traffic.herds[..] else { return None };
    let ([Some(tiles), Some(1)], Some(&tile_loop)) = (herd.size, herd.tile_loops.first()) else { return None };
    let given = entry.traffic.transfers.iter().filter(|t| matches!(t.place, Place::Herd(_)));
    let mut parts = given.filter(|t| t.source.as_ref().is_some_and(|s| s.memory == Memory::L1)).map(|t| {
        let side = t.destination.as_ref()?;
        let part = u64::try_from(side.offset.as_ref()?.step(tile_loop)).ok()?;
        // Through L2 the buffer is the panel; straight to host memory, the next launch point begins behind it.
        let panel = match side.memory {
            Memory::L2 => side.buffer_elements?,
            _ => u64::try_from(side.offset.as_ref()?.step(0)).ok()?,
        };
        (part > 0 && part.checked_mul(tiles)? == panel).then_some(part)
    });
    let elements = parts.next()??;
    parts.all(|p| p == Some(elements)).then_some(TileRows { elements, tiles })
}

fn text(reports: &[PairReport], reference: &Utf8Path) -> String {
    let mut text = String::new();
    for report in reports {
        for output in &report.outputs {
            let cosine = |c: f64| format!("{c:.6}");
            let tile = output.worst_tile.map(|(t, c)| format!(", of herd tile {t} {}", cosine(c))).unwrap_or_default();
            text += &format!(
                "  {:<12} {} ({}): {} differ, at most {:.2} of their bounds; cosine {}{tile}\n",
                report.name,
                output.name,
                output.elements,
                output.differing,
                output.worst_ratio,
                output.cosine.map_or("unknown".to_string(), cosine),
            );
        }
    }
    format!("within bounds of {reference}:\n{text}")
}
