#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // A page has a text or an error. Nothing panics, and the same page has the same text.
    for media_type in ["text/html", "text/html; charset=shift_jis"] {
        let extracted = feedsync_aggregator::extract(bytes, media_type, "https://a.example/b/");
        let again = feedsync_aggregator::extract(bytes, media_type, "https://a.example/b/");
        assert_eq!(extracted, again);
    }
});
