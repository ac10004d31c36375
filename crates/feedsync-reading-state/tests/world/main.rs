//! Simulation of devices that synchronize one user's reading state through a log, a collection or documents:
//! whatever happens, in the end all devices have all changes, and nothing else.

mod deeds;
mod gossip;
mod log;
mod server;

/// The seeds: `schedules` of them, or `FEEDSYNC_SCHEDULES`, or the single seed `FEEDSYNC_SEED`.
fn seeds(schedules: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("FEEDSYNC_SEED"), number("FEEDSYNC_SCHEDULES")) {
        (Some(seed), _) => seed..seed + 1,
        (None, other) => 0..other.unwrap_or(schedules),
    }
}

/// Runs every seed; prints the one that failed.
fn each_seed(schedules: u64, run: fn(u64)) {
    for seed in seeds(schedules) {
        if let Err(failure) = std::panic::catch_unwind(|| run(seed)) {
            eprintln!("FEEDSYNC_SEED={seed}");
            std::panic::resume_unwind(failure);
        }
    }
}

/// Synchronization through a log (LT1, LT3, LT5, LT6, LT8, LT9).
#[test]
fn devices_converge_over_a_log() {
    each_seed(2_000, log::World::run);
}

/// The same with items of a FeedSync collection: replicas that resolve conflicts concurrently make the same
/// version.
#[test]
fn devices_converge_over_a_collection() {
    each_seed(150, gossip::run::<gossip::Collection>);
}

/// The same with documents of a replicating database, whose conflicting values come in any order.
#[test]
fn devices_converge_over_documents() {
    each_seed(2_000, gossip::run::<gossip::Documents>);
}
