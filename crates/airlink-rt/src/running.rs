//! What this process runs right now, for whoever waits for it.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

static NOW: Mutex<Option<(String, Instant)>> = Mutex::new(None);

/// A call that has not come back yet: what runs, and for how long.
pub fn running() -> Option<(String, Duration)> {
    NOW.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(what, since)| (what.clone(), since.elapsed()))
}

/// Notes a call until the returned value is dropped.
pub(crate) fn note(what: String) -> Note {
    *NOW.lock().unwrap_or_else(PoisonError::into_inner) = Some((what, Instant::now()));
    Note(())
}

pub(crate) struct Note(());

impl Drop for Note {
    fn drop(&mut self) {
        *NOW.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
