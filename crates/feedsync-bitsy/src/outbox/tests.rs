use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::collections::SortedMap;
use crate::testing::at;

const NOW: Time = Time::from_millis(1_000_000);

fn edit(method: Method, resource: &str, body: &str) -> NewEdit<String> {
    let resource = at(resource);
    let location = if method == Method::Post { at("feed") } else { resource.clone() };
    NewEdit {
        partition: Partition::public(),
        method,
        location,
        resource,
        queue: at("feed"),
        feed: at("feed"),
        previous: None,
        is_conditional: false,
        generation: 1,
        base: (method != Method::Post).then(|| "v1".to_owned()),
        body: (method != Method::Delete).then(|| body.to_owned()),
        slug: None,
        key: body.to_owned(),
    }
}

fn post(body: &str) -> NewEdit<String> {
    edit(Method::Post, &format!("pending/{body}"), body)
}

fn put(resource: &str, body: &str) -> NewEdit<String> {
    edit(Method::Put, resource, body)
}

fn delete(resource: &str) -> NewEdit<String> {
    edit(Method::Delete, resource, "")
}

/// The outbox that is restored after a crash.
fn crashed(outbox: &Outbox<String>) -> Outbox<String> {
    Outbox::restored(outbox.edits().cloned().collect::<Vec<_>>(), outbox.next())
}

fn bodies(outbox: &Outbox<String>) -> Vec<(Method, Option<&str>)> {
    outbox.edits().map(|edit| (edit.requested.method, edit.requested.body.as_deref())).collect()
}

#[test]
fn put_and_delete_replace_an_edit_that_was_never_sent() {
    let mut outbox = Outbox::default();
    let first = outbox.add(put("a", "1"));
    assert_eq!(first, AddOutcome::Queued(EditId(1)));
    assert_eq!(outbox.add(put("a", "2")), AddOutcome::Replaced(EditId(1)));
    assert_eq!(bodies(&outbox), [(Method::Put, Some("2"))]);
    assert_eq!(outbox.edit(EditId(1)).unwrap().requested.base.as_deref(), Some("v1"));
    assert_eq!(outbox.add(delete("a")), AddOutcome::Queued(EditId(2)));
    assert_eq!(bodies(&outbox), [(Method::Delete, None)]);
    assert_eq!(outbox.edit(EditId(2)).unwrap().requested.base.as_deref(), Some("v1"));
    assert_eq!(outbox.add(delete("a")), AddOutcome::Nothing, "repeated");
    assert_eq!(outbox.add(put("a", "3")), AddOutcome::Gone);
}

#[test]
fn delete_of_an_unsent_post_removes_both() {
    let mut outbox = Outbox::default();
    outbox.add(post("n"));
    assert_eq!(outbox.add(put("pending/n", "m")), AddOutcome::Replaced(EditId(1)));
    assert_eq!(bodies(&outbox), [(Method::Post, Some("m"))]);
    assert_eq!(outbox.add(delete("pending/n")), AddOutcome::Cancelled(EditId(1)));
    assert_eq!(bodies(&outbox), []);
    assert!(outbox.due(NOW).is_empty());
}

#[test]
fn sent_edit_does_not_change_and_its_followers_wait_for_its_result() {
    let mut outbox = Outbox::default();
    outbox.add(post("n"));
    outbox.mark_sending(EditId(1));
    assert_eq!(outbox.add(put("pending/n", "m")), AddOutcome::Queued(EditId(2)));
    assert_eq!(outbox.add(delete("pending/n")), AddOutcome::Queued(EditId(3)), "of what was sent");
    assert!(outbox.due(NOW).is_empty());
    let settlement = Settlement::Done { member: Some(at("feed/7")), tag: Some("v1".to_owned()) };
    let ended = outbox.settle(EditId(1), settlement, NOW, 0);
    assert_eq!(ended.edit.unwrap().id, EditId(1));
    assert_eq!(ended.changed, [EditId(3)]);
    let delete = outbox.edit(EditId(3)).unwrap();
    assert_eq!(
        (&delete.requested.location, &delete.requested.resource),
        (&at("feed/7"), &at("feed/7"))
    );
    assert_eq!(delete.requested.base.as_deref(), Some("v1"));
    assert_eq!(outbox.due(NOW), [EditId(3)]);
}

#[test]
fn queues_keep_their_order_and_do_not_delay_each_other() {
    let mut outbox = Outbox::default();
    outbox.add(put("a", "1"));
    outbox.add(put("b", "2"));
    let elsewhere = NewEdit { queue: at("other"), ..put("c", "3") };
    outbox.add(elsewhere);
    let others = NewEdit { partition: Partition::of_bytes([7; 32]), ..put("a", "4") };
    outbox.add(others);
    assert_eq!(outbox.due(NOW), [EditId(1), EditId(3), EditId(4)]);
    outbox.mark_sending(EditId(1));
    let later = NOW.after(Duration::from_secs(9));
    outbox.settle(EditId(1), Settlement::Later(Some(later)), NOW, 0);
    assert_eq!(outbox.due(NOW), [EditId(2), EditId(3), EditId(4)], "put off for itself alone");
    assert_eq!(outbox.next_wake(NOW), Some(later));
    assert_eq!(outbox.due(later), [EditId(1), EditId(3), EditId(4)], "one at a time");
    outbox.mark_sending(EditId(2));
    assert_eq!(outbox.due(later), [EditId(3), EditId(4)], "one at a time");
    outbox.settle(EditId(2), Settlement::Lost { perhaps_arrived: false }, NOW, 0);
    outbox.mark_sending(EditId(1));
    outbox.settle(EditId(1), Settlement::Accepted, NOW, 0);
    assert_eq!(outbox.due(NOW), [EditId(2), EditId(3), EditId(4)], "accepted is as good as sent");
    outbox.add(put("a", "5"));
    assert_eq!(outbox.due(NOW), [EditId(2), EditId(3), EditId(4)], "but for what it edits");
    outbox.mark_sending(EditId(2));
    outbox.settle(EditId(2), Settlement::Done { member: None, tag: None }, NOW, 0);
    outbox.add(put("b", "6"));
    assert_eq!(outbox.due(NOW), [EditId(3), EditId(4), EditId(6)], "not what waits for it");
}

#[test]
fn edits_of_one_resource_keep_their_order_across_queues() {
    let mut outbox = Outbox::default();
    outbox.add(put("a", "1"));
    outbox.mark_sending(EditId(1));
    outbox.add(NewEdit { queue: at("other"), ..put("a", "2") });
    assert!(outbox.due(NOW).is_empty());
}

#[test]
fn released_edit_is_no_longer_put_off() {
    let mut outbox = Outbox::default();
    outbox.add(put("a", "1"));
    assert!(!outbox.release_one(EditId(1)), "it is not put off");
    for settlement in
        [Settlement::Later(Some(NOW.after(MAX_RETRY_DELAY))), Settlement::NeedsCredentials]
    {
        outbox.mark_sending(EditId(1));
        outbox.stall(EditId(1), StatusCode::TOO_MANY_REQUESTS, None, NOW);
        outbox.settle(EditId(1), settlement, NOW, 0);
        assert!(outbox.due(NOW).is_empty());
        assert_eq!(outbox.edit(EditId(1)).unwrap().stall.unwrap().since, NOW);
        assert!(outbox.release_one(EditId(1)));
        assert_eq!(outbox.edit(EditId(1)).unwrap().stall, None);
        assert_eq!(outbox.due(NOW), [EditId(1)]);
        assert_eq!(outbox.next_wake(NOW), None);
    }
}

#[test]
fn edit_without_credentials_is_held_until_released() {
    let mut outbox = Outbox::default();
    outbox.add(put("a", "1"));
    outbox.mark_sending(EditId(1));
    outbox.settle(EditId(1), Settlement::NeedsCredentials, NOW, 0);
    assert!(outbox.due(NOW.after(MAX_RETRY_DELAY * 2)).is_empty());
    assert!(outbox.release(Partition::of_bytes([7; 32])).is_empty());
    assert_eq!(outbox.release(Partition::public()), [EditId(1)]);
    assert_eq!(outbox.due(NOW), [EditId(1)]);
}

#[test]
fn edits_that_build_on_a_refused_edit_are_refused_with_it() {
    let mut outbox = Outbox::default();
    outbox.add(put("a", "1"));
    outbox.mark_sending(EditId(1));
    outbox.add(put("a", "2"));
    outbox.add(put("b", "3"));
    let ended = outbox.settle(EditId(1), Settlement::Refused, NOW, 0);
    assert_eq!(ended.edit.unwrap().requested.body.as_deref(), Some("1"));
    let dependents: Vec<_> =
        ended.dependents.iter().map(|edit| edit.requested.body.as_deref()).collect();
    assert_eq!(dependents, [Some("2")]);
    assert_eq!(bodies(&outbox), [(Method::Put, Some("3"))]);
}

#[test]
fn crash_while_sending_leaves_the_edit_doubtful_and_delays_grow() {
    let mut outbox = Outbox::default();
    outbox.add(put("a", "1"));
    outbox.mark_sending(EditId(1));
    let mut outbox = crashed(&outbox);
    assert_eq!(outbox.edit(EditId(1)).unwrap().progress, Progress::Doubtful);
    assert_eq!(outbox.due(NOW), [EditId(1)]);
    assert_eq!(
        outbox.add(put("a", "2")),
        AddOutcome::Queued(EditId(2)),
        "nothing is folded into it"
    );
    let mut last = Duration::ZERO;
    for _ in 0..30 {
        outbox.mark_sending(EditId(1));
        outbox.settle(EditId(1), Settlement::Later(None), NOW, u64::MAX);
        let wait = outbox.next_wake(NOW).unwrap().since(NOW);
        assert!(wait >= last && wait <= MAX_RETRY_DELAY, "{wait:?}");
        last = wait;
    }
    assert_eq!(last, MAX_RETRY_DELAY);
    outbox.settle(EditId(1), Settlement::Later(None), NOW, 0);
    assert_eq!(outbox.next_wake(NOW).unwrap().since(NOW), MAX_RETRY_DELAY / 2, "not all at once");
}

/// Events for the applications, the gateway and the server of a world.
#[derive(Debug, Clone)]
enum Happening {
    Post,
    Put(usize),
    Delete(usize),
    /// Due edits are sent with this result.
    Send(Fate),
    Later,
}

#[derive(Debug, Clone, Copy)]
enum Fate {
    Done,
    LostBefore,
    LostAfter,
    Busy,
    Refused,
    NeedsCredentials,
    CrashBefore,
    CrashAfter,
}

fn happening() -> impl Strategy<Value = Happening> {
    let fate = prop_oneof![
        4 => Just(Fate::Done),
        2 => Just(Fate::LostBefore),
        2 => Just(Fate::LostAfter),
        1 => Just(Fate::Busy),
        1 => Just(Fate::Refused),
        1 => Just(Fate::NeedsCredentials),
        1 => Just(Fate::CrashBefore),
        1 => Just(Fate::CrashAfter),
    ];
    prop_oneof![
        2 => Just(Happening::Post),
        4 => (0..6usize).prop_map(Happening::Put),
        2 => (0..6usize).prop_map(Happening::Delete),
        6 => fate.prop_map(Happening::Send),
        1 => Just(Happening::Later),
    ]
}

/// One application, its outbox and its server.
#[derive(Default)]
struct World {
    outbox: Outbox<String>,
    now: u64,
    made: u64,
    /// Members by their addresses at the server.
    members: SortedMap<Location, String>,
    /// Each edit with its key, in the order in which the server carried them out.
    carried_out: Vec<(EditId, String, Option<String>)>,
    /// Resource of each edit by its key; for a member that was created here, its temporary address.
    resources: SortedMap<String, Location>,
    /// Server address of each posted member, by its temporary address.
    places: SortedMap<Location, Location>,
    /// Acknowledged edits that must arrive, by their keys, with their contents.
    expected: SortedMap<String, Option<String>>,
    errors: Vec<String>,
}

impl World {
    fn now(&self) -> Time {
        Time::from_millis(self.now)
    }

    fn add(&mut self, mut new: NewEdit<String>) {
        self.made += 1;
        new.key = format!("key{}", self.made);
        if new.body.is_some() {
            new.body = Some(format!("body{}", self.made));
        }
        let (key, body) = (new.key.clone(), new.body.clone());
        let resource = new.resource.clone();
        let made = self.places.iter().find(|(_, place)| **place == resource);
        let known = made.map_or(&resource, |(pending, _)| pending).clone();
        self.resources.insert(key.clone(), known);
        let waiting = |outbox: &Outbox<String>| -> Vec<String> {
            let of = outbox.edits().filter(|edit| edit.requested.resource == resource);
            of.map(|edit| edit.requested.key.clone()).collect()
        };
        let before = waiting(&self.outbox);
        let arrives = match self.outbox.add(new) {
            AddOutcome::Queued(_) => Some(key),
            AddOutcome::Replaced(id) => self.outbox.edit(id).map(|edit| edit.requested.key.clone()),
            AddOutcome::Cancelled(_) | AddOutcome::Nothing | AddOutcome::Gone => None,
        };
        self.expected.extend(arrives.map(|key| (key, body)));
        // Edits that were replaced need not arrive.
        let after = waiting(&self.outbox);
        self.expected.retain(|key, _| !before.contains(key) || after.contains(key));
    }

    /// Returns a resource that an application knows.
    fn known(&self, index: usize) -> Option<Location> {
        let pending = self.outbox.edits().map(|edit| edit.requested.resource.clone());
        let all: Vec<Location> = self.members.keys().cloned().chain(pending).collect();
        (!all.is_empty()).then(|| all[index % all.len()].clone())
    }

    fn send(&mut self, fate: Fate) {
        for id in self.outbox.due(self.now()) {
            let doubted = self.outbox.edit(id).unwrap().progress == Progress::Doubtful;
            let edit = self.outbox.mark_sending(id).unwrap().clone();
            // A doubtful edit is checked first.
            let arrived = self.carried_out.iter().any(|(_, key, _)| *key == edit.requested.key);
            let settlement = match fate {
                Fate::LostBefore => Settlement::Lost { perhaps_arrived: false },
                _ if doubted && arrived && !matches!(fate, Fate::CrashBefore) => self.done(&edit),
                Fate::Busy => Settlement::Later(None),
                Fate::NeedsCredentials => Settlement::NeedsCredentials,
                Fate::Refused => Settlement::Refused,
                // The application knew the member by two addresses and deleted it by the other one.
                _ if edit.requested.method != Method::Post
                    && !self.members.contains_key(&edit.requested.location) =>
                {
                    Settlement::Refused
                }
                Fate::CrashBefore => {
                    self.outbox = crashed(&self.outbox);
                    return;
                }
                Fate::Done | Fate::LostAfter | Fate::CrashAfter => {
                    self.carry_out(&edit);
                    match fate {
                        Fate::Done => self.done(&edit),
                        Fate::LostAfter => Settlement::Lost { perhaps_arrived: true },
                        _ => {
                            self.outbox = crashed(&self.outbox);
                            return;
                        }
                    }
                }
            };
            let ended = self.outbox.settle(id, settlement.clone(), self.now(), 0);
            if settlement == Settlement::Refused {
                self.errors.extend(
                    ended.edit.into_iter().chain(ended.dependents).map(|e| e.requested.key),
                );
            } else {
                assert!(ended.dependents.is_empty());
            }
        }
    }

    fn carry_out(&mut self, edit: &Edit<String>) {
        assert!(
            !self.carried_out.iter().any(|(_, key, _)| *key == edit.requested.key),
            "twice: {edit:?}"
        );
        self.carried_out.push((edit.id, edit.requested.key.clone(), edit.requested.body.clone()));
        match edit.requested.method {
            Method::Post => {
                let place = at(&format!("feed/{}", edit.id.0));
                self.members.insert(place.clone(), edit.requested.body.clone().unwrap());
                self.places.insert(edit.requested.resource.clone(), place);
            }
            Method::Put => {
                let member =
                    self.members.get_mut(&edit.requested.location).expect("a member to replace");
                member.clone_from(edit.requested.body.as_ref().unwrap());
            }
            Method::Delete => {
                self.members.remove(&edit.requested.location).expect("a member to remove");
            }
        }
    }

    fn done(&self, edit: &Edit<String>) -> Settlement {
        let member = (edit.requested.method == Method::Post)
            .then(|| self.places[&edit.requested.resource].clone());
        Settlement::Done { member, tag: Some(edit.requested.key.clone()) }
    }

    fn play(&mut self, happening: &Happening) {
        match happening {
            Happening::Post => self.add(post(&self.made.to_string())),
            Happening::Put(index) => {
                if let Some(resource) = self.known(*index) {
                    self.add(NewEdit {
                        resource: resource.clone(),
                        location: resource,
                        ..put("", "")
                    });
                }
            }
            Happening::Delete(index) => {
                if let Some(resource) = self.known(*index) {
                    self.add(NewEdit {
                        resource: resource.clone(),
                        location: resource,
                        ..delete("")
                    });
                }
            }
            Happening::Send(fate) => self.send(*fate),
            Happening::Later => self.now += 10_000_000,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Every acknowledged edit, or the edit that replaced it before it was sent, is carried out once and in
    /// its order. Otherwise it is among the errors.
    #[test]
    fn every_edit_arrives_once_and_in_order_or_is_an_error(script in vec(happening(), 1..60)) {
        let mut world = World::default();
        for happening in &script {
            world.play(happening);
        }
        for _ in 0..=script.len() {
            world.now += 10_000_000;
            world.outbox.release(Partition::public());
            world.send(Fate::Done);
        }
        prop_assert_eq!(world.outbox.edits().count(), 0, "it drains");
        let arrived: SortedMap<&String, &Option<String>> =
            world.carried_out.iter().map(|(_, key, body)| (key, body)).collect();
        for (key, body) in &world.expected {
            match arrived.get(key) {
                Some(carried_out) => prop_assert_eq!(*carried_out, body, "{} as it was last", key),
                None => prop_assert!(world.errors.contains(key), "{key} is lost"),
            }
        }
        for key in arrived.keys() {
            prop_assert!(world.expected.contains_key(*key), "{key} was never to arrive");
        }
        // Edits of one resource keep their order. Edits of other resources may pass an edit that is put off.
        let mut last: SortedMap<&Location, EditId> = SortedMap::new();
        for (id, key, _) in &world.carried_out {
            let resource = &world.resources[key];
            let before = last.insert(resource, *id);
            prop_assert!(before.is_none_or(|before| before < *id), "{key} after {before:?}");
        }
    }
}
