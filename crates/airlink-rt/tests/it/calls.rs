//! Calls: results, faults by name, floating-point mode, codes.

use airlink_rt::*;

use crate::program::{Program, RESULT, WEIGHTS, build, manifest};

#[test]
fn a_well_behaved_call_gives_results_and_a_duration() {
    let mut p = Program::new(Placement::End);
    let call = p.call(Entry::Program, 0, 0).unwrap();
    assert!(call.fp_mode_kept);
    assert!(call.duration.as_nanos() > 0);
    let result = p.result();
    assert_eq!(result[1..17], (1..17).map(|i| (i % 16) as f32 * 2.0).collect::<Vec<_>>());
    assert_eq!(result[0], f32::MIN_POSITIVE * 0.5);
}

#[test]
fn a_write_past_the_end_names_the_buffer_and_the_distance() {
    let mut p = Program::new(Placement::End);
    assert_eq!(p.fault(1, 0), "launch 0 `odd` wrote right past the end of `result`");
    assert_eq!(p.fault(1, 1), "launch 0 `odd` wrote 1 byte past the end of `result`");
    assert_eq!(p.fault(1, 500_000), "launch 0 `odd` wrote 500000 bytes past the end of `result`");
}

#[test]
fn a_read_before_the_start_is_caught_at_either_placement_where_no_margin_lies() {
    for placement in [Placement::End, Placement::Start] {
        assert_eq!(Program::new(placement).fault(2, 4), "launch 0 `odd` read 4 bytes before the start of `result`");
    }
}

#[test]
fn a_write_to_a_static_buffer_and_a_read_of_a_dead_one_are_caught() {
    let mut p = Program::new(Placement::End);
    assert_eq!(p.fault(3, 2), "launch 0 `odd` wrote to the static buffer `weights`, at byte 8");
    assert_eq!(p.fault(10, 1), "launch 0 `odd` read at byte 4 of `old`, whose role is dead");
}

#[test]
fn null_and_wild_pointers_are_caught() {
    let mut p = Program::new(Placement::End);
    assert_eq!(p.fault(4, 16), "launch 0 `odd` wrote at address 0x10: a null pointer");
    assert_eq!(p.fault(14, 0), "launch 0 `odd` used an address that no memory can have");
    let jump = p.fault(13, 0);
    assert!(jump.starts_with("launch 0 `odd` jumped to address 0x"), "{jump}");
}

#[test]
fn endless_recursion_is_a_stack_overflow_also_with_frames_larger_than_a_page() {
    let mut p = Program::new(Placement::End);
    for (request, function) in [(5, "recurse"), (6, "jump_the_guard")] {
        let wanted = format!("launch 0 `odd`, in `{function}`, used more than its 1048576 bytes of stack");
        assert_eq!(p.fault(request, 0), wanted);
    }
    // The stack is whole again.
    p.call(Entry::Program, 0, 0).unwrap();
}

#[test]
fn division_by_zero_and_illegal_instructions_are_caught() {
    let mut p = Program::new(Placement::End);
    assert_eq!(p.fault(11, 0), "launch 0 `odd` divided an integer by zero");
    let trap = "launch 0 `odd` gave up: it reached a trap, as `__builtin_trap` and failed checks are";
    assert_eq!(p.fault(12, 0), trap);
    assert_eq!(p.fault(18, 0), "launch 0 `odd` ran an instruction that this CPU does not have");
    // A float division by zero is no fault.
    p.call(Entry::Launch(0), 15, 0).unwrap();
    assert_eq!(p.result()[0], f32::INFINITY);
}

#[test]
fn writes_into_margins_are_found_after_the_call() {
    let mut p = Program::new(Placement::End);
    assert_eq!(p.fault(8, 3), "launch 0 `odd` wrote 3 bytes past the end of `short` (1 byte differs after the call)");
    assert_eq!(
        p.fault(9, 8),
        "launch 0 `odd` wrote 8 bytes before the start of `short` (1 byte differs after the call)"
    );
    // Found once only, and the guard begins where the margin ends.
    p.call(Entry::Program, 0, 0).unwrap();
    assert_eq!(p.fault(8, 56), "launch 0 `odd` wrote 56 bytes past the end of `short`");
}

#[test]
fn a_fault_of_the_whole_program_names_the_launch_where_the_instruction_tells() {
    let mut p = Program::new(Placement::End);
    match p.call(Entry::Program, 1, 0) {
        Err(CallError::Fault { launch, fault: Fault::Memory { access: Access::Write, place, .. }, .. }) => {
            assert_eq!(place, Place::After { buffer: "result".into(), offset_bytes: 0 });
            assert_eq!(launch, Some(LaunchName { index: 0, name: "odd".into() }));
        }
        other => panic!("{other:?}"),
    }
    // In a function that is not exported, nobody knows the launch.
    let error = p.call(Entry::Program, 5, 0).unwrap_err();
    assert_eq!(error.to_string(), "the program, in `recurse`, used more than its 1048576 bytes of stack");
}

#[test]
fn code_that_spoils_its_stack_ends_as_a_fault() {
    let mut p = Program::new(Placement::End);
    // A stack pointer that points nowhere: SIGBUS on x86-64.
    assert_eq!(p.fault(16, 0), "launch 0 `odd` used an address that no memory can have");
    // Return addresses that are none, up to and beyond the end of the stack.
    for amount in [64, 4096, 60_000] {
        let fault = p.fault(17, amount);
        assert!(fault.contains("used an address that no memory can have"), "{amount}: {fault}");
    }
    let fault = p.fault(17, 4 << 20);
    assert!(fault.starts_with("launch 0 `odd`, in `smash`, wrote at address 0x"), "{fault}");
    p.call(Entry::Program, 0, 0).unwrap();
}

#[test]
fn flush_to_zero_does_not_leave_the_call_that_sets_it() {
    let mut p = Program::new(Placement::End);
    let call = p.call(Entry::Launch(0), 7, 0).unwrap();
    assert!(!call.fp_mode_kept);
    let smallest = std::hint::black_box(f32::MIN_POSITIVE);
    assert!(smallest * std::hint::black_box(0.5) > 0.0);
    // And the next call starts with denormals.
    assert!(p.call(Entry::Launch(1), 0, 0).unwrap().fp_mode_kept);
    assert!(p.result()[0] > 0.0);
}

#[test]
fn codes_and_wrong_arguments_are_errors() {
    let mut p = Program::new(Placement::End);
    assert_eq!(p.call(Entry::Launch(0), -5, 0).unwrap_err().to_string(), "launch 0 `odd` returned error code -5");
    assert_eq!(p.call(Entry::Launch(2), 0, 0).unwrap_err().to_string(), "launch 2 of a program with 2 launches");
    let mut args = Argument::in_order(&p.buffers);
    args[WEIGHTS].offset_bytes = 4;
    let error = p.caller.call(&p.elf, Entry::Program, &mut p.buffers, &args).unwrap_err();
    assert_eq!(error.to_string(), "argument `weights` has 60 bytes, the program needs 64");
    args.pop();
    let error = p.caller.call(&p.elf, Entry::Program, &mut p.buffers, &args).unwrap_err();
    assert_eq!(error.to_string(), "4 arguments for a program that takes 5");
}

#[test]
fn an_argument_may_be_a_part_of_a_larger_buffer() {
    let mut p = Program::new(Placement::End);
    let packed = p.buffers.add("packed", 8192, Role::Inout).unwrap();
    let mut args = Argument::in_order(&p.buffers);
    args.truncate(5);
    args[RESULT] = Argument { buffer: packed, offset_bytes: 4096 };
    p.caller.call(&p.elf, Entry::Launch(1), &mut p.buffers, &args).unwrap();
    let bytes = p.buffers.get(packed).unwrap().bytes().unwrap();
    assert!(bytes[..4096].iter().all(|&b| b == 0));
    assert_eq!(bytes[4096 + 4..4096 + 8], 2.0f32.to_le_bytes());
}

#[test]
fn threads_fault_without_disturbing_each_other() {
    std::thread::scope(|s| {
        for t in 0..4 {
            s.spawn(move || {
                let mut p = Program::new(Placement::End);
                for i in 0..200 {
                    let distance = t * 1000 + i + 2;
                    let text = p.fault(1, distance);
                    assert_eq!(text, format!("launch 0 `odd` wrote {distance} bytes past the end of `result`"));
                    p.call(Entry::Program, 0, 0).unwrap();
                }
            });
        }
    });
}

#[test]
fn an_elf_that_asks_for_the_run_time_gets_it_or_refuses() {
    let folder = tempfile::tempdir().unwrap();
    let json = manifest().to_json();
    HostElf::load(&build(folder.path(), json.as_bytes(), &["-DWITH_BIND=16"])).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let error = HostElf::load(&build(folder.path(), json.as_bytes(), &["-DWITH_BIND=100000"])).unwrap_err();
    assert_eq!(error.to_string(), "the ELF refused the run time: code 7");
}
