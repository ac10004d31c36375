//! Benchmarks: `cargo run --release -p feedsync-benches [-- NAME...]`.
//!
//! Each prints its measurements as a table; none fails. Ratios are measured in one interleaved run, and medians
//! are shown with their spread. `FEEDSYNC_BENCH_ITEMS` reduces the largest collection.

mod answers;
mod backend;
mod changes;
mod couch;
mod drain;
mod edits;
mod events;
mod gateway;
mod gateways;
mod keepalive;
mod logs;
mod measure;
mod memory;
mod merge;
mod newsreaders;
mod process;
mod pull;
mod read;
mod relay;
mod sample;
mod since;

/// Same allocator as in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BENCHMARKS: [(&str, fn()); 17] = [
    ("merge", merge::run),
    ("read", read::run),
    ("changes", changes::run),
    ("pull", pull::run),
    ("memory", memory::run),
    ("events", events::run),
    ("answers", answers::run),
    ("edits", edits::run),
    ("since", since::run),
    ("gateway", gateway::run),
    ("drain", drain::run),
    ("logs", logs::run),
    ("newsreaders", newsreaders::run),
    ("pages", newsreaders::run_pages),
    ("couch", couch::run),
    ("indexes", couch::run_indexes),
    ("views", couch::run_views),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some((process::CHILD, child)) = arguments.split_first().map(|(a, b)| (a.as_str(), b)) {
        return process::run_child(child);
    }
    let known = |name: &String| BENCHMARKS.iter().any(|(known, _)| known == name);
    if let Some(unknown) = arguments.iter().find(|name| !known(name)) {
        let names: Vec<&str> = BENCHMARKS.iter().map(|(name, _)| *name).collect();
        eprintln!("no benchmark {unknown:?}; there are {}", names.join(", "));
        std::process::exit(2);
    }
    for (name, run) in BENCHMARKS {
        if arguments.is_empty() || arguments.iter().any(|chosen| chosen == name) {
            run();
        }
    }
}
