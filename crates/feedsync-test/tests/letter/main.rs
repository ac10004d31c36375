//! Our endpoints and hubs against peers that know nothing but the letter of the specifications.
//!
//! By seed, both sides create, edit, delete, restore and resolve, and read each other now and then. In the end both hold
//! the same. A failing seed is printed; `FEEDSYNC_SEED=n` runs that one alone, `FEEDSYNC_SCHEDULES=n` sets how many are
//! run of each format.

mod feedsync_peer;
mod ledger;
mod letter;
mod ours;
mod sse_peer;

/// Number of schedules of each format and way.
const SCHEDULES: u64 = 300;

/// Runs each schedule of a name.
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
