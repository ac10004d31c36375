//! `/outbox`: edits on their way, in their order (BITSY 3.5).

use axum::Extension;
use axum::extract::{Path, State};
use axum::response::Response;
use feedsync_offline::interceptor::Entity;
use feedsync_offline::outbox::{Edit, EditId};
use feedsync_server::Problem;
use http::StatusCode;
use serde_json::Value;

use super::answer::{self, absent, refused};
use super::caller::Caller;
use super::{Control, json, view};

/// `GET /outbox`.
pub(crate) async fn list(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
) -> Response {
    let edits = control.edits(&caller).await;
    answer::json(&edits.iter().map(view::edit).collect::<Value>())
}

/// `DELETE /outbox/{id}`: it is given up, with what was made on it.
pub(crate) async fn discard(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    control.discard(&caller, &id).await?;
    Ok(answer::nothing())
}

/// `POST /outbox/{id}/retry`: it is tried again now.
pub(crate) async fn retry(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    control.hurry(&caller, &id).await?;
    Ok(answer::nothing())
}

impl Control {
    /// The edits that a caller may see.
    pub(crate) async fn edits(&self, caller: &Caller) -> Vec<Edit<Entity>> {
        let seen = self.see(caller, |interceptor, sight, _| {
            let edits = interceptor.edits();
            let seen = edits
                .filter(|edit| sight.sees(interceptor, edit.asked.partition, &edit.asked.feed));
            seen.cloned().collect()
        });
        seen.await
    }

    async fn edit(&self, caller: &Caller, id: &str) -> Result<EditId, Problem> {
        let id = json::number(id).map(EditId).ok_or_else(|| absent("edit on its way"))?;
        let is_seen = self.edits(caller).await.iter().any(|edit| edit.id == id);
        is_seen.then_some(id).ok_or_else(|| absent("edit on its way"))
    }

    /// Gives an edit up.
    pub(crate) async fn discard(&self, caller: &Caller, id: &str) -> Result<(), Problem> {
        let edit = self.edit(caller, id).await?;
        self.change(Box::new(move |it, _| Ok(it.discard(edit)))).await.map_err(refused)?;
        match self.edit(caller, id).await {
            Err(_) => Ok(()),
            Ok(_) => Err(Problem::new(
                StatusCode::CONFLICT,
                "conflict",
                "Not possible",
                "it is being sent at this moment, and may be carried out: look again",
            )),
        }
    }

    /// Tries an edit again, now.
    pub(crate) async fn hurry(&self, caller: &Caller, id: &str) -> Result<(), Problem> {
        let edit = self.edit(caller, id).await?;
        let asked = self.change(Box::new(move |it, _| {
            it.retry_all();
            Ok(it.hurry(edit))
        }));
        asked.await.map_err(refused)
    }
}
