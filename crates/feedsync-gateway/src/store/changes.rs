//! Applies the changes of a step to the database.

use feedsync_bitsy::interceptor::{Change, Content, Entity, Step};
use rusqlite::Connection;

use super::error::StoreError;
use super::{attempts, edits, keepings, newsreaders, representations, told};

/// Applies a change. Returns the growth of the stored representations, in bytes.
pub(super) fn make(connection: &Connection, change: &Change) -> Result<i64, StoreError> {
    match change {
        Change::Keeping(keeping) => keepings::put(connection, keeping)?,
        Change::KeepingGone(id) => keepings::gone(connection, *id)?,
        Change::Edit(edit) => edits::put(connection, edit)?,
        Change::EditGone(id) => edits::gone(connection, *id)?,
        Change::Error(error) => told::put_error(connection, error)?,
        Change::ErrorGone(id) => told::error_gone(connection, *id)?,
        Change::Shown(shown) => told::put_shown(connection, shown)?,
        Change::ShownGone(place) => told::shown_gone(connection, *place)?,
        Change::Named { partition, pending, member } => {
            told::put_named(connection, *partition, pending, member.as_ref())?;
        }
        Change::NamedGone { partition, pending } => {
            told::named_gone(connection, *partition, pending)?;
        }
        Change::Attempt(attempt) => attempts::put(connection, attempt)?,
        Change::AttemptGone(attempt) => attempts::gone(connection, attempt)?,
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
        Change::Policy(policy) => told::put_policy(connection, *policy)?,
        Change::Forgotten(partition) => return representations::forgotten(connection, *partition),
        Change::Account(account) => newsreaders::put_account(connection, account)?,
        Change::AccountGone(partition) => newsreaders::account_gone(connection, *partition)?,
        Change::Kept(kept) => newsreaders::put_kept(connection, kept)?,
        Change::KeptGone { partition, key } => {
            newsreaders::kept_gone(connection, *partition, *key)?;
        }
        Change::Written(written) => newsreaders::put_written(connection, written)?,
        Change::WrittenGone(id) => newsreaders::written_gone(connection, *id)?,
        Change::Counters(counters) => told::put_counters(connection, *counters)?,
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
        Change::Edit(edit) => [of(edit.asked.was.as_ref()), of(edit.asked.body.as_ref()), None],
        Change::Error(error) => {
            let interaction = &error.interaction;
            let (request, response) = (&interaction.request_body, &interaction.response_body);
            [request.as_ref(), response.as_ref(), error.was.as_ref()]
        }
        Change::Attempt(attempt) => [Some(&attempt.content), None, None],
        Change::Kept(kept) => [Some(&kept.content), None, None],
        Change::Shown(shown) => [of(shown.entity.as_ref()), None, None],
        Change::Representation { representation: Some(representation), .. } => {
            [Some(&representation.content), None, None]
        }
        _ => [None; 3],
    };
    changes.flat_map(needed).flatten()
}
