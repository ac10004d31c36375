//! Waiting edits, as scripts of pages see and discard them.

use feedsync_bitsy::outbox::EditId;
use feedsync_bitsy::view::{self, Audience as _};
use serde_json::json;

use super::{Asked, Told, absent, done};
use crate::worker::{CommandError, Worker};

impl Worker {
    pub(super) fn outbox(
        &mut self,
        method: &str,
        rest: &[&str],
        asked: Asked<'_>,
    ) -> Result<Told, CommandError> {
        let state = self.engine.state();
        // Edits of other persons do not exist for a page.
        let edits = || {
            state.edits().filter(|edit| {
                asked.identity.sees(state, edit.requested.partition, &edit.requested.feed)
            })
        };
        let known = |id: &&str| {
            let id = id.parse().ok().map(EditId)?;
            edits().any(|edit| edit.id == id).then_some(id)
        };
        let id = rest.first().and_then(known);
        Ok(match (method, rest, id) {
            ("GET", [], _) => {
                let views = edits().map(|edit| view::edit(edit, &state.edit_status(edit)));
                Told::View(200, views.collect())
            }
            ("POST", ["retry"], _) => {
                let ids: Vec<EditId> = edits().map(|edit| edit.id).collect();
                let tried = ids.len();
                self.engine.change(asked.with, |state, _| {
                    state.retry_all();
                    Ok(((), state.delivery().retry_all_now(ids)))
                })?;
                Told::View(200, json!({ "tried": tried }))
            }
            ("DELETE", [_], Some(id)) => {
                let is_left = self.engine.change(asked.with, |state, _| {
                    let step = state.delivery().discard(id);
                    Ok((state.edits().any(|edit| edit.id == id), step))
                })?;
                let why = "the edit is being sent at the moment and may still be applied: check \
                           again later";
                if is_left { Told::Refused(409, why.to_owned()) } else { done() }
            }
            ("POST", [_, "retry"], Some(id)) => {
                self.engine.change(asked.with, |state, _| {
                    state.retry_all();
                    Ok(((), state.delivery().retry_now(id)))
                })?;
                done()
            }
            _ => absent("pending edit"),
        })
    }
}
