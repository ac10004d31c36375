//! Edits in the outbox: growing delays, responses that put them off, and their bases (BITSY 3.5).

use std::time::Duration;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::outbox::{AddOutcome, EditId, NewEdit, Outbox, Progress, Settlement};
use feedsync_bitsy::propagation::Method;
use feedsync_bitsy::time::Time;
use http::StatusCode;

use crate::desk::at;

const NOW: Time = Time::from_millis(1_000_000);
const OTHER: Partition = Partition::of_bytes([7; 32]);

fn url(path: &str) -> String {
    format!("http://example.org/{path}")
}

/// A PUT of a resource with an entity tag as its base.
fn put(resource: &str) -> NewEdit<String> {
    NewEdit {
        partition: Partition::public(),
        method: Method::Put,
        location: at(&url(resource)),
        resource: at(&url(resource)),
        queue: at(&url("feed")),
        feed: at(&url("feed")),
        previous: Some("before".to_owned()),
        is_conditional: false,
        generation: 1,
        base: Some("\"e1\"".to_owned()),
        body: Some(resource.to_owned()),
        slug: None,
        key: resource.to_owned(),
    }
}

fn added(outbox: &mut Outbox<String>, new: NewEdit<String>) -> EditId {
    match outbox.add(new) {
        AddOutcome::Queued(id) => id,
        added => panic!("{added:?}"),
    }
}

fn later(outbox: &mut Outbox<String>, id: EditId, until: Option<Time>, random: u64) -> Time {
    outbox.mark_sending(id);
    outbox.settle(id, Settlement::Later(until), NOW, random);
    match outbox.edit(id).unwrap().progress {
        Progress::Waiting { until } => until,
        ref progress => panic!("{progress:?}"),
    }
}

#[test]
fn delay_before_an_edit_doubles_from_a_second_to_an_hour() {
    let mut outbox = Outbox::default();
    let id = added(&mut outbox, put("a"));
    let pauses: Vec<u64> =
        (0..20).map(|_| later(&mut outbox, id, None, u64::MAX).since(NOW).as_secs()).collect();
    let doubled = (0..12).map(|power| 1 << power);
    assert_eq!(pauses[..12], doubled.collect::<Vec<u64>>());
    assert_eq!(pauses[12..], [3_600; 8]);
    // Up to half of the delay is random.
    assert_eq!(later(&mut outbox, id, None, 0).since(NOW), Duration::from_secs(1_800));
    assert_eq!(later(&mut outbox, id, None, u64::MAX / 2).since(NOW), Duration::from_secs(2_700));
}

#[test]
fn server_extends_a_delay_and_does_not_shorten_it() {
    let mut outbox = Outbox::default();
    let id = added(&mut outbox, put("a"));
    let far = NOW.after(Duration::from_secs(99));
    assert_eq!(later(&mut outbox, id, Some(far), u64::MAX), far);
    let near = NOW.after(Duration::from_millis(1));
    assert_eq!(later(&mut outbox, id, Some(near), u64::MAX), NOW.after(Duration::from_secs(2)));
}

#[test]
fn first_edit_that_is_put_off_wakes_the_outbox() {
    let mut outbox = Outbox::default();
    let ids = ["a", "b"].map(|resource| added(&mut outbox, put(resource)));
    assert_eq!(outbox.next_wake(NOW), None);
    let times = [20, 30].map(|seconds| NOW.after(Duration::from_secs(seconds)));
    for (id, until) in ids.into_iter().zip(times) {
        later(&mut outbox, id, Some(until), 0);
    }
    assert_eq!(outbox.next_wake(NOW), Some(times[0]));
    assert_eq!(outbox.due(NOW), []);
    assert_eq!(outbox.next_wake(times[0]), Some(times[1]), "the first may leave now");
    assert_eq!(outbox.due(times[0]), [ids[0]]);
    let again = Outbox::restored(outbox.edits().cloned().collect::<Vec<_>>(), outbox.next());
    assert_eq!(again, outbox);
    assert_eq!(again.next_wake(NOW), Some(times[0]));
    assert!(outbox.release_one(ids[0]) && !outbox.release_one(ids[0]));
    assert_eq!(outbox.next_wake(NOW), Some(times[1]));
    outbox.discard(ids[1]);
    assert_eq!(outbox.next_wake(NOW), None);
}

#[test]
fn queue_moves_while_an_edit_in_it_is_neither_put_off_nor_held() {
    let mut outbox = Outbox::default();
    let (public, queue) = (Partition::public(), at(&url("feed")));
    let state =
        |outbox: &Outbox<String>, whose| (outbox.waits(whose, &queue), outbox.moves(whose, &queue));
    assert_eq!(state(&outbox, public), (false, false));
    let id = added(&mut outbox, put("a"));
    assert_eq!(state(&outbox, public), (true, true));
    assert_eq!(state(&outbox, OTHER), (false, false));
    later(&mut outbox, id, None, 0);
    assert_eq!(state(&outbox, public), (true, false));
    for (settlement, moves) in [
        (Settlement::NeedsCredentials, false),
        (Settlement::Accepted, true),
        (Settlement::Lost { perhaps_arrived: true }, true),
        (Settlement::Lost { perhaps_arrived: false }, true),
    ] {
        outbox.settle(id, settlement, NOW, 0);
        assert_eq!(state(&outbox, public), (true, moves));
    }
    outbox.discard(id);
    assert_eq!(state(&outbox, public), (false, false));
}

#[test]
fn stall_keeps_the_first_time_and_the_last_status() {
    let mut outbox = Outbox::default();
    let id = added(&mut outbox, put("a"));
    outbox.stall(id, StatusCode::SERVICE_UNAVAILABLE, None, NOW);
    let later = NOW.after(Duration::from_secs(60));
    outbox.stall(id, StatusCode::UNAUTHORIZED, Some(ErrorId(3)), later);
    let stall = outbox.edit(id).unwrap().stall.unwrap();
    assert_eq!((stall.since, stall.status), (NOW, StatusCode::UNAUTHORIZED));
    assert_eq!(stall.error, Some(ErrorId(3)));
    outbox.settle(id, Settlement::NeedsCredentials, later, 0);
    assert!(outbox.edit(id).unwrap().stall.is_some());
    // Credentials of another partition release nothing.
    assert_eq!(outbox.release(OTHER), []);
    assert_eq!(outbox.release(Partition::public()), [id]);
    assert_eq!(outbox.edit(id).unwrap().stall, None);
    assert_eq!(outbox.release(Partition::public()), []);
    outbox.stall(id, StatusCode::SERVICE_UNAVAILABLE, None, NOW);
    outbox.settle(id, Settlement::Accepted, NOW, 0);
    assert_eq!(outbox.edit(id).unwrap().stall, None);
}

#[test]
fn edit_sent_twice_is_doubtful_when_released() {
    for (times, progress) in [(1, Progress::Queued), (2, Progress::Doubtful)] {
        let mut outbox = Outbox::default();
        let id = added(&mut outbox, put("a"));
        for _ in 0..times {
            later(&mut outbox, id, None, 0);
        }
        assert!(outbox.release_one(id));
        assert_eq!(outbox.edit(id).unwrap().progress, progress, "{times}");
        let mut outbox = Outbox::default();
        let id = added(&mut outbox, put("a"));
        for _ in 0..times {
            outbox.mark_sending(id);
            outbox.settle(id, Settlement::Lost { perhaps_arrived: false }, NOW, 0);
        }
        assert_eq!(outbox.edit(id).unwrap().progress, progress, "{times}");
    }
}

#[test]
fn base_of_an_edit_can_be_replaced_or_removed() {
    let mut outbox = Outbox::default();
    let id = added(&mut outbox, put("a"));
    outbox.rebase(id, "\"e2\"".to_owned(), "theirs".to_owned());
    let made_on = |outbox: &Outbox<String>| {
        let requested = &outbox.edit(id).unwrap().requested;
        (requested.base.clone(), requested.previous.clone())
    };
    assert_eq!(made_on(&outbox), (Some("\"e2\"".to_owned()), Some("theirs".to_owned())));
    outbox.forget_previous(id);
    assert_eq!(made_on(&outbox), (Some("\"e2\"".to_owned()), None));
    outbox.renew(id, 5);
    assert_eq!(outbox.edit(id).unwrap().requested.generation, 5);
    outbox.mark_sending(id);
    outbox.renew(id, 6);
    assert_eq!(outbox.edit(id).unwrap().requested.generation, 5, "it was sent");
}

#[test]
fn deletion_after_an_unsent_put_has_the_same_base() {
    let mut outbox = Outbox::default();
    added(&mut outbox, put("a"));
    let deletion = |base: &str| NewEdit {
        method: Method::Delete,
        body: None,
        base: Some(base.to_owned()),
        ..put("a")
    };
    let id = added(&mut outbox, deletion("\"local\""));
    assert_eq!(outbox.edit(id).unwrap().requested.base.as_deref(), Some("\"e1\""));
    assert_eq!(outbox.edits().count(), 1);
    // A deletion after a sent PUT waits until its result is known.
    let mut outbox = Outbox::default();
    let first = added(&mut outbox, put("a"));
    outbox.mark_sending(first);
    let id = added(&mut outbox, deletion("\"local\""));
    assert_eq!(outbox.edit(id).unwrap().requested.base, None);
    let done = Settlement::Done { member: None, tag: Some("\"e2\"".to_owned()) };
    assert_eq!(outbox.settle(first, done, NOW, 0).changed, [id]);
    assert_eq!(outbox.edit(id).unwrap().requested.base.as_deref(), Some("\"e2\""));
    assert_eq!(outbox.edit(id).unwrap().requested.previous.as_deref(), Some("a"));
}

#[test]
fn edits_of_a_resource_are_separated_by_partition() {
    let mut outbox = Outbox::default();
    let mine = added(&mut outbox, put("a"));
    let theirs = added(&mut outbox, NewEdit { partition: OTHER, ..put("a") });
    let other = added(&mut outbox, put("b"));
    let at_a = at(&url("a"));
    assert_eq!(outbox.at(&at_a).map(|edit| edit.id).collect::<Vec<_>>(), [mine, theirs]);
    assert_eq!(outbox.last(OTHER, &at_a).map(|edit| edit.id), Some(theirs));
    let queue = at(&url("feed"));
    let on = |whose| outbox.on(whose, &queue).map(|edit| edit.id).collect::<Vec<_>>();
    assert_eq!((on(Partition::public()), on(OTHER)), (vec![mine, other], vec![theirs]));
    assert!(outbox.is_first(outbox.edit(theirs).unwrap()));
    assert_eq!(outbox.due(NOW), [mine, theirs], "one of each line");
    outbox.mark_sending(mine);
    assert_eq!(outbox.due(NOW), [theirs], "a line sends one at a time");
}
