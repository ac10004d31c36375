#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    feedsync_test::fuzz::round_trip::<feedsync_store::Until>(text);
});
