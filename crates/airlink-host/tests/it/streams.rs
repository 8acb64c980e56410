//! Launches with channels: what arrives where, in every order of tiles and with streams of every size, and what is said
//! of those that cannot go on.

use airlink_host::HostOptions;
use airlink_rt::{CallError, Role, Schedule, StreamFault, StreamOptions};

use crate::support::{Arg, Running, build, complaints};

const ARGS: [Arg; 2] = [("a", "memref<64xi16>", Role::Input), ("b", "memref<64xi16>", Role::Output)];

/// A launch with a segment of `segment` between `before` and `after`, over channels `channels`. `%a` and `%b` are the
/// arguments at every level, `%c0` to `%c8` constants in the launch and in the segment.
fn launch(channels: &str, before: &str, segment: &str, after: &str) -> String {
    let constants: String =
        [0, 1, 2, 3, 4, 8].iter().map(|n| format!("%c{n} = arith.constant {n} : index\n")).collect();
    // Names are one scope over all levels.
    let segment = format!("{constants}{segment}").replace("%c", "%s");
    format!(
        "{channels}
        func.func @f(%x: memref<64xi16>, %y: memref<64xi16>) {{
          air.launch () in () args(%a=%x, %b=%y) : memref<64xi16>, memref<64xi16> {{
            {constants}{before}
            air.segment @seg args(%sa=%a, %sb=%b) : memref<64xi16>, memref<64xi16> {{
              {segment}
            }}
            {after}
          }}
          return
        }}"
    )
}

/// A herd of `x` by `y` tiles whose body sees the ids as `%tx` and `%ty` and an L1 buffer `%l1` of 8 elements.
fn herd(name: &str, x: u32, y: u32, body: &str) -> String {
    format!(
        "air.herd @{name} tile (%tx, %ty) in (%nx=%c{x}, %ny=%c{y}) {{
          %l1 = memref.alloc() : memref<8xi16, 2>
          {body}
          memref.dealloc %l1 : memref<8xi16, 2>
        }}"
    )
}

const GET: &str = "(%l1[] [] []) : (memref<8xi16, 2>)";

/// Every way to run that must not change a result.
fn every_way() -> Vec<StreamOptions> {
    let schedules = [Schedule::Oldest, Schedule::Newest, Schedule::Seeded(1), Schedule::Seeded(7)];
    let bounds = [None, Some(1 << 20)];
    let all = schedules.into_iter().flat_map(|s| bounds.into_iter().map(move |b| (s, b)));
    all.map(|(schedule, fifo_bytes)| StreamOptions { schedule, fifo_bytes, ..StreamOptions::default() }).collect()
}

/// Runs in every way; what `b` holds, which is 0xffff where nobody wrote.
#[track_caller]
fn results(text: &str, more: &[StreamOptions]) -> Vec<u16> {
    let mut first: Option<Vec<u16>> = None;
    for poison in [None, Some(0xff)] {
        let options = HostOptions { poison, ..HostOptions::default() };
        let mut running = Running::new(&build(text, &ARGS, 1, &[], &options));
        for way in every_way().into_iter().chain(more.iter().copied()) {
            running.set("a", &(0..64).collect::<Vec<u16>>());
            running.set("b", &[0xffff; 64]);
            running.call_with(way).unwrap_or_else(|e| panic!("{way:?}: {e}"));
            let found = running.get("b");
            assert_eq!(&found, first.get_or_insert_with(|| found.clone()), "{way:?}");
        }
    }
    first.unwrap()
}

fn bounded(bytes: u64) -> StreamOptions {
    StreamOptions { fifo_bytes: Some(bytes), ..StreamOptions::default() }
}

/// The fault of a program that cannot end.
#[track_caller]
fn fault(text: &str, options: StreamOptions) -> StreamFault {
    let mut running = Running::new(&build(text, &ARGS, 1, &[], &HostOptions::default()));
    running.set("a", &(0..64).collect::<Vec<u16>>());
    match running.call_with(options) {
        Err(CallError::Stream { launch, fault }) => {
            assert_eq!(launch.map(|l| l.name).as_deref(), Some("l0"));
            fault
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_put_feeds_many_gets_and_many_puts_one_get() {
    let text = launch(
        "air.channel @in [2]
         air.channel @out [2]",
        "air.channel.put @in[%c0] (%a[0] [32] [1]) : (memref<64xi16>)
         air.channel.put @in[%c1] (%a[32] [32] [1]) : (memref<64xi16>)",
        &herd(
            "h",
            2,
            1,
            &format!(
                "%z = arith.constant 0 : index
                 %o = arith.constant 1 : index
                 %n = arith.constant 4 : index
                 scf.for %i = %z to %n step %o {{
                   air.channel.get @in[%tx] {GET}
                   air.channel.put @out[%tx] {GET}
                 }}"
            ),
        ),
        "air.channel.get @out[%c0] (%b[0] [32] [1]) : (memref<64xi16>)
         air.channel.get @out[%c1] (%b[32] [32] [1]) : (memref<64xi16>)",
    );
    // One element at a time is enough: nobody needs to be ahead.
    assert_eq!(results(&text, &[bounded(2), bounded(6)]), (0..64).collect::<Vec<u16>>());
}

#[test]
fn every_destination_of_a_broadcast_gets_everything() {
    let text = launch(
        "air.channel @in [1, 1] {broadcast_shape = [4 : index, 2 : index]}
         air.channel @out [4, 2]",
        "air.channel.put @in[] (%a[8] [8] [1]) : (memref<64xi16>)",
        &herd("h", 4, 2, &format!("air.channel.get @in[%tx, %ty] {GET}\nair.channel.put @out[%tx, %ty] {GET}")),
        &(0..8)
            .map(|i| {
                format!(
                    "%x{i} = arith.constant {} : index
                     %y{i} = arith.constant {} : index
                     air.channel.get @out[%x{i}, %y{i}] (%b[{}] [8] [1]) : (memref<64xi16>)\n",
                    i / 2,
                    i % 2,
                    8 * i
                )
            })
            .collect::<String>(),
    );
    assert_eq!(results(&text, &[bounded(2)]), (8..16).cycle().take(64).collect::<Vec<u16>>());
}

/// From the highest row to row 0, as cascades flow: tiles in ascending order would each wait for the next.
#[test]
fn a_cascade_flows_down() {
    let text = launch(
        "air.channel @down [1, 3] {channel_type = \"npu_cascade\"}
         air.channel @in [4]
         air.channel @out [1]",
        &(0..4)
            .map(|i| {
                format!(
                    "%i{i} = arith.constant {i} : index
                     air.channel.put @in[%i{i}] (%a[{}] [8] [1]) : (memref<64xi16>)\n",
                    8 * i
                )
            })
            .collect::<String>(),
        &herd(
            "h",
            1,
            4,
            &format!(
                "%z = arith.constant 0 : index
                 %o = arith.constant 1 : index
                 %n = arith.constant 8 : index
                 %head = arith.constant 3 : index
                 %sum = memref.alloc() : memref<8xi16, 2>
                 air.channel.get @in[%ty] {GET}
                 %first = arith.cmpi eq, %ty, %head : index
                 scf.if %first {{ }} else {{
                   air.channel.get @down[%z, %ty] (%sum[] [] []) : (memref<8xi16, 2>)
                   scf.for %i = %z to %n step %o {{
                     %p = memref.load %l1[%i] : memref<8xi16, 2>
                     %q = memref.load %sum[%i] : memref<8xi16, 2>
                     %r = arith.addi %p, %q : i16
                     memref.store %r, %l1[%i] : memref<8xi16, 2>
                   }}
                 }}
                 %last = arith.cmpi eq, %ty, %z : index
                 scf.if %last {{
                   air.channel.put @out[%z] {GET}
                 }} else {{
                   %to = arith.subi %ty, %o : index
                   air.channel.put @down[%z, %to] {GET}
                 }}"
            ),
        ),
        "air.channel.get @out[%c0] (%b[0] [8] [1]) : (memref<64xi16>)",
    );
    let sums = (0..8).map(|i| 4 * i + 48).chain(std::iter::repeat_n(0xffff, 56));
    assert_eq!(results(&text, &[bounded(2)]), sums.collect::<Vec<u16>>());
}

/// All put first and then get: legal where each stream holds a buffer, and a deadlock where none does.
#[test]
fn a_ring_in_which_all_put_first() {
    let text = launch(
        "air.channel @ring [4]
         air.channel @out [4]",
        "",
        &herd(
            "h",
            4,
            1,
            &format!(
                "%o = arith.constant 1 : index
                 %n = arith.constant 4 : index
                 %z = arith.constant 0 : index
                 %m = arith.constant 8 : index
                 %next = arith.addi %tx, %o : index
                 %to = arith.remui %next, %n : index
                 %v = arith.index_cast %tx : index to i16
                 scf.for %i = %z to %m step %o {{ memref.store %v, %l1[%i] : memref<8xi16, 2> }}
                 air.channel.put @ring[%to] {GET}
                 air.channel.get @ring[%tx] {GET}
                 air.channel.put @out[%tx] {GET}"
            ),
        ),
        &(0..4)
            .map(|i| {
                format!(
                    "%i{i} = arith.constant {i} : index
                     air.channel.get @out[%i{i}] (%b[{}] [8] [1]) : (memref<64xi16>)\n",
                    8 * i
                )
            })
            .collect::<String>(),
    );
    let expected: Vec<u16> = (0..64).map(|i| if i < 32 { (i / 8 + 3) % 4 } else { 0xffff }).collect();
    assert_eq!(results(&text, &[bounded(16)]), expected);
    let StreamFault::Deadlock { waiting, reason, fifo_bytes, .. } = fault(&text, bounded(8)) else { panic!() };
    assert_eq!(fifo_bytes, Some(8));
    assert_eq!(waiting.iter().filter(|w| w.what.starts_with("in a put into `@ring[")).count(), 4, "{waiting:?}");
    assert!(reason.contains("nobody gets from `@ring["), "{reason}");
}

/// A copy beside the channels, in control code.
#[test]
fn padding_of_a_copy_in_a_segment() {
    let text = launch(
        "air.channel @in [1]
         air.channel @out [1]",
        "%p = memref.alloc() : memref<8xi16, 1>
         air.dma_memcpy_nd (%p[] [] [], %a[50] [3] [1]) {pad_before = array<i32: 2>, pad_after = array<i32: 3>} : (memref<8xi16, 1>, memref<64xi16>)
         air.channel.put @in[] (%p[] [] []) : (memref<8xi16, 1>)",
        &herd("h", 1, 1, &format!("air.channel.get @in[] {GET}\nair.channel.put @out[] {GET}")),
        "air.channel.get @out[] (%b[0] [8] [1]) : (memref<64xi16>)",
    );
    let mut expected = vec![0xffff; 64];
    expected[..8].copy_from_slice(&[0, 0, 50, 51, 52, 0, 0, 0]);
    assert_eq!(results(&text, &[bounded(16)]), expected);
}

#[test]
fn layouts_of_both_ends_and_padding() {
    let text = launch(
        "air.channel @in [1]
         air.channel @out [1]",
        // Columns of a 4 x 2 matrix, then 3 of 8 elements with one in front and four behind.
        "air.channel.put @in[] (%a[0, 0] [2, 4] [1, 2]) : (memref<64xi16>)
         air.channel.put @in[] (%a[50] [3] [1]) {pad_before = array<i32: 1>, pad_after = array<i32: 4>} : (memref<64xi16>)",
        &herd(
            "h",
            1,
            1,
            &format!(
                "air.channel.get @in[] {GET}
                 air.channel.put @out[] (%l1[0, 0] [4, 2] [1, 4]) : (memref<8xi16, 2>)
                 air.channel.get @in[] {GET}
                 air.channel.put @out[] {GET}"
            ),
        ),
        "air.channel.get @out[] (%b[16] [8] [1]) : (memref<64xi16>)
         air.channel.get @out[] (%b[0] [8] [2]) : (memref<64xi16>)",
    );
    let mut expected = vec![0xffff; 64];
    (0..8).for_each(|i| expected[16 + i] = i as u16);
    [0, 50, 51, 52, 0, 0, 0, 0].iter().enumerate().for_each(|(i, v)| expected[2 * i] = *v);
    assert_eq!(results(&text, &[bounded(2)]), expected);
}

/// The herd stands in front of the relay that feeds it, and the relay in front of the puts that feed that.
#[test]
fn control_code_issues_and_does_not_wait() {
    let text = launch(
        "air.channel @l3 [1]
         air.channel @in [1]
         air.channel @out [1]",
        "",
        &format!(
            "{}
             air.channel.get @out[] (%sb[] [] []) : (memref<64xi16>)
             scf.for %i = %c0 to %c8 step %c1 {{
               %l2 = memref.alloc() : memref<8xi16, 1>
               air.channel.get @l3[] (%l2[] [] []) : (memref<8xi16, 1>)
               air.channel.put @in[] (%l2[] [] []) : (memref<8xi16, 1>)
               memref.dealloc %l2 : memref<8xi16, 1>
             }}
             air.channel.put @l3[] (%sa[] [] []) : (memref<64xi16>)",
            herd(
                "h",
                1,
                1,
                &format!(
                    "%z = arith.constant 0 : index
                     %o = arith.constant 1 : index
                     %n = arith.constant 8 : index
                     scf.for %i = %z to %n step %o {{
                       air.channel.get @in[] {GET}
                       air.channel.put @out[] {GET}
                     }}"
                )
            )
        ),
        "",
    );
    assert_eq!(results(&text, &[bounded(2), bounded(16)]), (0..64).collect::<Vec<u16>>());
}

/// The put of the second half may not start before the copy into its source is done, whatever the tokens say; and the
/// token of the loop makes it wait for the last get.
#[test]
fn tokens_of_every_form() {
    let body = "
      %t0 = air.wait_all async
      %e0, %l2 = air.execute -> (memref<64xi16, 1>) {
        %m = memref.alloc() : memref<64xi16, 1>
        air.execute_terminator %m : memref<64xi16, 1>
      }
      %d = air.dma_memcpy_nd async [%e0] (%l2[] [] [], %sa[] [] []) : (memref<64xi16, 1>, memref<64xi16>)
      %loop = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %d) -> (!air.async.token) {
        %at = arith.muli %i, %c8 : index
        %p = air.channel.put async [%t] @in[%c0] (%l2[%at] [8] [1]) : (memref<64xi16, 1>)
        %w = air.wait_all async [%p, %t]
        scf.yield %w : !air.async.token
      }
      %par = scf.parallel (%i) = (%c4) to (%c8) step (%c1) init (%loop) -> !air.async.token {
        %at = arith.muli %i, %c8 : index
        %p = air.channel.put async [%loop] @in[%c0] (%l2[%at] [8] [1]) : (memref<64xi16, 1>)
        scf.reduce(%p : !air.async.token) {
        ^bb0(%l: !air.async.token, %r: !air.async.token):
          %j = air.wait_all async [%l, %r]
          scf.reduce.return %j : !air.async.token
        }
      }
      %h = air.herd @h async [%t0] tile (%tx, %ty) in (%nx=%c1, %ny=%c1) {
        %z = arith.constant 0 : index
        %o = arith.constant 1 : index
        %n = arith.constant 8 : index
        %lt, %l1 = air.execute -> (memref<8xi16, 2>) {
          %m = memref.alloc() : memref<8xi16, 2>
          air.execute_terminator %m : memref<8xi16, 2>
        }
        %last = scf.for %i = %z to %n step %o iter_args(%t = %lt) -> (!air.async.token) {
          %g = air.channel.get async [%t] @in[%z] (%l1[] [] []) : (memref<8xi16, 2>)
          %p = air.channel.put async [%g] @out[%z] (%l1[] [] []) : (memref<8xi16, 2>)
          scf.yield %p : !air.async.token
        }
      }
      %free = air.execute [%par] {
        memref.dealloc %l2 : memref<64xi16, 1>
      }
      air.wait_all [%free, %h]";
    let after = "%g = air.channel.get async @out[%c0] (%b[] [] []) : (memref<64xi16>)
                 air.wait_all [%g]";
    let text = launch("air.channel @in [1]\nair.channel @out [1]", "", body, after);
    assert_eq!(results(&text, &[bounded(2), bounded(16)]), (0..64).collect::<Vec<u16>>());
}

/// A wait in a segment is about that segment: the get behind it is what lets the herd end that is waited for.
#[test]
fn a_wait_holds_back_its_own_segment_only() {
    let segment = |wait: &str| {
        format!(
            "%l2 = memref.alloc() : memref<64xi16, 1>
             %h = air.herd @h async tile (%tx, %ty) in (%nx=%c1, %ny=%c1) {{
               %z = arith.constant 0 : index
               %o = arith.constant 1 : index
               %n = arith.constant 8 : index
               %l1 = memref.alloc() : memref<8xi16, 2>
               scf.for %i = %z to %n step %o {{
                 air.channel.get @in[] {GET}
                 air.channel.put @out[] {GET}
               }}
               memref.dealloc %l1 : memref<8xi16, 2>
             }}
             {wait}
             air.channel.put @more[] (%sa[0] [8] [1]) : (memref<64xi16>)
             memref.dealloc %l2 : memref<64xi16, 1>"
        )
    };
    let channels = "air.channel @in [1]\nair.channel @out [1]\nair.channel @more [1]";
    let before = "air.channel.put @in[] (%a[] [] []) : (memref<64xi16>)";
    let after = "air.channel.get @out[] (%b[] [] []) : (memref<64xi16>)
                 air.channel.get @more[] (%b[0] [8] [1]) : (memref<64xi16>)";
    let text = launch(channels, before, &segment("air.wait_all [%h]"), after);
    assert_eq!(results(&text, &[bounded(2), bounded(16)]), (0..64).collect::<Vec<u16>>());
    // What stands behind it in the segment waits: nothing gets from `@out` before `@more` has come.
    let turned = "air.channel.get @more[] (%b[0] [8] [1]) : (memref<64xi16>)
                  air.channel.get @out[] (%b[] [] []) : (memref<64xi16>)";
    let text = launch(channels, before, &segment("air.wait_all [%h]"), turned);
    assert!(matches!(fault(&text, bounded(2)), StreamFault::Deadlock { .. }));
    let text = launch(channels, before, &segment(""), turned);
    assert_eq!(results(&text, &[bounded(2)]), (0..64).collect::<Vec<u16>>());
}

/// One ELF may hold both kinds of launches, and each can be run alone.
#[test]
fn a_launch_without_channels_beside_one_with() {
    let text = "air.channel @c [1]
      func.func @f(%x: memref<64xi16>, %y: memref<64xi16>) {
        air.launch () in () args(%a=%x, %b=%y) : memref<64xi16>, memref<64xi16> {
          air.dma_memcpy_nd (%b[] [] [], %a[] [] []) : (memref<64xi16>, memref<64xi16>)
        }
        air.launch () in () args(%b=%y) : memref<64xi16> {
          air.channel.put @c[] (%b[0] [8] [1]) : (memref<64xi16>)
          air.channel.get @c[] (%b[8] [8] [1]) : (memref<64xi16>)
        }
        return
      }";
    let mut running = Running::new(&build(text, &ARGS, 2, &[], &HostOptions::default()));
    running.set("a", &(0..64).collect::<Vec<u16>>());
    running.run();
    let expected: Vec<u16> = (0..64).map(|i| if (8..16).contains(&i) { i - 8 } else { i }).collect();
    assert_eq!(running.get("b"), expected);
    running.call(airlink_rt::Entry::Launch(0)).unwrap();
    assert_eq!(running.get("b"), (0..64).collect::<Vec<u16>>());
}

/// A memtile repeats the pair in the segment: eight buffers come, one get and one put stand there.
#[test]
fn a_relay_repeats_only_if_asked() {
    let text = launch(
        "air.channel @l3 [1]
         air.channel @in [1]
         air.channel @out [1]",
        "air.channel.put @l3[] (%a[] [] []) : (memref<64xi16>)",
        &format!(
            "%l2 = memref.alloc() : memref<8xi16, 1>
             air.channel.get @l3[] (%l2[] [] []) : (memref<8xi16, 1>)
             air.channel.put @in[] (%l2[] [] []) : (memref<8xi16, 1>)
             {}
             memref.dealloc %l2 : memref<8xi16, 1>",
            herd(
                "h",
                1,
                1,
                &format!(
                    "%z = arith.constant 0 : index
                     %o = arith.constant 1 : index
                     %n = arith.constant 8 : index
                     scf.for %i = %z to %n step %o {{
                       air.channel.get @in[] {GET}
                       air.channel.put @out[] {GET}
                     }}"
                )
            )
        ),
        "air.channel.get @out[] (%b[] [] []) : (memref<64xi16>)",
    );
    let mut running = Running::new(&build(&text, &ARGS, 1, &[], &HostOptions::default()));
    running.set("a", &(0..64).collect::<Vec<u16>>());
    running.call_with(StreamOptions { self_loop_relays: true, ..StreamOptions::default() }).unwrap();
    assert_eq!(running.get("b"), (0..64).collect::<Vec<u16>>());
    let StreamFault::Deadlock { reason, .. } = fault(&text, StreamOptions::default()) else { panic!() };
    assert!(reason.contains("`--self-loop-relays`"), "{reason}");
}

/// Memtiles that pass on in loops, with a buffer for all turns or one for each, in the order of a two-level loop.
#[test]
fn a_relay_in_a_loop_repeats_only_if_asked() {
    let tile = herd(
        "h",
        1,
        1,
        &format!(
            "%z = arith.constant 0 : index
             %o = arith.constant 1 : index
             %n = arith.constant 8 : index
             scf.for %i = %z to %n step %o {{
               air.channel.get @in[] {GET}
               air.channel.put @out[] {GET}
             }}"
        ),
    );
    let pass = "air.channel.get @l3[] (%l2[] [] []) : (memref<8xi16, 1>)
                air.channel.put @in[] (%l2[] [] []) : (memref<8xi16, 1>)";
    let alloc = "%l2 = memref.alloc() : memref<8xi16, 1>";
    let free = "memref.dealloc %l2 : memref<8xi16, 1>";
    let segments = [
        format!("{alloc}\nscf.for %i = %c0 to %c3 step %c1 {{\n{pass}\n}}\n{tile}\n{free}"),
        format!(
            "{alloc}\nscf.for %i = %c0 to %c2 step %c1 {{\nscf.for %j = %c0 to %c3 step %c1 {{\n{pass}\n}}\n}}
             {tile}\n{free}"
        ),
        format!("scf.for %i = %c0 to %c3 step %c1 {{\n{alloc}\n{pass}\n{free}\n}}\n{tile}"),
    ];
    for segment in segments {
        let text = launch(
            "air.channel @l3 [1]\nair.channel @in [1]\nair.channel @out [1]",
            "air.channel.put @l3[] (%a[] [] []) : (memref<64xi16>)",
            &segment,
            "air.channel.get @out[] (%b[] [] []) : (memref<64xi16>)",
        );
        let mut running = Running::new(&build(&text, &ARGS, 1, &[], &HostOptions::default()));
        for fifo_bytes in [None, Some(16), Some(2)] {
            running.set("a", &(0..64).collect::<Vec<u16>>());
            running.set("b", &[0xffff; 64]);
            let options = StreamOptions { self_loop_relays: true, fifo_bytes, ..StreamOptions::default() };
            running.call_with(options).unwrap_or_else(|e| panic!("{e}\n{text}"));
            assert_eq!(running.get("b"), (0..64).collect::<Vec<u16>>());
        }
        let StreamFault::Deadlock { reason, .. } = fault(&text, StreamOptions::default()) else { panic!() };
        assert!(reason.contains("`--self-loop-relays`"), "{reason}");
    }
}

mod at_once;
mod buffers;
mod packets;
mod races;

mod faults {
    use super::*;

    /// A tile that gets 8 elements and puts them on; control code gets them.
    fn one_tile(channels: &str, before: &str, body: &str, after: &str) -> String {
        let channels = format!("air.channel @in [1]\nair.channel @out [1]\n{channels}");
        launch(&channels, before, &herd("h", 1, 1, body), after)
    }

    const OUT: &str = "air.channel.get @out[] (%b[0] [8] [1]) : (memref<64xi16>)";

    #[test]
    fn a_put_that_is_missing() {
        let body = format!("air.channel.get @in[] {GET}\nair.channel.put @out[] {GET}");
        let found = fault(&one_tile("", "", &body, OUT), StreamOptions::default());
        assert_eq!(
            found.to_string(),
            "cannot go on: tile [0, 0] of herd `@h` waits in a get from `@in[0]` for 8 more elements; 0 were put and 0 \
             got so far"
        );
        let StreamFault::Deadlock { waiting, reason, .. } = &found else { panic!() };
        assert_eq!(reason, "nobody has put anything into `@in[0]`");
        let control = waiting.iter().find(|w| w.who == "control code").expect("the get of control code waits too");
        assert!(control.what.starts_with("in a get from `@out[0]` for 8 more elements"), "{control:?}");
        assert!(found.place().starts_with("fused.mlir:"), "{}", found.place());
    }

    #[test]
    fn a_put_of_too_few() {
        let body = format!("air.channel.get @in[] {GET}\nair.channel.put @out[] {GET}");
        let before = "air.channel.put @in[] (%a[0] [6] [1]) : (memref<64xi16>)";
        let found = fault(&one_tile("", before, &body, OUT), StreamOptions::default()).to_string();
        assert!(found.ends_with("for 2 more elements; 6 were put and 6 got so far"), "{found}");
    }

    #[test]
    fn elements_that_nobody_gets() {
        let body = format!("air.channel.get @in[] {GET}\nair.channel.put @out[] {GET}");
        let before = "air.channel.put @in[] (%a[0] [12] [1]) : (memref<64xi16>)";
        let found = fault(&one_tile("", before, &body, OUT), StreamOptions::default());
        assert_eq!(found.to_string(), "ends with elements that nobody got: `@in[0]` holds 4");
        assert!(matches!(found, StreamFault::Undrained { put: 12, got: 8, .. }), "{found:?}");
    }

    #[test]
    fn an_index_that_the_channel_does_not_have() {
        let body = format!("%i = arith.constant 1 : index\nair.channel.get @in[%i] {GET}");
        let found = fault(&one_tile("", "", &body, ""), StreamOptions::default());
        assert_eq!(found.to_string(), "uses index [1] of channel `@in`, whose extents are [1]");
    }

    #[test]
    fn transfers_that_leave_their_buffer() {
        let body = format!("air.channel.get @in[] {GET}");
        let before = "air.channel.put @in[] (%a[60] [8] [1]) : (memref<64xi16>)";
        let found = fault(&one_tile("", before, &body, ""), StreamOptions::default());
        assert_eq!(found.to_string(), "reads 8 bytes past the end of `a`, in a put into `@in[0]`");
        let body = "air.channel.get @in[] (%l1[4] [8] [1]) : (memref<8xi16, 2>)";
        let before = "air.channel.put @in[] (%a[0] [8] [1]) : (memref<64xi16>)";
        let found = fault(&one_tile("", before, body, ""), StreamOptions::default()).to_string();
        let expected = "writes 8 bytes past the end of the L1 buffer `memref<8xi16, 2>` of herd `@h`, in a get";
        assert!(found.starts_with(expected), "{found}");
    }

    #[test]
    fn a_static_argument_that_is_written() {
        let body = format!("air.channel.get @in[] {GET}\nair.channel.put @out[] {GET}");
        let before = "air.channel.put @in[] (%a[0] [8] [1]) : (memref<64xi16>)";
        let text = one_tile("", before, &body, "air.channel.get @out[] (%b[0] [8] [1]) : (memref<64xi16>)");
        let args: [Arg; 2] = [ARGS[0], ("w", "memref<64xi16>", Role::Static)];
        let mut running = Running::new(&build(&text, &args, 1, &[], &HostOptions::default()));
        running.buffers.seal().unwrap();
        let Err(error) = running.call_with(StreamOptions::default()) else { panic!("it ran") };
        let text = error.to_string();
        assert!(text.contains("writes the static argument `w`, in a get from `@out[0]`"), "{text}");
    }

    #[test]
    fn two_tiles_at_one_end() {
        let channels = "air.channel @in [1]\nair.channel @out [2]";
        let before = "air.channel.put @in[] (%a[0] [16] [1]) : (memref<64xi16>)";
        let body = format!("%z = arith.constant 0 : index\nair.channel.get @in[%z] {GET}");
        let text = launch(channels, before, &herd("h", 2, 1, &body), "");
        let found = fault(&text, StreamOptions::default());
        assert_eq!(
            found.to_string(),
            "gets from `@in[0]` in tile [0, 0] of herd `@h` and in tile [1, 0] of herd `@h`, in no order"
        );
    }

    #[test]
    fn ends_of_unequal_elements() {
        let body = "%wide = memref.alloc() : memref<4xi32, 2>
          air.channel.get @in[] (%wide[] [] []) : (memref<4xi32, 2>)";
        let before = "air.channel.put @in[] (%a[0] [8] [1]) : (memref<64xi16>)";
        let found = fault(&one_tile("", before, body, ""), StreamOptions::default()).to_string();
        assert_eq!(found, "puts elements of 2 bytes into `@in[0]` and gets elements of 4 bytes from it");
    }

    #[test]
    fn more_than_may_be_held() {
        let before = "%n = arith.constant 1000000 : index
          scf.for %i = %c0 to %n step %c1 { air.channel.put @in[] (%a[] [] []) : (memref<64xi16>) }";
        let options = StreamOptions { memory_limit_bytes: 1 << 20, ..StreamOptions::default() };
        let found = fault(&one_tile("", before, "", ""), options);
        assert!(matches!(found, StreamFault::MemoryLimit { limit_bytes: 1_048_576, .. }), "{found}");
    }

    #[test]
    fn what_no_run_is_needed_for() {
        let text = launch("", "air.channel.put @gone[] (%a[] [] []) : (memref<64xi16>)", "", "");
        assert!(complaints(&text).contains("there is no channel `@gone`"), "{}", complaints(&text));
        let text = launch("air.channel @in [1]", "air.channel.get @in[] (%b[0] [8] [0]) : (memref<64xi16>)", "", "");
        assert!(complaints(&text).contains("would overwrite each other"), "{}", complaints(&text));
    }
}
