//! Messages for one client that follows the state: the present state first, and then its changes (BITSY 2.2).
//!
//! The first messages are `all`, an `error` for each open error, and `filled`. After that, the changes of the state
//! come before the event that caused them, so that a listener that queries the state finds them. Their names are
//! `subscription`, `subscription-gone`, `error`, `error-gone` and `outbox`. The events themselves are `state` and
//! `sync`. Past events are not repeated (2.2).

use serde_json::{Value, json};

use super::{Shows, subscription};
use crate::authentication::Partition;
use crate::collections::{SortedMap, SortedSet};
use crate::event::{ErrorId, SyncError};
use crate::interceptor::{
    Content, Entity, Event, EventKind, State, StoredSubscription, SubscriptionId,
};
use crate::location::Location;
use crate::outbox::{Edit, EditId, Progress};
use crate::subscription::state;

/// Decides which subscriptions a client may see.
pub trait Audience {
    /// Whether the client may see that a subscription exists.
    fn lists(&self, stored_subscription: &StoredSubscription) -> bool;

    /// Parts of a subscription that its view shows to the client. If its contents are visible, so are its events,
    /// errors and edits.
    fn shows(&self, stored_subscription: &StoredSubscription) -> Shows;

    /// Whether the client may see edits and errors of a partition and a feed.
    fn sees(&self, state: &State, partition: Partition, feed: &Location) -> bool;
}

/// Identifies the snapshot that a view comes from, because responses to requests may overtake messages.
#[derive(Debug, Clone, Copy)]
pub struct Stamp<'c> {
    /// Number of the snapshot.
    pub number: u64,
    /// Identifier of the counter. Numbers of different counters are not comparable.
    pub count: &'c str,
}

/// An error, and the identifiers of the subscriptions that it belongs to.
pub type VisibleError = (SyncError<Option<Content>>, Vec<String>);

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// A name and a value.
    Line(&'static str, Value),
    /// An error that was not sent yet, without its bytes.
    Error(Box<VisibleError>),
    /// An event that belongs to these subscriptions, without the bytes of its interaction.
    Event(Box<Event>, Vec<String>),
}

/// State that was sent last to one client.
#[derive(Debug, Default)]
pub struct Sent {
    now: Snapshot,
    /// Subscriptions that are gone but whose end no event has reported yet.
    leaving: SortedSet<SubscriptionId>,
}

#[derive(Debug, Default, PartialEq)]
struct Snapshot {
    subscriptions: SortedMap<SubscriptionId, Value>,
    errors: SortedSet<ErrorId>,
    edits: SortedMap<EditId, (u32, Progress, Option<Content>)>,
}

impl Stamp<'_> {
    /// Adds the stamp to a view.
    pub fn mark(self, view: &mut Value) {
        view["stamp"] = json!(self.number);
        view["count"] = json!(self.count);
    }
}

impl Sent {
    /// Messages with the whole present state, for a client that begins or begins again. `proxies` are the supported
    /// styles of proxies.
    pub fn all(
        &mut self,
        state: &State,
        audience: &impl Audience,
        proxies: &[&str],
        stamp: Stamp<'_>,
    ) -> Vec<Message> {
        let now = Snapshot::of(state, audience);
        let views = now.subscriptions.values().cloned().map(|mut view| {
            stamp.mark(&mut view);
            view
        });
        let mut all = json!({
            "subscriptions": views.collect::<Vec<_>>(),
            "errors": now.errors.iter().map(|id| id.0.to_string()).collect::<Vec<_>>(),
            "proxies": proxies,
        });
        stamp.mark(&mut all);
        let found = errors(state, audience, |_| true);
        self.now = now;
        self.leaving.clear();
        let mut messages = vec![Message::Line("all", all)];
        messages.extend(found.into_iter().map(|found| Message::Error(Box::new(found))));
        messages.push(Message::Line("filled", json!({})));
        messages
    }

    /// Messages with the differences to the state that was sent last, and with the event that caused them.
    pub fn differences(
        &mut self,
        state: &State,
        audience: &impl Audience,
        event: Option<&Event>,
        stamp: Stamp<'_>,
    ) -> Vec<Message> {
        let mut now = Snapshot::of(state, audience);
        let has_ended = event.is_some_and(is_end);
        let gone = self.gone(&mut now, has_ended);
        let before = &self.now;
        let mut messages = Vec::new();
        for (id, view) in &now.subscriptions {
            if before.subscriptions.get(id) != Some(view) {
                let mut view = view.clone();
                stamp.mark(&mut view);
                messages.push(Message::Line("subscription", view));
            }
        }
        let found = errors(state, audience, |id| !before.errors.contains(&id));
        messages.extend(found.into_iter().map(|found| Message::Error(Box::new(found))));
        for id in before.errors.difference(&now.errors) {
            messages.push(Message::Line("error-gone", json!({ "id": id.0.to_string() })));
        }
        if before.edits != now.edits {
            messages.push(Message::Line("outbox", json!({ "edits": now.edits.len() })));
        }
        if let Some(event) = event {
            let mut ids = touched(state, audience, event);
            if has_ended {
                ids.extend(&gone);
            }
            let ids: Vec<String> = ids.iter().map(|id| id.0.to_string()).collect();
            if !ids.is_empty() {
                messages.push(Message::Event(Box::new(event.clone()), ids));
            }
        }
        for id in gone {
            let mut view = json!({ "id": id.0.to_string() });
            stamp.mark(&mut view);
            messages.push(Message::Line("subscription-gone", view));
        }
        self.now = now;
        messages
    }

    /// The subscriptions that are gone and whose end was reported. A client that knew of an ended subscription gets
    /// its last event. The end may be visible before the event arrives; a subscription that merely became invisible
    /// has no such event.
    fn gone(&mut self, now: &mut Snapshot, has_ended: bool) -> Vec<SubscriptionId> {
        let is_gone = |id: &&SubscriptionId| !now.subscriptions.contains_key(id);
        let missing: Vec<SubscriptionId> =
            self.now.subscriptions.keys().filter(is_gone).copied().collect();
        let mut gone = Vec::new();
        for id in missing {
            if has_ended || !self.leaving.insert(id) {
                self.leaving.remove(&id);
                gone.push(id);
            } else if let Some(view) = self.now.subscriptions.get(&id) {
                now.subscriptions.insert(id, view.clone());
            }
        }
        gone
    }
}

impl Snapshot {
    fn of(state: &State, audience: &impl Audience) -> Self {
        let listed = state.stored_subscriptions().filter(|it| audience.lists(it));
        let view = |it: &StoredSubscription| (it.id, subscription(state, it, audience.shows(it)));
        let edits = state
            .edits()
            .filter(|edit| audience.sees(state, edit.requested.partition, &edit.requested.feed));
        let edit = |edit: &Edit<Entity>| {
            let body = edit.requested.body.as_ref().map(|body| body.content);
            (edit.id, (edit.tries, edit.progress.clone(), body))
        };
        Self {
            subscriptions: listed.map(view).collect(),
            errors: visible(state, audience).map(|error| error.id).collect(),
            edits: edits.map(edit).collect(),
        }
    }
}

/// The subscriptions of a partition and a feed whose contents a client may see. Events and errors of this partition
/// and feed belong to them.
pub fn ids(
    state: &State,
    audience: &impl Audience,
    (partition, feed): (Partition, &Location),
) -> Vec<SubscriptionId> {
    let of = state.stored_subscriptions().filter(|stored_subscription| {
        let subscription = &stored_subscription.subscription;
        subscription.partition() == partition && subscription.feed() == feed
    });
    of.filter(|it| audience.shows(it).contents).map(|it| it.id).collect()
}

/// The visible errors that `pick` selects, with their subscriptions.
pub fn errors(
    state: &State,
    audience: &impl Audience,
    pick: impl Fn(ErrorId) -> bool,
) -> Vec<VisibleError> {
    let picked = visible(state, audience).filter(|error| pick(error.id));
    let with = picked.map(|error| {
        let ids = ids(state, audience, (error.partition, &error.feed));
        (error.clone(), ids.into_iter().map(|id| id.0.to_string()).collect())
    });
    with.collect()
}

fn visible<'s>(
    state: &'s State,
    audience: &impl Audience,
) -> impl Iterator<Item = &'s SyncError<Option<Content>>> {
    state.errors().all().filter(|error| audience.sees(state, error.partition, &error.feed))
}

/// The subscriptions that an event concerns, as far as a client may see them.
fn touched(state: &State, audience: &impl Audience, event: &Event) -> Vec<SubscriptionId> {
    let of = state.stored_subscriptions().filter(|stored_subscription| {
        let subscription = &stored_subscription.subscription;
        (subscription.partition(), subscription.feed()) == (event.partition, &event.feed)
    });
    let may = |it: &&StoredSubscription| match &event.kind {
        EventKind::State(_) => audience.lists(it),
        EventKind::Sync(_) => audience.shows(it).contents,
    };
    of.filter(may).map(|it| it.id).collect()
}

fn is_end(event: &Event) -> bool {
    matches!(&event.kind, EventKind::State(change) if change.state == state::State::Closed)
}
