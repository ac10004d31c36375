//! Seeded simulation: applications, several gateways, and one AtomPub server. Networks fail, servers fail
//! with every status, and gateways crash between any two steps and lose unsynchronised data. After a calm
//! phase all applications see the server's state. Every acknowledged edit reached the server once and in its
//! order, or is among the errors with its content.
//!
//! A failing seed is printed. `FEEDSYNC_SEED=n` runs only that seed, and `FEEDSYNC_SCHEDULES=n` sets the
//! number of schedules.

use feedsync_bitsy::profile::Profile;

use crate::schedule::World;

/// Total number of schedules.
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

/// Networks and servers fail.
#[test]
fn every_edit_arrives_once_or_is_an_error_on_an_unreliable_network() {
    run(false, Profile::Resilient, 40);
}

/// In addition, processes end and the power is cut.
#[test]
fn every_edit_arrives_once_or_is_an_error_when_gateways_crash() {
    run(true, Profile::Resilient, 40);
}

/// In the strict profile, a response is final.
#[test]
fn every_edit_arrives_once_or_is_an_error_in_the_strict_profile() {
    run(true, Profile::Strict, 20);
}
