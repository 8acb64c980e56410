//! Where the time of a host ELF goes: each launch alone, several times, and the whole.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;

use airlink_diag::{Finding, Findings, Reported, codes};
use airlink_rt::{Argument, Caller, Entry, Manifest};
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::{RunInputs, call_error, filled, load};

/// Measured calls of each launch at least, and at most where they are short; one more in front warms caches and maps
/// pages.
const CALLS: RangeInclusive<usize> = 5..=40;
/// After so much time in calls, no more than the least.
const ENOUGH: Duration = Duration::from_millis(200);

/// The ledger of one ELF. Host times: they show what dispatch and copies cost, and forecast no NPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub name: String,
    pub launches: Vec<Entered>,
    /// One call of the whole program: the fastest of them.
    pub whole: Duration,
    /// All launches, one after the other: the fastest round of them. Not the sum of each launch's fastest call, which no
    /// round need reach.
    pub one_by_one: Duration,
}

/// One launch in the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct Entered {
    pub name: String,
    /// Launches of one kernel file are one bucket.
    pub bucket: String,
    pub calls: usize,
    pub fastest: Duration,
    pub median: Duration,
    /// Of the arguments that it reads and of those that it writes, whole.
    pub bytes: u64,
}

/// Runs each launch in program order, then the whole program, and again: as often as [`CALLS`] says.
///
/// # Errors
/// Those of [`super::run`]. AL0710 for a program whose launches cannot be run apart.
pub fn profile(path: &Path, given: &RunInputs, findings: &mut Findings) -> Result<Profile, Reported> {
    let elf = load(path, findings)?;
    let manifest = elf.manifest().clone();
    if manifest.launches.is_empty() {
        let headline = format!("the launches of `{}` cannot be run apart, so that none can be timed", manifest.name);
        return Err(findings.fail(
            Finding::error(codes::AL0710, headline)
                .remedy("move what allocates or loops between its launches into them, and build it again"),
        ));
    }
    let mut buffers = filled(&manifest, given, findings)?;
    let mut caller =
        Caller::new().map_err(|e| findings.fail(Finding::error(codes::AL0801, format!("no stack to run on: {e}"))))?;
    caller.set_stream_options(given.streams);
    let args = Argument::in_order(&buffers);
    let entries: Vec<Entry> =
        (0..manifest.launches.len()).map(Entry::Launch).chain(std::iter::once(Entry::Program)).collect();
    let mut times = vec![Vec::new(); entries.len()];
    let (mut spent, mut one_by_one) = (Duration::ZERO, Duration::MAX);
    for round in 0..=*CALLS.end() {
        if round > *CALLS.start() && spent > ENOUGH {
            break;
        }
        let mut launches = Duration::ZERO;
        for (entry, times) in entries.iter().zip(&mut times) {
            let call = caller.call(&elf, *entry, &mut buffers, &args).map_err(|e| {
                let finding = call_error(&manifest, &e, &findings.sources);
                findings.fail(finding)
            })?;
            if round > 0 {
                times.push(call.duration);
                spent += call.duration;
            }
            if matches!(entry, Entry::Launch(_)) {
                launches += call.duration;
            }
        }
        if round > 0 {
            one_by_one = one_by_one.min(launches);
        }
    }
    times.iter_mut().for_each(|t| t.sort());
    let whole = times.pop().and_then(|t| t.first().copied()).unwrap_or_default();
    let launches = manifest.launches.iter().zip(&times).map(|(launch, times)| Entered {
        name: launch.name.clone(),
        bucket: launch.kernel.clone(),
        calls: times.len(),
        fastest: times.first().copied().unwrap_or_default(),
        median: times.get(times.len() / 2).copied().unwrap_or_default(),
        bytes: bytes(&manifest, &launch.reads) + bytes(&manifest, &launch.writes),
    });
    Ok(Profile { name: manifest.name.clone(), launches: launches.collect(), whole, one_by_one })
}

fn bytes(manifest: &Manifest, args: &[usize]) -> u64 {
    args.iter().filter_map(|i| manifest.args.get(*i)).map(|a| a.bytes).sum()
}

impl Profile {
    /// The fastest calls of all launches, added up.
    fn total(&self) -> Duration {
        self.launches.iter().map(|l| l.fastest).sum()
    }

    fn share(&self, part: Duration) -> f64 {
        let total = self.total().as_secs_f64();
        if total > 0.0 { part.as_secs_f64() / total } else { 0.0 }
    }

    /// Launches, time and bytes by bucket, the slowest first.
    fn buckets(&self) -> Vec<(&str, usize, Duration, u64)> {
        let mut buckets: IndexMap<&str, (usize, Duration, u64)> = IndexMap::new();
        for launch in &self.launches {
            let bucket = buckets.entry(&launch.bucket).or_default();
            *bucket = (bucket.0 + 1, bucket.1 + launch.fastest, bucket.2 + launch.bytes);
        }
        let mut list: Vec<_> = buckets.into_iter().map(|(name, (n, time, bytes))| (name, n, time, bytes)).collect();
        list.sort_by(|a, b| b.2.cmp(&a.2).then(a.0.cmp(b.0)));
        list
    }

    /// The ledger as a table.
    pub fn table(&self) -> String {
        let us = |d: Duration| d.as_secs_f64() * 1e6;
        let width = self.launches.iter().map(|l| l.name.len()).chain(self.buckets().iter().map(|b| b.0.len())).max();
        let width = width.unwrap_or(0).max(8);
        let mut text = format!(
            "{:<width$}  calls    fastest us     median us  share         bytes   GB/s\n",
            format!("`{}`", self.name)
        );
        for l in &self.launches {
            text += &format!(
                "{:<width$}  {:>5}  {:>12.1}  {:>12.1}  {:>4.1}%  {:>12}  {:>5.1}\n",
                l.name,
                l.calls,
                us(l.fastest),
                us(l.median),
                100.0 * self.share(l.fastest),
                l.bytes,
                rate(l.bytes, l.fastest)
            );
        }
        text += "by kernel\n";
        for (name, launches, time, bytes) in self.buckets() {
            text += &format!(
                "{name:<width$}  {launches:>5}  {:>12.1}  {:>12}  {:>4.1}%  {bytes:>12}  {:>5.1}\n",
                us(time),
                "",
                100.0 * self.share(time),
                rate(bytes, time)
            );
        }
        text + &format!(
            "the whole program in one call: {:.1} us, its launches one by one: {:.1} us\n",
            us(self.whole),
            us(self.one_by_one)
        )
    }

    /// The ledger as JSON; times in microseconds, shares of the sum of the launches.
    pub fn json(&self) -> Value {
        let us = |d: Duration| d.as_secs_f64() * 1e6;
        let launches: Vec<Value> = self
            .launches
            .iter()
            .map(|l| {
                json!({
                    "name": l.name, "bucket": l.bucket, "calls": l.calls, "time_us": us(l.fastest),
                    "median_us": us(l.median), "bytes": l.bytes, "share": self.share(l.fastest),
                })
            })
            .collect();
        let buckets: Vec<Value> = self
            .buckets()
            .into_iter()
            .map(|(name, launches, time, bytes)| {
                json!({"bucket": name, "launches": launches, "time_us": us(time), "bytes": bytes, "share": self.share(time)})
            })
            .collect();
        json!({
            "schema": 1, "elf": self.name, "launches": launches, "buckets": buckets,
            "sum_us": us(self.total()), "whole_us": us(self.whole), "one_by_one_us": us(self.one_by_one),
        })
    }
}

/// Gigabytes per second.
fn rate(bytes: u64, time: Duration) -> f64 {
    let seconds = time.as_secs_f64();
    if seconds > 0.0 { bytes as f64 / seconds / 1e9 } else { 0.0 }
}
