//! A world of devices that keep one person's newsreading in step, over a log, a collection or documents: whatever
//! happens, in the end all know what was done, and nothing else.

mod deeds;
mod log;
mod server;

/// How many schedules are run; another number in `FEEDSYNC_SCHEDULES`, one seed alone in `FEEDSYNC_SEED`.
const SCHEDULES: u64 = 2_000;

fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    match (number("FEEDSYNC_SEED"), number("FEEDSYNC_SCHEDULES")) {
        (Some(seed), _) => seed..seed + 1,
        (None, schedules) => 0..schedules.unwrap_or(SCHEDULES),
    }
}

/// Runs every seed; says which one failed.
fn each_seed(run: fn(u64)) {
    for seed in seeds() {
        if let Err(failure) = std::panic::catch_unwind(|| run(seed)) {
            eprintln!("FEEDSYNC_SEED={seed}");
            std::panic::resume_unwind(failure);
        }
    }
}

/// T1, T3, T5, T6, T8, T9 over a log.
#[test]
fn over_a_log_all_come_to_know_what_was_done() {
    each_seed(log::World::run);
}
