//! Benchmarks: `cargo run --release -p feedsync-benches [-- NAME...]`.
//!
//! Each prints what it measured as a table; none fails. Ratios are taken in one run, interleaved, and
//! medians are shown with their spread.

mod measure;
mod merge;

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let benchmarks: [(&str, fn()); 1] = [("merge", merge::run)];
    for (name, run) in benchmarks {
        if chosen.is_empty() || chosen.iter().any(|choice| choice == name) {
            run();
        }
    }
}
