//! Applies the changes of a step to the database.

use feedsync_bitsy::interceptor::{Change, Content, Entity, Step};
use rusqlite::Connection;

use super::error::StoreError;
use super::{attempts, edits, newsreaders, records, representations, stored_subscriptions};

/// Applies a change. Returns the growth of the stored representations, in bytes.
pub(super) fn make(connection: &Connection, change: &Change) -> Result<i64, StoreError> {
    match change {
        Change::StoredSubscription(stored_subscription) => {
            stored_subscriptions::put(connection, stored_subscription)?
        }
        Change::SubscriptionRemoved(id) => stored_subscriptions::gone(connection, *id)?,
        Change::Edit(edit) => edits::put(connection, edit)?,
        Change::EditRemoved(id) => edits::gone(connection, *id)?,
        Change::Error(error) => records::put_error(connection, error)?,
        Change::ErrorRemoved(id) => records::error_gone(connection, *id)?,
        Change::OverlayEdit(shown) => records::put_shown(connection, shown)?,
        Change::OverlayEditRemoved(place) => records::shown_gone(connection, *place)?,
        Change::MemberAddress { partition, pending, member } => {
            records::put_named(connection, *partition, pending, member.as_ref())?;
        }
        Change::MemberAddressRemoved { partition, pending } => {
            records::named_gone(connection, *partition, pending)?;
        }
        Change::Attempt(attempt) => attempts::put(connection, attempt)?,
        Change::AttemptRemoved(attempt) => attempts::gone(connection, attempt)?,
        Change::Representation { partition, location, representation: Some(representation) } => {
            return representations::put(connection, *partition, location, representation);
        }
        Change::Representation { partition, location, representation: None } => {
            return representations::gone(connection, *partition, location.as_str());
        }
        Change::Generation { partition, feed, resources, is_whole } => {
            let whose = (*partition, feed);
            return representations::generation(connection, whose, resources, *is_whole);
        }
        Change::Policy(policy) => records::put_policy(connection, *policy)?,
        Change::PartitionRemoved(partition) => {
            return representations::forgotten(connection, *partition);
        }
        Change::Account(account) => newsreaders::put_account(connection, account)?,
        Change::AccountRemoved(partition) => newsreaders::account_gone(connection, *partition)?,
        Change::CachedResponse(kept) => newsreaders::put_kept(connection, kept)?,
        Change::CachedResponseRemoved { partition, key } => {
            newsreaders::kept_gone(connection, *partition, *key)?;
        }
        Change::StoredChange(written) => newsreaders::put_written(connection, written)?,
        Change::StoredChangeRemoved(id) => newsreaders::written_gone(connection, *id)?,
        Change::Counters(counters) => records::put_counters(connection, *counters)?,
    }
    Ok(0)
}

/// Returns the contents that steps need.
pub(super) fn contents<'s>(steps: &'s [Step]) -> impl Iterator<Item = &'s Content> {
    fn of(entity: Option<&Entity>) -> Option<&Content> {
        entity.map(|entity| &entity.content)
    }
    let changes = steps.iter().flat_map(|step| &step.changes);
    let needed = |change: &'s Change| match change {
        Change::Edit(edit) => {
            [of(edit.requested.previous.as_ref()), of(edit.requested.body.as_ref()), None]
        }
        Change::Error(error) => {
            let interaction = &error.interaction;
            let (request, response) = (&interaction.request_body, &interaction.response_body);
            [request.as_ref(), response.as_ref(), error.previous.as_ref()]
        }
        Change::Attempt(attempt) => [Some(&attempt.content), None, None],
        Change::CachedResponse(kept) => [Some(&kept.content), None, None],
        Change::OverlayEdit(shown) => [of(shown.entity.as_ref()), None, None],
        Change::Representation { representation: Some(representation), .. } => {
            [Some(&representation.content), None, None]
        }
        _ => [None; 3],
    };
    changes.flat_map(needed).flatten()
}
