//! Rows of the state in memory, which are loaded at the start.

use std::collections::HashMap;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::collections::SortedMap;
use feedsync_bitsy::interceptor::{Attempt, Change, Content, Counters, Entity, Policy, Rows};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::outbox::Edit;
use serde_json::{Value, json};

use super::key::{self, numbered};
use super::loaded::DamagedRows;
use super::row::{self, STATE};
use crate::codec::{
    self, Damaged, Fields, content_value, edit_value, error_value, partition_text, shown_value,
    subscription_value,
};

/// Key of the row of the counters.
const COUNTERS: &str = "s/counters";

/// Keys of the rows of the state, and the contents that they refer to.
#[derive(Debug, Default)]
pub(super) struct StateRows {
    contents: HashMap<String, Vec<Content>>,
    /// Attempts with unknown results, by the numbers of their rows.
    attempts: Vec<(u64, Attempt)>,
    named: Vec<(Partition, Location)>,
}

/// A row to write: its text, and the contents that it refers to.
pub(super) struct RowChange {
    pub(super) key: String,
    pub(super) value: Option<Value>,
    pub(super) contents: Vec<Content>,
}

impl StateRows {
    /// Reads all rows, and returns those that cannot be read separately.
    pub(super) fn read<'r>(
        rows: impl IntoIterator<Item = (&'r str, &'r str)>,
    ) -> (Self, Rows, DamagedRows) {
        let (mut state_rows, mut all) = (Self::default(), Rows::default());
        let (mut damaged, mut highest) = (DamagedRows::default(), SortedMap::new());
        for (key, text) in rows {
            let kind = key::kind_of(key).unwrap_or_default();
            let number = highest.entry(kind).or_insert(0);
            *number = key::number_of(key).unwrap_or_default().max(*number);
            let value = row::read(key, text);
            match value.and_then(|value| state_rows.take(key, &value, &mut all)) {
                Ok(contents) => drop(state_rows.contents.insert(key.to_owned(), contents)),
                Err(_) => {
                    if kind == "edit" {
                        state_rows.take_remains(key, text, &mut all);
                    }
                    damaged.insert(key.to_owned(), text.to_owned());
                }
            }
        }
        if damaged.contains_key(COUNTERS) {
            all.counters = counters_above(&highest, &all);
        }
        (state_rows, all, damaged)
    }

    /// Takes what is left of a damaged edit. It is never sent: setting the row aside turns it into an error.
    fn take_remains(&mut self, key: &str, text: &str, all: &mut Rows) {
        let Some(number) = key::number_of(key) else { return };
        if let Some(edit) = codec::remaining_edit(number, &row::remains(text)) {
            self.contents.insert(key.to_owned(), contents_of_edit(&edit));
            all.edits.push(edit);
        }
    }

    fn take(&mut self, key: &str, value: &Value, all: &mut Rows) -> Result<Vec<Content>, Damaged> {
        let of = Fields(value);
        let kind = key.strip_prefix(STATE).unwrap_or_default();
        let kind = kind.split(' ').next().unwrap_or_default();
        Ok(match kind {
            "subscription" => {
                all.stored_subscriptions.push(codec::subscription(value)?);
                Vec::new()
            }
            "edit" => {
                let edit = codec::edit(value)?;
                let contents = contents_of_edit(&edit);
                all.edits.push(edit);
                contents
            }
            "error" => {
                let error = codec::error(value)?;
                let interaction = &error.interaction;
                let parts = [interaction.request_body, interaction.response_body, error.previous];
                all.errors.push(error);
                parts.into_iter().flatten().collect()
            }
            "shown" => {
                let shown = codec::shown(value)?;
                let contents = shown.entity.iter().map(|entity| entity.content).collect();
                all.shown.push(shown);
                contents
            }
            "named" => {
                let (partition, pending) = (of.partition("partition")?, of.location("pending")?);
                let member = of.optional_location("member")?;
                self.named.push((partition, pending.clone()));
                all.named.push((partition, pending, member));
                Vec::new()
            }
            "attempt" => {
                let attempt = Attempt {
                    partition: of.partition("partition")?,
                    location: of.location("location")?,
                    content: of.content("content")?,
                };
                let number = key.rsplit(' ').next().unwrap_or_default();
                let number = u64::from_str_radix(number, 16);
                let number = number.map_err(|error| Damaged::new("key", error))?;
                let contents = vec![attempt.content];
                self.attempts.push((number, attempt.clone()));
                all.attempts.push(attempt);
                contents
            }
            "counters" => {
                all.counters = Counters {
                    stored_subscription: of.number("subscription")?,
                    holder: of.number("holder")?,
                    edit: of.number("edit")?,
                    error: of.number("error")?,
                    shown: of.number("shown")?,
                    generation: of.number("generation")?,
                };
                Vec::new()
            }
            "policy" => {
                let is_offline = of.flag("isOffline")?;
                all.policy = if is_offline { Policy::Offline } else { Policy::Auto };
                Vec::new()
            }
            // Rows of the worker itself, such as which page uses which subscription.
            _ => Vec::new(),
        })
    }

    /// The rows that a change writes. Changes of addresses write none.
    pub(super) fn changed(&mut self, change: &Change) -> Vec<RowChange> {
        let row = |key, value, contents| vec![RowChange { key, value: Some(value), contents }];
        let gone = |key| vec![RowChange { key, value: None, contents: Vec::new() }];
        match change {
            Change::StoredSubscription(it) => {
                row(numbered("subscription", it.id.0), subscription_value(it), Vec::new())
            }
            Change::SubscriptionRemoved(id) => gone(numbered("subscription", id.0)),
            Change::Edit(edit) => {
                row(numbered("edit", edit.id.0), edit_value(edit), contents_of_edit(edit))
            }
            Change::EditRemoved(id) => gone(numbered("edit", id.0)),
            Change::Error(error) => {
                let interaction = &error.interaction;
                let parts = [interaction.request_body, interaction.response_body, error.previous];
                let contents = parts.into_iter().flatten().collect();
                row(numbered("error", error.id.0), error_value(error), contents)
            }
            Change::ErrorRemoved(id) => gone(numbered("error", id.0)),
            Change::OverlayEdit(shown) => {
                let contents = shown.entity.iter().map(|entity| entity.content).collect();
                row(numbered("shown", shown.place), shown_value(shown), contents)
            }
            Change::OverlayEditRemoved(place) => gone(numbered("shown", *place)),
            Change::MemberAddress { partition, pending, member } => {
                let value = json!({
                    "partition": partition_text(*partition),
                    "pending": pending.as_str(),
                    "member": member.as_ref().map(|member| member.as_str()),
                });
                let it = (*partition, pending.clone());
                if !self.named.contains(&it) {
                    self.named.push(it);
                }
                row(named(*partition, pending), value, Vec::new())
            }
            Change::MemberAddressRemoved { partition, pending } => {
                self.named.retain(|(who, from)| (who, from) != (partition, pending));
                gone(named(*partition, pending))
            }
            Change::Attempt(attempt) => self.attempted(attempt),
            Change::AttemptRemoved(attempt) => self.attempts_gone(|other| other == &**attempt),
            Change::PartitionRemoved(partition) => {
                let mut rows = self.attempts_gone(|attempt| attempt.partition == *partition);
                let theirs = |(who, _): &(Partition, Location)| who == partition;
                let (gone_named, kept) = self.named.drain(..).partition(theirs);
                self.named = kept;
                let keys: Vec<(Partition, Location)> = gone_named;
                rows.extend(keys.iter().flat_map(|(who, pending)| gone(named(*who, pending))));
                rows
            }
            Change::Policy(policy) => {
                let value = json!({ "isOffline": *policy == Policy::Offline });
                row(format!("{STATE}policy"), value, Vec::new())
            }
            Change::Counters(counters) => {
                let value = json!({
                    "subscription": counters.stored_subscription,
                    "holder": counters.holder,
                    "edit": counters.edit,
                    "error": counters.error,
                    "shown": counters.shown,
                    "generation": counters.generation,
                });
                row(COUNTERS.to_owned(), value, Vec::new())
            }
            Change::Representation { .. } | Change::Generation { .. } => Vec::new(),
            // Newsreaders have no part in a browser.
            Change::Account(_)
            | Change::AccountRemoved(_)
            | Change::CachedResponse(_)
            | Change::CachedResponseRemoved { .. }
            | Change::StoredChange(_)
            | Change::StoredChangeRemoved(_) => Vec::new(),
        }
    }

    /// Replaces the contents of a row, and returns the former ones.
    pub(super) fn replace_contents(&mut self, key: &str, contents: Vec<Content>) -> Vec<Content> {
        let before = match contents.is_empty() {
            true => self.contents.remove(key),
            false => self.contents.insert(key.to_owned(), contents),
        };
        before.unwrap_or_default()
    }

    fn attempted(&mut self, attempt: &Attempt) -> Vec<RowChange> {
        if self.attempts.iter().any(|(_, other)| other == attempt) {
            return Vec::new();
        }
        let number = self.attempts.last().map_or(1, |(number, _)| number + 1);
        self.attempts.push((number, attempt.clone()));
        let value = json!({
            "partition": partition_text(attempt.partition),
            "location": attempt.location.as_str(),
            "content": content_value(&attempt.content),
        });
        let (key, contents) = (numbered("attempt", number), vec![attempt.content]);
        vec![RowChange { key, value: Some(value), contents }]
    }

    fn attempts_gone(&mut self, is_it: impl Fn(&Attempt) -> bool) -> Vec<RowChange> {
        let mut rows = Vec::new();
        self.attempts.retain(|(number, attempt)| {
            let is_gone = is_it(attempt);
            if is_gone {
                let key = numbered("attempt", *number);
                rows.push(RowChange { key, value: None, contents: Vec::new() });
            }
            !is_gone
        });
        rows
    }
}

/// Counters above all numbers of the stored rows, for a damaged row of counters. The margin is more than the number of
/// rows that were ever deleted.
fn counters_above(highest: &SortedMap<&str, u64>, all: &Rows) -> Counters {
    const MARGIN: u64 = 1 << 32;
    let above = |kind| highest.get(kind).copied().unwrap_or_default() + MARGIN;
    let of_edits = all.edits.iter().map(|edit| edit.requested.generation);
    let generation = of_edits.chain(all.shown.iter().map(|shown| shown.generation)).max();
    let holders = all.stored_subscriptions.iter().flat_map(|stored| {
        let holders = stored.subscription.parts().holders;
        holders.keys().map(|holder| holder.0).collect::<Vec<_>>()
    });
    Counters {
        stored_subscription: above("subscription"),
        holder: holders.max().unwrap_or_default().saturating_add(MARGIN).max(above("hold")),
        edit: above("edit"),
        error: above("error"),
        shown: above("shown"),
        generation: generation.unwrap_or_default().saturating_add(MARGIN),
    }
}

fn named(partition: Partition, pending: &Location) -> String {
    format!("{STATE}named {} {pending}", partition_text(partition))
}

fn contents_of_edit(edit: &Edit<Entity>) -> Vec<Content> {
    let requested = &edit.requested;
    requested.body.iter().chain(&requested.previous).map(|entity| entity.content).collect()
}
