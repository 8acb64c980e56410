//! Validation cases of what control code holds at once, and of whole ELFs.

use airlink_device::{
    ChannelTasks, Container, Device, Direction, Load, Profile, Rule, Step, check_container, check_live,
    check_mixed_dma, check_odd_trips, check_pdi_parity, check_queue, live_bds, pdi_loads, repeated_names, simulate,
    steps, task_bytes,
};

use crate::support::{channel, npu2, pinned, rules};

fn feeds(index: u64, task_count: u64, is_reorderable: bool) -> ChannelTasks {
    ChannelTasks { channel: channel(0, Direction::Mm2s, index), task_count, bds_per_task: 1, is_reorderable }
}

fn stores(index: u64, task_count: u64, bds_per_task: u64) -> ChannelTasks {
    ChannelTasks { channel: channel(0, Direction::S2mm, index), task_count, bds_per_task, is_reorderable: false }
}

#[test]
fn case_20_seventeen_live_descriptors() {
    let on = channel(0, Direction::S2mm, 0);
    let configure = Step::Configure { channel: on, bds: 1, has_token: true };
    let wait = Step::Await { channel: on };
    let mut all = vec![configure; 17];
    all.extend([wait; 17]);
    assert_eq!(rules(&simulate(&all, &npu2()).faults), [Rule::LiveBds]);
    let mut one_freed = vec![configure; 16];
    one_freed.extend([wait, configure]);
    one_freed.extend([wait; 16]);
    let result = simulate(&one_freed, &npu2());
    assert_eq!((result.tiles[0].bd_peak, result.faults.as_slice()), (16, [].as_slice()));
    assert_eq!(rules(&check_live(&[stores(0, 17, 1)], &npu2(), &pinned())), [Rule::LiveBds]);
}

#[test]
fn case_21_each_task_waits_for_the_one_before() {
    let on = channel(3, Direction::S2mm, 0);
    let configure = Step::Configure { channel: on, bds: 1, has_token: true };
    let mut list = vec![configure];
    for _ in 0..100 {
        list.extend([configure, Step::Await { channel: on }]);
    }
    list.push(Step::Await { channel: on });
    let result = simulate(&list, &npu2());
    assert_eq!((result.tiles[0].bd_peak, result.faults.as_slice()), (2, [].as_slice()));
}

#[test]
fn case_22_more_waits_than_tokens() {
    let on = channel(0, Direction::S2mm, 0);
    let mut list = vec![Step::Configure { channel: on, bds: 1, has_token: true }];
    list.extend([Step::Await { channel: on }; 4]);
    let faults = simulate(&list, &npu2()).faults;
    assert_eq!((rules(&faults), faults.len()), (vec![Rule::Token], 3));
    let silent = [Step::Configure { channel: on, bds: 1, has_token: false }, Step::Await { channel: on }];
    assert_eq!(rules(&simulate(&silent, &npu2()).faults), [Rule::Token]);
    assert_eq!(rules(&simulate(&silent[..1], &npu2()).faults), [Rule::Leak]);
}

#[test]
fn case_29_two_bursts_are_woven() {
    let burst = [feeds(0, 6, true), feeds(1, 6, true)];
    let live = live_bds(&burst, &pinned());
    assert_eq!((live[0].bd_sum, live[0].bd_peak), (12, 8));
    let list = steps(&burst, &pinned()).expect("few");
    let indices: Vec<_> = list
        .iter()
        .filter_map(|s| match s {
            Step::Configure { channel, .. } => Some(channel.index),
            _ => None,
        })
        .collect();
    assert_eq!(indices, [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    let result = simulate(&list, &npu2());
    assert_eq!((result.tiles, result.faults), (live, vec![]));
    let short = steps(&[feeds(0, 4, true), feeds(1, 4, true)], &pinned()).expect("few");
    assert!(short.iter().all(|s| !matches!(s, Step::Await { .. })));
}

#[test]
fn case_32_raw_transfers_beside_channels() {
    assert_eq!(check_mixed_dma(1, 2).expect("mixed").rule, Rule::MixedDma);
    assert_eq!(check_mixed_dma(0, 2), None);
    assert_eq!(check_mixed_dma(3, 0), None);
}

#[test]
fn case_33_three_channels_of_sixteen_descriptors() {
    let column = [feeds(0, 16, true), feeds(1, 16, true), stores(0, 16, 1)];
    let live = live_bds(&column, &pinned());
    assert_eq!((live[0].bd_sum, live[0].bd_peak), (48, 24));
    let faults = check_live(&column, &npu2(), &pinned());
    assert_eq!(rules(&faults), [Rule::LiveBds]);
    assert!(faults[0].text.contains("48 in all"), "{}", faults[0].text);
    let unpaced = column.map(|c| ChannelTasks { is_reorderable: false, ..c });
    assert_eq!(live_bds(&unpaced, &pinned())[0].bd_peak, 48);
}

#[test]
fn case_44_host_buffers() {
    assert_eq!(check_container(Container::Xclbin, 17, &npu2()).expect("one too many").rule, Rule::HostArgs);
    assert_eq!(check_container(Container::Xclbin, 16, &npu2()), None);
    assert_eq!(check_container(Container::FullElf, 39, &npu2()), None);
    let npu1 = Device::named("npu1").expect("in the table");
    assert_eq!(check_container(Container::FullElf, 3, npu1).expect("xclbin only").rule, Rule::FullElf);
}

#[test]
fn case_45_odd_loads() {
    let launches = |count: usize| pdi_loads(&(0..count).map(Load::Configure).collect::<Vec<_>>());
    for odd in [1, 3] {
        assert_eq!(check_pdi_parity(launches(odd), &pinned()).expect("odd").rule, Rule::PdiParity);
    }
    for even in [2, 8] {
        assert_eq!(check_pdi_parity(launches(even), &pinned()), None);
    }
    let newer = Profile::named("mlir-aie-af819a8").expect("in the table");
    assert_eq!(check_pdi_parity(launches(3), newer), None);
    let folded = [Load::Configure(0), Load::Configure(0), Load::Reset, Load::Configure(0)];
    assert_eq!(pdi_loads(&folded), 3);
}

#[test]
fn case_46_pushes_on_one_queue() {
    let faults = check_queue(&[feeds(0, 7, false)], &npu2(), &pinned());
    assert_eq!((rules(&faults), faults[0].rule.is_warning()), (vec![Rule::Queue], true));
    assert_eq!(check_queue(&[feeds(0, 2, false)], &npu2(), &pinned()), []);
    assert_eq!(check_queue(&[feeds(0, 7, true)], &npu2(), &pinned()), []);
}

#[test]
fn case_47_odd_trips() {
    assert_eq!(check_odd_trips(245_760 / (2048 * 8), true).expect("15 trips").rule, Rule::OddTrips);
    assert_eq!(check_odd_trips(245_760 / (1920 * 8), true), None);
    assert_eq!(check_odd_trips(15, false), None);
    assert_eq!(check_odd_trips(1, true), None);
}

#[test]
fn case_50_names_of_two_slices() {
    assert_eq!(repeated_names(&["seg", "chan_0", "seg", "herd"]), ["seg"]);
    assert_eq!(repeated_names(&["a0_seg", "a1_seg"]), Vec::<&str>::new());
}

#[test]
fn bytes_of_a_task() {
    assert_eq!(task_bytes(1, 0), 120);
    assert_eq!(task_bytes(2, 1), 256);
}
