//! Launches against others that compute the same with another order of additions, or with partial sums in bf16: each element
//! within a bound of its own, and few that differ at all.
//!
//! Bounds alone do not see a wrong rounding mode, the share of differing elements does; a cosine sees neither and is
//! only reported. The numbers are measured: legal orders of f32 additions stay below 0.9 of the bound and change 0.03 % of
//! bf16 results, truncation in place of rounding changes 52 %.

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_rt::compare::{Similarity, bf16_product_bound, similarity, within};
use airlink_rt::{Caller, Element, Entry, HostElf, Manifest, Poison, Role, StreamOptions};

use super::memory::{Memory, Values};
use super::programs::{Part, load_programs, written_args};
use super::{ElfUnderTest, Step, Variant, finding};

/// A launch and the one that it is compared with, each in an ELF of its own.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The launch's name in both graphs.
    pub name: String,
    pub found: Vec<u8>,
    pub reference: Vec<u8>,
    /// How its herd shares the rows of a result; none where that is not known, and a result is judged as a whole.
    pub tiles: Option<TileRows>,
}

/// Which elements of a result are one tile's: runs of `elements`, in turn for each of `tiles`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileRows {
    pub elements: u64,
    pub tiles: u64,
}

/// What is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gate {
    /// Partial sums that are rounded to bf16 on the way; none where all are f32.
    pub bf16_partials: Option<u64>,
}

/// One launch.
#[derive(Clone, Debug, PartialEq)]
pub struct PairReport {
    pub name: String,
    pub outputs: Vec<OutputReport>,
}

/// One result of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct OutputReport {
    pub name: String,
    pub elements: u64,
    pub differing: u64,
    /// The largest distance over the bound of its element; 1 is allowed.
    pub worst_ratio: f64,
    /// Over the whole result, and of the tile where it is smallest; none where a side is all zero or not finite.
    pub cosine: Option<f64>,
    pub worst_tile: Option<(u64, f64)>,
}

/// Of bf16 results, how many may differ in any bit. Legal orders of f32 additions change 0.03 %.
const DIFFERING_PER_MILLE_MAX: u64 = 5;
/// In few rows a share says little: so many may differ whatever their number.
const DIFFERING_MIN: u64 = 2;

/// Runs each pair on the same seeded inputs and compares what the reference writes.
///
/// # Errors
/// AL0741 for a result beyond its gate, AL0742 for launches that cannot be compared; those of loading and calling.
pub fn against(
    pairs: &[Pair],
    gate: Gate,
    seed: u64,
    streams: StreamOptions,
    findings: &mut Findings,
) -> Result<Vec<PairReport>, Reported> {
    let mut caller =
        Caller::new().map_err(|e| findings.fail(Finding::error(codes::AL0801, format!("no stack to run on: {e}"))))?;
    caller.set_stream_options(streams);
    let mut failed = None;
    let mut reports = Vec::new();
    for pair in pairs {
        match one(pair, gate, seed, &mut caller, findings) {
            Ok(report) => reports.push(report),
            Err(reported) => failed = Some(reported),
        }
    }
    failed.map_or(Ok(reports), Err)
}

fn one(
    pair: &Pair,
    gate: Gate,
    seed: u64,
    caller: &mut Caller,
    findings: &mut Findings,
) -> Result<PairReport, Reported> {
    let step = Step::Elf(ElfUnderTest {
        fused: vec![(Variant::Plain, pair.found.clone())],
        unfused: vec![pair.reference.clone()],
        launch_counts: vec![0],
    });
    let parts = load_programs(&[step], findings)?;
    let Some(Part::Elf(program)) = parts.first() else {
        return Ok(PairReport { name: pair.name.clone(), outputs: Vec::new() });
    };
    let (found, reference) = (program.plain(), &program.unfused[0]);
    let outputs = comparable(pair, found.manifest(), reference.manifest(), findings)?;
    let mut run = |values: Values, elf: &HostElf, findings: &mut Findings| -> Result<Vec<Vec<u8>>, Reported> {
        let mut memory = Memory::with(&parts, seed, values, findings)?;
        memory.reset(Poison::Nan);
        let args = memory.arguments(elf.manifest());
        caller.call(elf, Entry::Program, memory.buffers(), &args).map_err(|e| {
            let finding = crate::run::call_error(elf.manifest(), &e, &findings.sources);
            findings.fail(finding)
        })?;
        Ok(outputs.iter().map(|(name, ..)| memory.bytes(name).to_vec()).collect())
    };
    let expected = run(Values::Seeded, reference, findings)?;
    let magnitudes = run(Values::Magnitudes, reference, findings)?;
    let results = run(Values::Seeded, found, findings)?;
    let mut report = PairReport { name: pair.name.clone(), outputs: Vec::new() };
    let mut failed = None;
    for (position, (name, element, shape)) in outputs.iter().enumerate() {
        let result = Output {
            name,
            element: *element,
            shape,
            expected: &expected[position],
            magnitudes: &magnitudes[position],
            found: &results[position],
        };
        match result.judge(pair, gate) {
            Ok(output) => report.outputs.push(output),
            Err(finding) => failed = Some(findings.fail(*finding)),
        }
    }
    failed.map_or(Ok(report), Err)
}

type Written = (String, Element, Vec<u64>);

/// What the reference writes, if the launch writes it too and both take the same floats.
fn comparable(
    pair: &Pair,
    found: &Manifest,
    reference: &Manifest,
    findings: &mut Findings,
) -> Result<Vec<Written>, Reported> {
    let mut fail = |text: String| {
        let headline = format!("launch `{}` cannot be compared: {text}", pair.name);
        let remedy = "give both launches the same buffers under the same names, all of floats";
        findings.fail(Finding::error(codes::AL0742, headline).remedy(remedy))
    };
    let written = written_args(reference);
    let own = written_args(found);
    let used = |manifest: &Manifest| -> Vec<String> {
        manifest.args.iter().filter(|a| a.role != Role::Dead).map(|a| a.name.clone()).collect()
    };
    let (in_found, in_reference) = (used(found), used(reference));
    if let Some(name) = in_found.iter().find(|n| !in_reference.contains(n)) {
        return Err(fail(format!("it takes `{name}`, the reference does not")));
    }
    if let Some(name) = in_reference.iter().find(|n| !in_found.contains(n)) {
        return Err(fail(format!("it does not take `{name}`, the reference does")));
    }
    for arg in reference.args.iter().filter(|a| a.role != Role::Dead) {
        let Some(other) = found.args.iter().find(|a| a.name == arg.name) else { continue };
        if (other.element, &other.shape) != (arg.element, &arg.shape) {
            return Err(fail(format!("`{}` has another type in the reference", arg.name)));
        }
        if other.role.is_given() != arg.role.is_given() {
            return Err(fail(format!("one of the two reads `{}` before it is written, the other does not", arg.name)));
        }
        if precision(arg.element).is_none() {
            return Err(fail(format!("no bound is known for `{}`, which is of {}", arg.name, arg.element)));
        }
    }
    if let Some(name) = written.iter().find(|n| !own.contains(n)) {
        return Err(fail(format!("it does not write `{name}`, the reference does")));
    }
    if let Some(name) = own.iter().find(|n| !written.contains(n)) {
        return Err(fail(format!("it writes `{name}`, the reference does not")));
    }
    let of = |name: &&str| {
        let arg = reference.args.iter().find(|a| a.name == **name)?;
        Some((arg.name.clone(), arg.element, arg.shape.clone()))
    };
    Ok(written.iter().filter_map(of).collect())
}

/// One unit in the last place over the value, at most; none for what is no float.
fn precision(element: Element) -> Option<f64> {
    match element {
        Element::Bf16 => Some(f64::powi(2.0, -7)),
        Element::F16 => Some(f64::powi(2.0, -10)),
        Element::F32 => Some(f64::powi(2.0, -23)),
        Element::F64 => Some(f64::powi(2.0, -52)),
        _ => None,
    }
}

/// A result of both sides, and what the reference makes of the inputs' magnitudes.
struct Output<'a> {
    name: &'a str,
    element: Element,
    shape: &'a [u64],
    expected: &'a [u8],
    magnitudes: &'a [u8],
    found: &'a [u8],
}

impl Output<'_> {
    fn judge(&self, pair: &Pair, gate: Gate) -> Result<OutputReport, Box<Finding>> {
        let bounds = self.bounds(gate);
        let whole = within(self.element, self.shape, self.expected, self.found, &bounds).map_err(|error| {
            let headline = format!("`{}` of launch `{}` cannot be compared", self.name, pair.name);
            Box::new(Finding::error(codes::AL0901, headline).found(error.to_string()))
        })?;
        let written = self.written();
        let tiles = Tiles::new(pair.tiles, &written);
        let headline =
            |what: &str| format!("launch `{}` writes {what} to `{}` than its reference", pair.name, self.name);
        if let Some(first) = &whole.first {
            let text = format!(
                "{}{} of {} elements are beyond their bounds, by {} times at most",
                tiles.text(&whole.beyond),
                whole.beyond_count(),
                written.len(),
                finding::ratio(whole.worst_ratio)
            );
            let bound = bounds.get(first.index as usize).copied().unwrap_or(0.0);
            return Err(Box::new(finding::beyond(headline("other values"), first, bound, &text)));
        }
        // The share is measured on results that are rounded to 16 bits; in f32 most of the last bits differ.
        if gate.bf16_partials.is_none() && self.element.bits() == 16 {
            few_differ(&whole.differing, &tiles, &headline("other bits"))?;
        }
        let rows = |bytes: &[u8]| picked(self.element, bytes, written.iter().copied());
        let Similarity { cosine, .. } = similarity(self.element, &rows(self.expected), &rows(self.found));
        Ok(OutputReport {
            name: self.name.to_string(),
            elements: written.len() as u64,
            differing: whole.differing_count(),
            worst_ratio: whole.worst_ratio,
            cosine,
            worst_tile: tiles.worst(self.element, self.expected, self.found),
        })
    }

    fn bounds(&self, gate: Gate) -> Vec<f64> {
        let precision = precision(self.element).unwrap_or(0.0);
        let values: Vec<f64> = self.element.values(self.expected).collect();
        // The largest result stands for the largest partial sum, which nobody kept.
        let largest = values.iter().filter(|v| v.is_finite()).fold(0.0f64, |most, v| most.max(v.abs()));
        let partials = gate.bf16_partials.map_or(0.0, |n| n as f64 * f64::powi(2.0, -8) * largest);
        let bound = |(value, sum): (&f64, f64)| {
            // What is not finite is to be equal; products whose magnitudes overflow give no bound for their sum.
            if !value.is_finite() {
                return 0.0;
            }
            let sum = if sum.is_finite() { sum.abs() } else { 0.0 };
            // One unit of the result's own type in place of bf16's.
            bf16_product_bound(0.0, sum) + value.abs() * precision + partials
        };
        values.iter().zip(self.element.values(self.magnitudes)).map(bound).collect()
    }

    /// Positions in row-major order of what the reference writes: not what still holds the poison of its run.
    fn written(&self) -> Vec<u64> {
        let elements = self.expected.chunks_exact(self.element.size_bytes());
        let is_written = |e: &[u8]| e.iter().any(|b| *b != Poison::Nan.byte());
        (0u64..).zip(elements).filter(|(_, e)| is_written(e)).map(|(i, _)| i).collect()
    }
}

/// Whether few enough elements differ, over all and in the rows of each tile.
fn few_differ(differing: &[u64], tiles: &Tiles, headline: &str) -> Result<(), Box<Finding>> {
    let allowed = |count: u64| (count * DIFFERING_PER_MILLE_MAX / 1000).max(DIFFERING_MIN);
    let of_tile = |tile: u64| differing.iter().filter(|i| tiles.of(**i) == tile).count() as u64;
    let whole = (String::new(), tiles.written, differing.len() as u64);
    let each = (0..tiles.count()).map(|tile| (format!("herd tile {tile}: "), tiles.elements(), of_tile(tile)));
    match std::iter::once(whole).chain(each).find(|(_, count, differing)| *differing > allowed(*count)) {
        None => Ok(()),
        Some((place, count, differing)) => Err(Box::new(
            Finding::error(codes::AL0741, headline)
                .found(format!("{place}{differing} of {count} elements differ"))
                .allowed(format!("{} of them: another order of f32 additions changes 0.03 %", allowed(count)))
                .remedy("`airlink explain AL0741` says what else changes bits"),
        )),
    }
}

/// The bytes of some elements.
fn picked(element: Element, bytes: &[u8], indices: impl Iterator<Item = u64>) -> Vec<u8> {
    let size = element.size_bytes();
    let at = |i: u64| bytes.get(i as usize * size..(i as usize + 1) * size).unwrap_or_default();
    indices.flat_map(|i| at(i).iter().copied()).collect()
}

/// The rows of each tile in a result: runs of elements, from the first one that is written.
struct Tiles {
    rows: Option<TileRows>,
    first: u64,
    written: u64,
}

impl Tiles {
    /// Elements that are written with gaps between them are not told apart by tile.
    fn new(rows: Option<TileRows>, written: &[u64]) -> Tiles {
        let (first, count) = (written.first().copied().unwrap_or(0), written.len() as u64);
        let is_one_run = written.last().is_some_and(|last| last - first + 1 == count);
        let fits = |r: &TileRows| {
            let panel = r.elements.checked_mul(r.tiles).unwrap_or(0);
            is_one_run && r.tiles > 1 && panel > 0 && count.is_multiple_of(panel)
        };
        Tiles { rows: rows.filter(fits), first, written: count }
    }

    fn count(&self) -> u64 {
        self.rows.map_or(0, |r| r.tiles)
    }

    fn of(&self, index: u64) -> u64 {
        self.rows.map_or(0, |r| index.saturating_sub(self.first) / r.elements % r.tiles)
    }

    /// How many elements each tile writes.
    fn elements(&self) -> u64 {
        self.written / self.count().max(1)
    }

    /// `herd tiles 3 and 5: `, where it is not all of them.
    fn text(&self, indices: &[u64]) -> String {
        let mut tiles: Vec<u64> = indices.iter().map(|i| self.of(*i)).collect();
        tiles.sort_unstable();
        tiles.dedup();
        if self.rows.is_none() || tiles.len() as u64 == self.count() {
            return String::new();
        }
        let names: Vec<String> = tiles.iter().map(u64::to_string).collect();
        match &names[..] {
            [one] => format!("herd tile {one}: "),
            many => format!("herd tiles {}: ", many.join(", ")),
        }
    }

    /// The tile whose rows have the smallest cosine.
    fn worst(&self, element: Element, expected: &[u8], found: &[u8]) -> Option<(u64, f64)> {
        let own = |tile: u64| (self.first..self.first + self.written).filter(move |i| self.of(*i) == tile);
        let cosines = (0..self.count()).filter_map(|tile| {
            let [a, b] = [expected, found].map(|bytes| picked(element, bytes, own(tile)));
            similarity(element, &a, &b).cosine.map(|c| (tile, c))
        });
        cosines.min_by(|a, b| a.1.total_cmp(&b.1))
    }
}
