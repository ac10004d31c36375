//! Open pages, the subscriptions that they use, and messages for them.

use std::collections::VecDeque;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::collections::{SortedMap, SortedSet};
use feedsync_bitsy::event::Interaction;
use feedsync_bitsy::interceptor::{
    self as bitsy, Content, EventKind, StoredSubscription, SubscriptionId,
};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::subscription::Holder;
use feedsync_bitsy::subscription::state::State;
use feedsync_bitsy::view::{self, Audience, Message, Sent, Shows, Stamp};
use http::header::{COOKIE, HeaderValue};
use serde_json::{Value, json};

use super::{CommandError, Worker, values};
use crate::codec::{Damaged, Fields};
use crate::engine::Circumstances;
use crate::store::{self, ReadError};

/// Maximum size of bytes that are included in a message, in bytes. Larger ones are requested separately.
const MAX_INLINE_BYTES: u64 = 1 << 20;

/// Maximum number of waiting edits that a page is told of.
const MAX_LISTED_EDITS: usize = 100;

/// Kind of the rows that say which page uses which subscription.
const HOLD: &str = "hold";

/// Maximum number of subscriptions that the pages of the application use.
const MAX_HOLDS: usize = 1_000;

/// Open pages, and which page uses which subscription.
#[derive(Debug, Default)]
pub(super) struct Pages {
    open: SortedMap<String, Page>,
    holds: SortedMap<u64, Hold>,
    /// Rows that are written with the next step.
    rows: SortedMap<String, Option<String>>,
    /// Number of snapshots; it orders two views.
    snapshots: u64,
    /// Identifier of the counter, which begins again with each start of the worker.
    count: String,
    waiting: VecDeque<(String, Message)>,
    ready: Vec<Value>,
}

#[derive(Debug, Default)]
struct Page {
    sent: Sent,
    identity: Identity,
    /// Waiting edits that the page was told of last.
    outbox: Value,
}

/// A subscription that a page uses.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Hold {
    page: String,
    subscription: u64,
}

/// Person that a page works for, by the name that the page chose.
#[derive(Debug, Clone, Default)]
pub(super) struct Identity(Option<HeaderValue>);

impl Identity {
    /// Reads the member `partition` of a command.
    pub(super) fn read(of: Fields<'_>) -> Result<Self, Damaged> {
        let name = of.optional_text("partition")?;
        Ok(Self(name.map(values::partition_cookie).transpose()?))
    }

    /// Cookie by which requests with the credentials of the person are told apart.
    pub(super) fn cookie(&self) -> Option<&HeaderValue> {
        self.0.as_ref()
    }
}

/// A page sees the subscriptions without an identity, and those with its own.
impl Audience for Identity {
    fn lists(&self, stored_subscription: &StoredSubscription) -> bool {
        let subscription = &stored_subscription.subscription;
        let cookie = subscription.registered().get(&COOKIE);
        let is_theirs = cookie.is_none() || cookie == self.0.as_ref();
        is_theirs && subscription.state() != State::Closed
    }

    fn shows(&self, stored_subscription: &StoredSubscription) -> Shows {
        let cookie = stored_subscription.subscription.registered().get(&COOKIE);
        let contents = cookie.is_none() || cookie == self.0.as_ref();
        Shows { contents, secrets: contents }
    }

    /// Edits and errors of subscriptions that have ended are shown to everybody, because they must be shown to
    /// somebody, and all pages are of one origin. Those of another person's subscription are not.
    fn sees(&self, state: &bitsy::State, partition: Partition, _: &Location) -> bool {
        self.sees_partition(state, partition)
    }
}

impl Identity {
    /// Whether data of a partition are shown to pages of the person.
    pub(super) fn sees_partition(&self, state: &bitsy::State, partition: Partition) -> bool {
        let mut of = state.stored_subscriptions().filter(|stored_subscription| {
            stored_subscription.subscription.partition() == partition
        });
        of.all(|stored_subscription| self.shows(stored_subscription).contents)
    }
}

impl Pages {
    /// Reads which pages use which subscriptions.
    pub(super) fn restored(rows: &SortedMap<String, String>) -> Self {
        let mut pages = Self::default();
        pages.restore(rows);
        pages
    }

    /// Rows that cannot be read are reported by the [`Engine`](crate::engine::Engine).
    pub(super) fn restore(&mut self, rows: &SortedMap<String, String>) {
        self.rows.clear();
        self.holds.clear();
        for (key, text) in rows.iter().filter(|(key, _)| store::kind_of(key) == Some(HOLD)) {
            self.holds.extend(store::number_of(key).zip(hold(key, text).ok()));
        }
    }

    /// Takes the rows that changed.
    pub(super) fn take_rows(&mut self) -> SortedMap<String, Option<String>> {
        std::mem::take(&mut self.rows)
    }

    pub(super) fn hold(&mut self, page: &str, id: SubscriptionId, Holder(holder): Holder) {
        let hold = Hold { page: page.to_owned(), subscription: id.0 };
        let row = json!({ "page": hold.page, "subscription": hold.subscription });
        let key = key(holder);
        let text = store::text_of(&key, &row);
        self.rows.insert(key, Some(text));
        self.holds.insert(holder, hold);
    }

    pub(super) fn is_below_limit(&self) -> bool {
        self.holds.len() < MAX_HOLDS
    }

    /// Holds of a subscription by a page.
    pub(super) fn own(&self, page: &str, id: SubscriptionId) -> Vec<Holder> {
        self.select(id, |hold| hold.page == page)
    }

    /// Holds of a subscription by pages that were closed. `open` are the pages that exist.
    pub(super) fn left(&self, open: &SortedSet<&str>, id: SubscriptionId) -> Vec<Holder> {
        self.select(id, |hold| !open.contains(&*hold.page))
    }

    /// Holds of a subscription by all pages.
    pub(super) fn all_of(&self, id: SubscriptionId) -> Vec<Holder> {
        self.select(id, |_| true)
    }

    fn select(&self, id: SubscriptionId, pick: impl Fn(&Hold) -> bool) -> Vec<Holder> {
        let of = self.holds.iter().filter(|(_, hold)| hold.subscription == id.0 && pick(hold));
        of.map(|(holder, _)| Holder(*holder)).collect()
    }

    pub(super) fn release(&mut self, holders: &[Holder]) {
        for Holder(holder) in holders {
            if self.holds.remove(holder).is_some() {
                self.rows.insert(key(*holder), None);
            }
        }
    }

    /// Marks the view of a subscription with the number of a new snapshot. The cookie that names a person is hidden.
    pub(super) fn mark(&mut self, view: &mut Value) {
        hide_identity(view);
        self.snapshots += 1;
        Stamp { number: self.snapshots, count: &self.count }.mark(view);
    }
}

impl Worker {
    /// Notes that a page follows the state. Its first messages are the whole state.
    pub(super) fn connect(&mut self, of: Fields<'_>) -> Result<Value, CommandError> {
        let identity = Identity::read(of)?;
        let name = of.text("page")?.to_owned();
        let Self { engine, pages, .. } = self;
        if pages.count.is_empty() {
            pages.count = of.text("random")?.to_owned();
        }
        pages.snapshots += 1;
        let stamp = Stamp { number: pages.snapshots, count: &pages.count };
        let mut sent = Sent::default();
        // A worker emulates no proxy for pages of other origins, because it serves its own origin only.
        let messages = sent.all(engine.state(), &identity, &[], stamp);
        pages.waiting.retain(|(page, _)| *page != name);
        pages.waiting.extend(messages.into_iter().map(|message| (name.clone(), message)));
        let problems = self.problems.visible(&identity, engine.state());
        let problems = problems.map(|(number, it)| Message::Line("problem", it.view(number)));
        pages.waiting.extend(problems.map(|message| (name.clone(), message)));
        let outbox = edits_of(engine.state(), &identity);
        pages.waiting.push_back((name.clone(), Message::Line("outbox", outbox.clone())));
        pages.open.insert(name, Page { sent, identity, outbox });
        Ok(Value::Null)
    }

    /// Notes that a page was closed.
    pub(super) fn disconnect(&mut self, of: Fields<'_>) -> Result<Value, CommandError> {
        let name = of.text("page")?;
        self.pages.open.remove(name);
        self.pages.waiting.retain(|(page, _)| page != name);
        Ok(Value::Null)
    }

    /// Notes that the step of the last command is committed, and queues messages for the pages.
    pub(super) fn committed(&mut self) -> Value {
        let events = self.engine.committed();
        let Self { engine, pages, .. } = self;
        let each = events.iter().map(Some).chain(events.is_empty().then_some(None));
        for event in each {
            pages.snapshots += 1;
            let stamp = Stamp { number: pages.snapshots, count: &pages.count };
            for (name, Page { sent, identity, .. }) in &mut pages.open {
                let messages = sent.differences(engine.state(), identity, event, stamp);
                pages.waiting.extend(messages.into_iter().map(|message| (name.clone(), message)));
            }
        }
        let news = self.problems.news();
        for (name, Page { identity, outbox, .. }) in &mut pages.open {
            for (number, problem) in &news {
                let message = match problem {
                    Some(it) if it.is_visible(identity, engine.state()) => {
                        Message::Line("problem", it.view(*number))
                    }
                    Some(_) => continue,
                    None => Message::Line("problem-gone", json!({ "id": number.to_string() })),
                };
                pages.waiting.push_back((name.clone(), message));
            }
            let edits = edits_of(engine.state(), identity);
            if *outbox != edits {
                pages.waiting.push_back((name.clone(), Message::Line("outbox", edits.clone())));
                *outbox = edits;
            }
        }
        Value::Null
    }

    /// Takes the messages that wait for pages: lists of a page, a name and a value.
    pub(super) fn messages(&mut self, with: Circumstances) -> Result<Value, CommandError> {
        while let Some((page, message)) = self.pages.waiting.front().cloned() {
            let ready = self.told(&message, with)?;
            self.pages.waiting.pop_front();
            let ready = ready.into_iter().map(|(name, value)| json!([page, name, value]));
            self.pages.ready.extend(ready);
        }
        Ok(Value::Array(std::mem::take(&mut self.pages.ready)))
    }

    fn told(
        &self,
        message: &Message,
        with: Circumstances,
    ) -> Result<Vec<(&'static str, Value)>, ReadError> {
        Ok(match message {
            Message::Line(name, value) => {
                let mut value = value.clone();
                hide_identity(&mut value);
                let listed = value.get_mut("subscriptions").and_then(Value::as_array_mut);
                listed.into_iter().flatten().for_each(hide_identity);
                vec![(*name, value)]
            }
            Message::Error(found) => {
                let (error, ids) = &**found;
                let view = view::error(error, ids);
                vec![("error", self.with_entities(&error.interaction, view, with)?)]
            }
            Message::Event(event, ids) => match &event.kind {
                EventKind::State(change) => {
                    let views = view::state_changes(change, ids);
                    views.into_iter().map(|view| ("state", view)).collect()
                }
                EventKind::Sync(interaction) => {
                    let view = view::interaction(interaction, ids);
                    vec![("sync", self.with_entities(interaction, view, with)?)]
                }
            },
        })
    }

    /// Adds the bytes of an interaction to its view: as text if they are UTF-8, otherwise in Base64.
    pub(super) fn with_entities(
        &self,
        of: &Interaction<Option<Content>>,
        mut view: Value,
        with: Circumstances,
    ) -> Result<Value, ReadError> {
        for (name, content) in [("request", of.request_body), ("response", of.response_body)] {
            let Some(content) = content else { continue };
            view[name] = self.entity(content, with)?;
        }
        Ok(view)
    }

    /// View of a content. Bytes that are gone are omitted.
    pub(super) fn entity(&self, content: Content, with: Circumstances) -> Result<Value, ReadError> {
        let view = json!({ "length": content.length });
        if content.length > MAX_INLINE_BYTES {
            return Ok(view);
        }
        match self.loaded(&content, with) {
            Ok(bytes) => Ok(view::with_bytes(view, bytes)),
            Err(ReadError::Lost(_)) => Ok(view),
            Err(error) => Err(error),
        }
    }
}

/// The waiting edits that a page sees, as far as it needs them to say what is lost if the browser deletes the store.
fn edits_of(state: &bitsy::State, identity: &Identity) -> Value {
    let edits = state
        .edits()
        .filter(|edit| identity.sees(state, edit.requested.partition, &edit.requested.feed));
    let view = |edit| {
        let view = view::edit(edit, &state.edit_status(edit));
        json!({ "method": view["method"], "location": view["location"] })
    };
    edits.take(MAX_LISTED_EDITS).map(view).collect()
}

/// Removes the cookie that names a person from the view of a subscription.
fn hide_identity(view: &mut Value) {
    if let Some(headers) = view.get_mut("headers").and_then(Value::as_array_mut) {
        headers.retain(|header| header["name"] != "Cookie");
    }
}

fn hold(key: &str, text: &str) -> Result<Hold, Damaged> {
    let value = store::read(key, text)?;
    let of = Fields(&value);
    Ok(Hold { page: of.text("page")?.to_owned(), subscription: of.number("subscription")? })
}

fn key(holder: u64) -> String {
    store::numbered(HOLD, holder)
}
