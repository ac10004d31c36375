//! The feedsync program.
fn main() {}
