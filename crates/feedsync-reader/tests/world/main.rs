//! A world of devices that keep one person's newsreading in step, over a log, a collection or documents: whatever
//! happens, in the end all know what was done, and nothing else.

mod deeds;
mod gossip;
mod log;
mod server;

/// `schedules` seeds; another number in `FEEDSYNC_SCHEDULES`, one seed alone in `FEEDSYNC_SEED`.
fn seeds(schedules: u64) -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("FEEDSYNC_SEED"), number("FEEDSYNC_SCHEDULES")) {
        (Some(seed), _) => seed..seed + 1,
        (None, other) => 0..other.unwrap_or(schedules),
    }
}

/// Runs every seed; says which one failed.
fn each_seed(schedules: u64, run: fn(u64)) {
    for seed in seeds(schedules) {
        if let Err(failure) = std::panic::catch_unwind(|| run(seed)) {
            eprintln!("FEEDSYNC_SEED={seed}");
            std::panic::resume_unwind(failure);
        }
    }
}

/// LT1, LT3, LT5, LT6, LT8, LT9 over a log.
#[test]
fn over_a_log_all_come_to_know_what_was_done() {
    each_seed(2_000, log::World::run);
}

/// The same as items of a FeedSync collection: whoever resolves conflicts at once makes the same version.
#[test]
fn over_a_collection_all_come_to_know_what_was_done() {
    each_seed(150, gossip::run::<gossip::Collection>);
}

/// The same as documents of a database that replicates, whose conflicting values come in any order.
#[test]
fn as_documents_all_come_to_know_what_was_done() {
    each_seed(2_000, gossip::run::<gossip::Documents>);
}
