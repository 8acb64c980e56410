//! A word about runs that take long: an endless loop in a kernel looks like airlink hanging.

use std::time::Duration;

/// A launch of a decode step takes milliseconds, also on a slow machine.
const LONG: Duration = Duration::from_secs(10);

/// Says once for each call that has run for long what it is, on standard error, for as long as the process lives.
pub fn start() {
    std::thread::spawn(|| {
        let mut said = None;
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let running = airlink_rt::running().filter(|(_, time)| *time >= LONG);
            match running {
                Some((what, time)) if said.as_ref() != Some(&what) => {
                    eprintln!("still running after {} s: {what}; Ctrl-C ends it", time.as_secs());
                    said = Some(what);
                }
                Some(_) => {}
                None => said = None,
            }
        }
    });
}
