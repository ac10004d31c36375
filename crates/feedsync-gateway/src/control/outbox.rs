//! `/outbox`: the pending edits, in order (BITSY 3.5).

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use feedsync_bitsy::interceptor::{EditStatus, Entity};
use feedsync_bitsy::outbox::{Edit, EditId};
use feedsync_bitsy::view::Audience as _;
use feedsync_http::Problem;
use http::StatusCode;
use serde_json::{Value, json};

use super::answer::{self, absent, refused};
use super::caller::Caller;
use super::{Control, json as read, view};

/// `GET /outbox`.
pub(crate) async fn list(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let edits = control.edits(&caller).await;
    answer::json(
        &edits.iter().map(|(edit, edit_status)| view::edit(edit, edit_status)).collect::<Value>(),
    )
}

/// `DELETE /outbox/{id}`: discards an edit and the edits that are based on it.
pub(crate) async fn discard(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    control.discard(&caller, &id).await?;
    Ok(answer::nothing())
}

/// `POST /outbox/{id}/retry`: retries an edit now.
pub(crate) async fn retry(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    control.retry_now(&caller, &id).await?;
    Ok(answer::nothing())
}

/// `POST /outbox/retry`: retries all waiting edits now.
pub(crate) async fn retry_all(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let tried = control.retry_all_now(&caller).await?;
    Ok(answer::json(&json!({ "tried": tried })))
}

impl Control {
    /// Returns the edits that a caller may see, and why each of them waits.
    pub(crate) async fn edits(&self, caller: &Caller) -> Vec<(Edit<Entity>, EditStatus)> {
        let seen = self.see(caller, |state, visibility, _| {
            let edits = state.edits();
            let seen = edits.filter(|edit| {
                visibility.sees(state, edit.requested.partition, &edit.requested.feed)
            });
            seen.map(|edit| (edit.clone(), state.edit_status(edit))).collect()
        });
        seen.await
    }

    async fn edit(&self, caller: &Caller, id: &str) -> Result<EditId, Problem> {
        let id = read::number(id).map(EditId).ok_or_else(|| absent("pending edit"))?;
        let is_seen = self.edits(caller).await.iter().any(|(edit, _)| edit.id == id);
        is_seen.then_some(id).ok_or_else(|| absent("pending edit"))
    }

    /// Discards an edit.
    pub(crate) async fn discard(&self, caller: &Caller, id: &str) -> Result<(), Problem> {
        let edit = self.edit(caller, id).await?;
        self.change(Box::new(move |it, _| Ok(it.delivery().discard(edit))))
            .await
            .map_err(refused)?;
        match self.edit(caller, id).await {
            Err(_) => Ok(()),
            Ok(_) => Err(Problem::new(
                StatusCode::CONFLICT,
                "conflict",
                "Not possible in the current state",
                "the edit is being sent at the moment and may still be applied: check again later",
            )),
        }
    }

    /// Retries an edit now.
    pub(crate) async fn retry_now(&self, caller: &Caller, id: &str) -> Result<(), Problem> {
        let edit = self.edit(caller, id).await?;
        let requested = self.change(Box::new(move |it, _| {
            it.retry_all();
            Ok(it.delivery().retry_now(edit))
        }));
        requested.await.map_err(refused)
    }

    /// Retries all edits that a caller may see; returns their number.
    pub(crate) async fn retry_all_now(&self, caller: &Caller) -> Result<usize, Problem> {
        let ids: Vec<EditId> = self.edits(caller).await.iter().map(|(edit, _)| edit.id).collect();
        let count = ids.len();
        let requested = self.change(Box::new(move |it, _| {
            it.retry_all();
            Ok(it.delivery().retry_all_now(ids))
        }));
        requested.await.map_err(refused)?;
        Ok(count)
    }
}
