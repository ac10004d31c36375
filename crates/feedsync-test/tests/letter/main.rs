//! Our endpoints and hubs against peers that implement only the letter of the specifications.
//!
//! Decided by a seed, both sides create, edit, delete, restore and resolve items, and read each other at
//! times. In the end both hold the same items. A failing seed is printed; `FEEDSYNC_SEED=n` runs that one
//! alone, `FEEDSYNC_SCHEDULES=n` sets the number of schedules of each format.

mod feedsync_peer;
mod ledger;
mod letter;
mod ours;
mod sse_peer;

/// Number of schedules of each format and way of exchange.
const SCHEDULES: u64 = 300;

/// Runs each schedule with a name.
fn each(name: &str, mut run: impl FnMut(u64)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match number("FEEDSYNC_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FEEDSYNC_SCHEDULES").unwrap_or(SCHEDULES),
    };
    for seed in seeds {
        let run = std::panic::AssertUnwindSafe(|| run(seed));
        if let Err(panic) = std::panic::catch_unwind(run) {
            eprintln!("{name}: seed {seed} failed; replay with FEEDSYNC_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}
