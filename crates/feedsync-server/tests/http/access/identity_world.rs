//! Random worlds in which users are added and removed, with checks of what each may read.

use std::collections::BTreeMap;

use feedsync_store::{Grant, Role};
use http::Method;
use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use super::world::{collection, user};
use crate::newsroom::Newsroom;

/// Model of the hub: users and roles, with a number for each user that was ever added.
#[derive(Default)]
struct Truth {
    users: BTreeMap<&'static str, u32>,
    made: BTreeMap<String, Vec<(&'static str, u32)>>,
    born: u32,
}

#[tokio::test]
async fn users_read_only_what_they_made_or_were_granted() {
    let only = std::env::var("FEEDSYNC_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = only.map_or(0..6, |seed| seed..seed + 1);
    for seed in seeds {
        users_come_and_go(seed).await;
    }
}

/// Adds and removes users, who create and remove collections and databases and grant roles in them. After
/// each step, each user reads exactly what they created or were granted.
async fn users_come_and_go(seed: u64) {
    const NAMES: [&str; 3] = ["bob", "cleo", "dora"];
    let mut random = SmallRng::seed_from_u64(seed);
    let room = Newsroom::of(&["anna"]).await;
    let mut truth = Truth::default();
    let mut refused = 0;
    for step in 0..60 {
        let name = NAMES[random.random_range(0..NAMES.len())];
        let other = NAMES[random.random_range(0..NAMES.len())];
        let kind = if random.random() { "collections" } else { "couch" };
        let place = format!("/{kind}/{}", ["x", "y", "reading-bob"][random.random_range(0..3)]);
        let Some(born) = truth.users.get(name).copied() else {
            room.add(name).await;
            truth.born += 1;
            truth.users.insert(name, truth.born);
            continue;
        };
        match random.random_range(0..8) {
            0 => {
                room.remove(name).await;
                truth.users.remove(name);
                truth.made.remove(&format!("/collections/reading-{name}"));
            }
            1 => {
                room.subscribe(name).await;
                let place = format!("/collections/reading-{name}");
                truth.made.entry(place).or_insert_with(|| vec![(name, born)]);
            }
            2 => {
                if room.status(name, Method::DELETE, &place, "").await / 100 == 2 {
                    truth.made.remove(&place);
                }
            }
            3 if truth.users.contains_key(other) && kind == "couch" => {
                let names = format!("{{\"names\":[\"{name}\",\"{other}\"]}}");
                let security = format!("{{\"admins\":{names},\"members\":{names}}}");
                let path = format!("{place}/_security");
                if room.status(name, Method::PUT, &path, &security).await == 200 {
                    truth.made.insert(place, vec![(name, born), (other, truth.users[other])]);
                }
            }
            4 if truth.users.contains_key(other) && kind == "collections" => {
                let known = place.trim_start_matches("/collections/");
                let role = [Role::Reader, Role::Editor][random.random_range(0..2)];
                let grant = Grant { user: user(other), collection: collection(known), role };
                if room.endpoint.grant(grant).await.is_ok() {
                    let is_private = known.starts_with("reading-");
                    let is_own = known == format!("reading-{other}");
                    assert!(!is_private || is_own, "step {step}: {other} got a role in {known}");
                    let made = truth.made.get_mut(&place).expect("a collection that is there");
                    made.push((other, truth.users[other]));
                    room.pause().await;
                }
            }
            _ => {
                let body = if kind == "couch" { "" } else { "{}" };
                if room.status(name, Method::PUT, &place, body).await == 201 {
                    truth.made.insert(place, vec![(name, born)]);
                }
            }
        }
        for (who, born) in &truth.users {
            for kind in ["collections", "couch"] {
                for place in ["x", "y", "reading-bob", "reading-cleo", "reading-dora"] {
                    let path = format!("/{kind}/{place}");
                    let roles = truth.made.get(&path);
                    let may = roles.is_some_and(|roles| roles.contains(&(*who, *born)));
                    let status = room.status(who, Method::GET, &path, "").await;
                    let expected = if may { 200 } else { 404 };
                    assert_eq!(status, expected, "seed {seed}, step {step}: {who} {path}");
                    refused += u32::from(!may);
                }
            }
        }
    }
    assert!(refused > 100 && truth.born > 3, "{refused} {}", truth.born);
}
