//! Lanes: the columns in which lines run down beside the launches.

use crate::report::flow::Edge;

/// Beyond so many lanes nobody follows a line; the names at both ends say it.
const LANES_MAX: u32 = 40;

pub(crate) struct Lanes {
    pub nets: Vec<Net>,
    pub count: u32,
}

/// One write, and the reads of what it left.
pub(crate) struct Net {
    /// Positions among the edges.
    pub edges: Vec<usize>,
    /// Height at which it starts.
    pub start: u32,
    /// Whether it goes to the next call.
    pub is_back: bool,
    /// None where it is not drawn.
    pub lane: Option<u32>,
    /// The heights that it covers.
    span: (u32, u32),
}

impl Lanes {
    /// Lanes for edges, which are sorted by their start: the shortest lines run innermost.
    pub fn of(edges: &[Edge], start: impl Fn((usize, usize)) -> u32, end: impl Fn((usize, usize)) -> u32) -> Lanes {
        let mut nets: Vec<Net> = Vec::new();
        for is_back in [false, true] {
            let mut last = None;
            for (index, edge) in edges.iter().enumerate().filter(|(_, e)| e.is_back() == is_back) {
                let (from, to) = (start(edge.from), end(edge.to));
                if last != Some(edge.from) {
                    nets.push(Net { edges: Vec::new(), start: from, is_back, lane: None, span: (from, from) });
                    last = Some(edge.from);
                }
                if let Some(net) = nets.last_mut() {
                    net.edges.push(index);
                    net.span = (net.span.0.min(to), net.span.1.max(to));
                }
            }
        }
        let mut order: Vec<usize> = (0..nets.len()).collect();
        order.sort_by_key(|n| (nets[*n].span.1 - nets[*n].span.0, nets[*n].span.0));
        let mut taken: Vec<Vec<(u32, u32)>> = Vec::new();
        for net in order {
            let (low, high) = nets[net].span;
            let is_free = |lane: &Vec<(u32, u32)>| lane.iter().all(|(l, h)| high < *l || *h < low);
            let lane = taken.iter().position(is_free).unwrap_or(taken.len());
            if lane as u32 >= LANES_MAX {
                continue;
            }
            if lane == taken.len() {
                taken.push(Vec::new());
            }
            taken[lane].push((low, high));
            nets[net].lane = Some(lane as u32);
        }
        Lanes { nets, count: taken.len() as u32 }
    }
}
