//! Faults that are not ours end the process as they would without us. Each runs in a process of its own: the ignored
//! tests below are what those processes do.

use airlink_rt::*;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use crate::program::Program;

const SIGILL: i32 = 4;
const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;

fn in_its_own_process(test: &str) -> Output {
    let exe = std::env::current_exe().unwrap();
    let name = format!("signals::{test}");
    // Without core files.
    let command = Command::new("sh")
        .args(["-c", "ulimit -c 0; exec \"$0\" \"$@\""])
        .arg(exe)
        .args(["--ignored", "--nocapture", "--exact", &name])
        .output();
    command.unwrap()
}

fn faulted_once() -> Program {
    let mut p = Program::new(Placement::End);
    assert!(p.fault(1, 0).contains("right past the end of `result`"));
    p
}

#[test]
fn a_fault_outside_elf_code_kills_the_process() {
    assert_eq!(in_its_own_process("child_faults_in_rust").status.signal(), Some(SIGSEGV));
}

#[test]
fn a_signal_that_somebody_sends_kills_the_process() {
    // Not SIGSEGV, for which Rust has a handler that lets one sent signal pass.
    assert_eq!(in_its_own_process("child_gets_a_signal").status.signal(), Some(SIGILL));
}

#[test]
fn an_overflow_of_a_rust_stack_is_still_reported_by_rust() {
    let output = in_its_own_process("child_overflows_its_stack");
    assert_eq!(output.status.signal(), Some(SIGABRT));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("has overflowed its stack"), "{text}");
}

#[test]
#[ignore = "ends the process: a_fault_outside_elf_code_kills_the_process runs it"]
fn child_faults_in_rust() {
    let _p = faulted_once();
    let address = std::hint::black_box(16usize);
    // SAFETY: none: this is the fault.
    unsafe { std::ptr::write_volatile(std::ptr::without_provenance_mut::<u8>(address), 1) };
}

#[test]
#[ignore = "ends the process: a_signal_that_somebody_sends_kills_the_process runs it"]
fn child_gets_a_signal() {
    let _p = faulted_once();
    let status = Command::new("kill").args(["-ILL", &std::process::id().to_string()]).status().unwrap();
    assert!(status.success());
    std::thread::sleep(std::time::Duration::from_secs(5));
}

#[test]
#[ignore = "ends the process: an_overflow_of_a_rust_stack_is_still_reported_by_rust runs it"]
fn child_overflows_its_stack() {
    #[expect(unconditional_recursion)]
    fn deeper(n: u64) -> u64 {
        let frame = std::hint::black_box([n; 64]);
        deeper(frame[0] + 1) + frame[1]
    }
    let _p = faulted_once();
    std::hint::black_box(deeper(0));
}
