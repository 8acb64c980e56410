//! Buffers: alignment, guards, margins, protection.

use airlink_rt::*;

#[test]
fn data_is_aligned_and_zero_for_any_size() {
    for placement in [Placement::End, Placement::Start] {
        for size in [0u64, 1, 63, 64, 65, 4095, 4096, 4097, 1 << 20] {
            let mut b = Buffer::new("b", size, Role::Input, placement).unwrap();
            assert_eq!(b.bytes().unwrap().len() as u64, size);
            assert!(b.bytes().unwrap().iter().all(|&x| x == 0));
            if size > 0 {
                assert_eq!(b.bytes().unwrap().as_ptr() as usize % 64, 0);
            }
            assert!(b.poison(Poison::Nan));
            assert!(b.bytes().unwrap().iter().all(|&x| x == 0xff));
        }
    }
}

#[test]
fn sealing_protects_by_role_and_keeps_the_content() {
    let mut set = BufferSet::new(Placement::End);
    for (name, role) in [("w", Role::Static), ("x", Role::Input), ("d", Role::Dead)] {
        let i = set.add(name, 100, role).unwrap();
        set.get_mut(i).unwrap().bytes_mut().unwrap().fill(i as u8 + 1);
    }
    set.seal().unwrap();
    let state = |set: &BufferSet| set.iter().map(|b| (b.bytes().map(|x| x[99]), b.protection())).collect::<Vec<_>>();
    assert_eq!(
        state(&set),
        [(Some(1), Protection::ReadOnly), (Some(2), Protection::ReadWrite), (None, Protection::Closed)]
    );
    assert!(set.get_mut(0).unwrap().bytes_mut().is_none());
    assert!(!set.get_mut(2).unwrap().poison(Poison::Zero));
    set.unseal().unwrap();
    assert_eq!(set.iter().map(|b| b.bytes().unwrap()[99]).collect::<Vec<_>>(), [1, 2, 3]);
}

#[test]
fn addresses_are_told_by_buffer_name() {
    let mut set = BufferSet::new(Placement::End);
    set.add("a", 4096, Role::Output).unwrap();
    set.add("b", 100, Role::Output).unwrap();
    let start = set.get(1).unwrap().bytes().unwrap().as_ptr() as u64;
    assert_eq!(set.locate(start - 1), Place::Before { buffer: "b".into(), offset_bytes: 1 });
    assert_eq!(set.locate(start + 100), Place::After { buffer: "b".into(), offset_bytes: 0 });
    assert_eq!(
        set.locate(start + 99),
        Place::Inside { buffer: "b".into(), offset_bytes: 99, role: Role::Output, protection: Protection::ReadWrite }
    );
    assert_eq!(set.locate(8), Place::Null);
    assert_eq!(set.locate(&start as *const u64 as u64), Place::Elsewhere);
}

#[test]
fn two_buffers_of_one_name_and_impossible_sizes_are_errors() {
    let mut set = BufferSet::new(Placement::End);
    set.add("a", 1, Role::Output).unwrap();
    assert_eq!(set.add("a", 1, Role::Output).unwrap_err().to_string(), "two buffers are called `a`");
    for size in [u64::MAX, u64::MAX - 4096, 1 << 60] {
        let text = set.add("big", size, Role::Output).unwrap_err().to_string();
        assert!(text.starts_with(&format!("no memory for the {size} bytes of `big`: ")), "{text}");
    }
    assert_eq!(set.len(), 1);
}
