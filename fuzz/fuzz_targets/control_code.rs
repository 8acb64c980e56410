#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    airlink_fuzz::control(bytes);
});
