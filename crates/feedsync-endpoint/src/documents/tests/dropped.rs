//! Databases that are dropped and kept for their history.

use feedsync_store::{Dropped, Environment as _, Epoch, History, MAX_AHEAD};

use super::history::{PastRoom, all, contents};
use super::*;
use crate::documents::history::{MIN_LOST_DOCUMENTS, RestoreRequest, RestoreSummary};

impl PastRoom {
    fn drop_database(&self, author: Option<&str>) -> bool {
        let database = self.database();
        self.pass(1);
        let dropped = self.room.endpoint.drop_database(&database, author.map(Arc::from));
        wait(dropped).unwrap()
    }

    fn create(&self) {
        self.pass(1);
        let created =
            wait(self.room.databases.create_database(&self.room.name, Default::default())).unwrap();
        assert!(created.is_some(), "the name is free");
        self.keep(History::Kept { seconds: feedsync_store::HISTORY_SECONDS });
    }

    fn kept(&self) -> Vec<Database> {
        wait(self.room.endpoint.dropped_databases(Some(&self.room.name))).unwrap()
    }

    fn undrop(&self, kept: &Database) -> bool {
        wait(self.room.endpoint.undrop_database(kept)).unwrap()
    }

    /// The database that had the name at a moment.
    fn at(&self, moment: Moment) -> Option<Epoch> {
        let found = wait(self.room.endpoint.database_at(&self.room.name, moment)).unwrap();
        found.map(|database| database.epoch)
    }

    fn is_there(&self) -> bool {
        wait(self.room.databases.database(&self.room.name)).unwrap().is_some()
    }
}

const ATTACHED: &str =
    ",\"_attachments\":{\"x\":{\"content_type\":\"text/plain\",\"data\":\"SGk=\"}}";

#[test]
fn dropped_database_comes_back_as_it_was() {
    let past = PastRoom::new();
    past.put("a", ",\"n\":1");
    let early = past.now();
    past.put("a", ",\"n\":2");
    past.put("b", ATTACHED);
    past.put("gone", ",\"_deleted\":true");
    past.room.write(&["{\"_id\":\"a\",\"_rev\":\"2-conflict\"}"], Edits::Replicated).unwrap();
    let (before, changes) = (past.database(), past.room.changes());
    let documents = contents(&past.room);
    assert!(past.drop_database(Some("ada")));
    assert!(!past.is_there());
    let kept = past.kept().remove(0);
    let dropped = kept.dropped.clone().unwrap();
    assert_eq!((dropped.name, dropped.author.as_deref()), (past.room.name.clone(), Some("ada")));
    assert!(
        Dropped::is_kept_name(&kept.name) && !Dropped::is_kept_name(&past.room.name),
        "{}",
        kept.name
    );
    // Another database may have the name meanwhile.
    past.create();
    assert!(!past.undrop(&kept), "the name is taken");
    assert_eq!(past.kept(), std::slice::from_ref(&kept));
    assert!(!past.drop_database(None), "one that was never written to is not kept");
    assert!(past.undrop(&kept));
    let Database { named, .. } = past.database();
    assert!(named > before.named, "it has the name again from now on");
    assert_eq!((past.database(), past.room.changes()), (Database { named, ..before }, changes));
    assert_eq!((contents(&past.room), past.kept()), (documents, Vec::new()));
    assert_eq!(past.restore(&all(early)).restored, 1, "its history is known");
    assert!(!past.undrop(&past.database()), "it is not dropped");
}

/// As a device does it that replaces the database of all devices: it drops the database, creates it again, and writes its own
/// documents.
#[test]
fn documents_of_a_former_database_are_restored_into_the_new_one() {
    let past = PastRoom::new();
    past.put("same", ",\"n\":1");
    past.put("changed", ",\"n\":1");
    past.put("lost", ATTACHED);
    past.put("late", ",\"n\":0");
    let before = contents(&past.room);
    let moment = past.now();
    past.put("late", ",\"n\":1");
    past.put("later", ",\"n\":1");
    let last = contents(&past.room);
    assert!(past.drop_database(None));
    past.create();
    past.put("same", ",\"n\":1");
    past.put("changed", ",\"n\":2");
    past.put("later", ",\"n\":2");
    past.put("new", ",\"n\":2");
    let now = contents(&past.room);
    let trial = past.restore(&RestoreRequest { is_trial: true, ..all(moment) });
    let expected =
        RestoreSummary { restored: 3, unchanged: 1, deleted: 2, ..RestoreSummary::default() };
    assert_eq!((trial, contents(&past.room)), (expected.clone(), now.clone()));
    let ids = ["lost", "new", "none"].map(|id| id.parse().unwrap()).to_vec();
    let some = RestoreRequest { documents: Some(ids), deletes_newer: false, ..all(moment) };
    let restored = past.restore(&some);
    assert_eq!((restored.restored, restored.newer, restored.deleted), (1, 1, 0));
    let rest = past.restore(&all(moment));
    assert_eq!(rest, RestoreSummary { restored: 2, unchanged: 2, ..expected });
    assert_eq!(contents(&past.room), before, "with attachments");
    // The moment of the drop has the last state.
    let kept = past.kept().remove(0);
    let moment = kept.dropped.clone().unwrap().moment;
    let writer = past.room.endpoint.documents_writer(Author::SERVER);
    let request = RestoreRequest { deletes_newer: false, ..all(moment) };
    let restored = wait(writer.restore(&past.database(), &kept, &request)).unwrap();
    assert_eq!((restored.restored, restored.deleted), (2, 0));
    assert_eq!(contents(&past.room), last);
    // The restore itself can be undone.
    let moment = past.database().past.last.previous();
    assert!(past.restore(&all(moment)).restored > 0);
}

/// A database that was brought back does not hide the one that had its name meanwhile.
#[test]
fn database_that_was_brought_back_has_its_name_from_then_on() {
    let past = PastRoom::new();
    past.put("a", ",\"n\":1");
    let (first, early) = (past.database().epoch, past.now());
    assert!(past.drop_database(None));
    past.create();
    past.put("b", ",\"n\":1");
    let (second, between) = (past.database().epoch, past.now());
    assert!(past.drop_database(None));
    assert_eq!((past.at(early), past.at(between)), (Some(first), Some(second)));
    let kept = past.kept();
    assert!(past.undrop(&kept[1]));
    for _ in 0..2 {
        past.put("a", ",\"n\":2");
        assert_eq!((past.at(early), past.at(between)), (Some(first), Some(second)));
        assert_eq!(past.at(past.now()), Some(first));
        assert!(past.drop_database(None));
        let kept = past.kept();
        assert!(past.undrop(kept.iter().find(|it| it.epoch == first).unwrap()));
    }
}

/// A database whose name a collection has by now would be taken for its mirror.
#[test]
fn database_does_not_come_back_beside_a_collection() {
    let past = PastRoom::new();
    past.put("a", ",\"n\":1");
    assert!(past.drop_database(None));
    let name = past.room.name.as_str().parse().unwrap();
    let new = feedsync_store::NewCollection {
        name,
        title: "notes".to_owned(),
        format: feedsync_core::Format::Atom,
        settings: Default::default(),
    };
    wait(past.room.endpoint.create_collection(new)).unwrap();
    assert!(!past.undrop(&past.kept()[0]));
}

#[test]
fn former_databases_are_found_by_the_moment() {
    let past = PastRoom::new();
    let mut lives = Vec::new();
    for _ in 0..4 {
        past.pass(5);
        let begin = past.database().created;
        past.put("a", ",\"n\":1");
        let end = past.now();
        lives.push((past.database().epoch, begin, end));
        assert!(past.drop_database(None));
        past.create();
    }
    let present = past.database().epoch;
    for (epoch, begin, end) in &lives {
        assert_eq!((past.at(*begin), past.at(*end)), (Some(*epoch), Some(*epoch)));
    }
    assert_eq!(past.at(past.now()), Some(present));
    assert_eq!(past.at(lives[0].1.previous()), Some(present), "before all of them");
    let epochs: Vec<_> = past.kept().iter().map(|kept| kept.epoch).collect();
    assert!(epochs.iter().eq(lives.iter().rev().map(|(epoch, ..)| epoch)), "the last one first");
    let all = wait(past.room.endpoint.dropped_databases(None)).unwrap();
    assert_eq!(all.len(), 4);
    past.put("a", ",\"n\":1");
    assert!(past.drop_database(None));
    assert_eq!(past.at(past.clock.now()), None, "nothing has the name");
}

/// Names that leave no space for an epoch are cut, and databases whose names are equal then are told apart.
#[test]
fn databases_with_long_names_are_kept() {
    let mut past = PastRoom::new();
    let names = ["a", "b"].map(|end| format!("{}{end}", "n".repeat(237)));
    for name in &names {
        past.room.name = name.parse().unwrap();
        past.create();
        past.put("a", &format!(",\"n\":\"{name}\""));
        assert!(past.drop_database(None));
    }
    for name in &names {
        past.room.name = name.parse().unwrap();
        let kept = past.kept();
        assert_eq!(kept.len(), 1);
        assert!(past.undrop(&kept[0]));
        assert!(contents(&past.room)["a"].0.contains(name));
    }
}

#[test]
fn dropped_databases_expire_with_their_history() {
    let past = PastRoom::new();
    past.put("a", ",\"n\":1");
    assert!(past.drop_database(None));
    past.pass(feedsync_store::HISTORY_SECONDS - 10);
    wait(past.room.endpoint.expire_histories()).unwrap();
    assert_eq!(past.kept().len(), 1);
    past.pass(11);
    wait(past.room.endpoint.expire_histories()).unwrap();
    assert_eq!(past.kept(), []);
}

#[test]
fn databases_without_a_history_are_dropped_for_good() {
    let past = PastRoom::new();
    past.put("a", ",\"n\":1");
    past.keep(History::Off);
    assert!(!past.drop_database(None));
    assert!(!past.is_there());
    assert_eq!(wait(past.room.endpoint.dropped_databases(None)).unwrap(), []);
}

/// A clock that was ahead when the database was written to does not hide its last state.
#[test]
fn last_state_is_known_after_the_clock_went_back() {
    let past = PastRoom::new();
    past.put("a", ",\"n\":1");
    let last = contents(&past.room);
    let ahead = MAX_AHEAD.as_secs() / 2;
    past.clock.0.fetch_sub(ahead * 1_000_000, std::sync::atomic::Ordering::Relaxed);
    assert!(past.drop_database(None));
    past.create();
    let kept = past.kept().remove(0);
    let request = all(kept.dropped.clone().unwrap().moment);
    let writer = past.room.endpoint.documents_writer(Author::SERVER);
    wait(writer.restore(&past.database(), &kept, &request)).unwrap();
    assert_eq!(contents(&past.room), last);
}

#[test]
fn dropped_database_is_a_mass_loss_for_an_hour() {
    for (count, seconds, is_loss) in
        [(MIN_LOST_DOCUMENTS, 10, true), (MIN_LOST_DOCUMENTS - 1, 10, false), (90, 3_601, false)]
    {
        let past = PastRoom::new();
        let new = |at: u64| format!("{{\"_id\":\"{at:03}\"}}");
        past.write_as(None, &(0..count).map(new).collect::<Vec<_>>());
        past.pass(7_200);
        assert!(past.drop_database(None));
        past.pass(seconds);
        let loss = wait(past.room.endpoint.mass_loss(&past.kept()[0].name)).unwrap();
        assert_eq!(loss.map(|loss| (loss.existed, loss.lost)), is_loss.then_some((count, count)));
    }
}
