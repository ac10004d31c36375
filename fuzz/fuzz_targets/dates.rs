#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    feedsync_test::fuzz::dates(bytes);
});
