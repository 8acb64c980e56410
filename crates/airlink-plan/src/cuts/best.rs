//! The cheapest way to cut a row of items into neighbours that belong together.

/// What a part costs, most important number first. Costs add up number by number, and the smaller list wins.
pub(crate) type Cost = [u64; 4];

/// The ends of the parts of the cheapest partition of `0..count`; of equal ones, that whose first part is longest.
///
/// `row(start, take)` calls `take(end, cost)` for every part from `start` that is allowed, in ascending order of `end`.
/// Every item alone must be allowed. Dynamic programming from the end: a lexicographic order of sums is kept when the
/// same list is added on both sides, so the best partition of the rest is part of a best one of the whole.
pub(crate) fn best(count: usize, mut row: impl FnMut(usize, &mut dyn FnMut(usize, Cost))) -> Vec<usize> {
    let mut rest: Vec<(Cost, usize)> = vec![([0; 4], count); count + 1];
    for start in (0..count).rev() {
        let mut cheapest: Option<(Cost, usize)> = None;
        row(start, &mut |end, cost| {
            let total = add(cost, rest[end].0);
            if cheapest.is_none_or(|(least, _)| total <= least) {
                cheapest = Some((total, end));
            }
        });
        debug_assert!(cheapest.is_some(), "item {start} is not allowed alone");
        rest[start] = cheapest.unwrap_or(([u64::MAX; 4], start + 1));
    }
    let mut ends = Vec::new();
    let mut at = 0;
    while at < count {
        at = rest[at].1;
        ends.push(at);
    }
    ends
}

pub(crate) fn add(a: Cost, b: Cost) -> Cost {
    std::array::from_fn(|i| a[i].saturating_add(b[i]))
}
