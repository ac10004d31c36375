//! The seeded world: applications, a gateway for some of them each, one AtomPub server. Networks come and go,
//! servers fail with every status, gateways crash between any two steps and lose what was not synchronised.
//! After a lull everybody sees what the server has, and every edit that was acknowledged reached it once, in
//! its order, or stands among the errors with what it says.
//!
//! A failing seed is printed; `FEEDSYNC_SEED=n` runs that one alone, `FEEDSYNC_SCHEDULES=n` sets how many
//! are run.

use feedsync_offline::profile::Profile;

use crate::schedule::World;

/// How many schedules there are in all.
const SCHEDULES: u64 = 6_000;

fn run(crashes: bool, profile: Profile, percent: u64) {
    let number = |name| std::env::var(name).ok().and_then(|text: String| text.parse().ok());
    let schedules = number("FEEDSYNC_SCHEDULES").unwrap_or(SCHEDULES) * percent / 100;
    let seeds = match number("FEEDSYNC_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..schedules.max(1),
    };
    for seed in seeds {
        let world = || World::new(seed, crashes, profile).run();
        if let Err(panic) = std::panic::catch_unwind(world) {
            eprintln!("seed {seed} failed; replay with FEEDSYNC_SEED={seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

/// Networks that break off, and servers that fail.
#[test]
fn every_edit_arrives_once_or_is_an_error_on_an_unreliable_network() {
    run(false, Profile::Resilient, 40);
}

/// The same, with processes that end and power that is cut.
#[test]
fn every_edit_arrives_once_or_is_an_error_when_gateways_crash() {
    run(true, Profile::Resilient, 40);
}

/// To the letter: an answer is final.
#[test]
fn every_edit_arrives_once_or_is_an_error_to_the_letter() {
    run(true, Profile::Strict, 20);
}
