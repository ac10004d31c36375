//! The forms of an item's page: edit, delete, restore, and resolve (3.2, 3.4).
//!
//! Each form names the version that its author saw. An edit of a version that is no longer current is
//! stored as a conflict beside the winner. If nothing was typed, or a merged text was, an outdated form
//! shows the current page again, with the input and a message.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_core::{Edit, Keep, Payload, Resolution, Resolved};
use feedsync_endpoint::{EditFailure, Endpoint, EndpointError};
use feedsync_formats::{ContentType, ReviseError, Revision, entry};
use feedsync_store::{Collection, StoredItem};
use http::StatusCode;

use crate::access::call::Call;
use crate::http::problem::Problem;
use crate::hub::Hub;
use crate::pages::answer::see_other;
use crate::pages::base_version;
use crate::pages::collection::{Draft, with_draft};
use crate::pages::form::{Form, Posted, item_page};
use crate::pages::form_token::STALE;
use crate::pages::item::{Fields, Refused, found, label, shown};

const ITEM_CHANGED: &str = "The item has changed since you opened this page. The page shows the \
current version: check it and try again.";

const BLANK: &str =
    "The item was deleted, and its content was dropped. Enter a title or a content to restore it.";

/// Outcome of a form.
enum Outcome {
    /// The change was made; the message that the page then shows.
    Done(&'static str),
    /// The change was refused.
    Refused(StatusCode, Box<Refused>),
}

pub(crate) async fn change(
    State(hub): State<Hub>,
    call: Call,
    body: Body,
) -> Result<Response, Problem> {
    let (form, genuine) = match Posted::read(&hub, &call, body).await? {
        Posted::Genuine(form) => (form, true),
        Posted::Foreign(form) => (form, false),
    };
    let (collection, stored) = match found(&hub, &call).await {
        Ok(found) => found,
        Err(problem) => return gone(&hub, &call, &form, problem).await,
    };
    let endpoint = &call.growing_endpoint(&hub).await?;
    let change = Change { endpoint, collection: &collection, stored: &stored, form };
    let outcome = match change.form.text("action") {
        _ if !genuine => Ok(change.stale()),
        "edit" => change.edit().await,
        "delete" => change.delete().await,
        "restore" => change.restore().await,
        "keep" => change.resolve(Keep::Winner).await,
        "take" => match change.form.text("place").parse() {
            Ok(place) => change.resolve(Keep::Conflict(place)).await,
            Err(_) => Err(Problem::bad_request("the form does not name a conflict")),
        },
        "merge" => change.merge().await,
        _ => Err(Problem::bad_request("the form has no such action")),
    };
    match outcome? {
        Outcome::Done(said) => {
            let page = item_page(call.base.path(), &collection.name, &stored.item.id);
            see_other(&format!("{page}?said={said}"))
        }
        Outcome::Refused(status, refused) => {
            let now = hub.endpoint.item(&collection.name, &stored.item.id).await?;
            shown(&hub, &call, &collection, &now, *refused, status).await
        }
    }
}

/// The item was removed while the user was typing: the input may become a new item.
async fn gone(hub: &Hub, call: &Call, form: &Form, problem: Problem) -> Result<Response, Problem> {
    let draft = Draft {
        title: form.text("title").to_owned(),
        content: form.lines("content"),
        error:
            "The item that you were editing no longer exists. Your text is in the form below: you \
             can save it as a new item."
                .to_owned(),
        ..Draft::default()
    };
    if draft.title.is_empty() && draft.content.is_empty() {
        return Err(problem);
    }
    with_draft(hub, call, draft, StatusCode::GONE).await
}

/// A form about an item.
struct Change<'c> {
    endpoint: &'c Endpoint,
    collection: &'c Collection,
    stored: &'c StoredItem,
    form: Form,
}

impl Change<'_> {
    async fn edit(&self) -> Result<Outcome, Problem> {
        let item = &self.stored.item;
        let fields = self.typed();
        let refused = |status, fields| Ok(unsaved(status, fields));
        let Some(base) = base_version::read(self.form.text("base"), item) else {
            return refused(StatusCode::CONFLICT, fields.failed(ITEM_CHANGED));
        };
        let payload = match self.revised(&fields) {
            Ok(payload) => payload,
            Err(error) => return refused(StatusCode::UNPROCESSABLE_ENTITY, fields.faulty(&error)),
        };
        let stale = !base.history.topmost().is_same(item.winner.dot());
        if payload == item.winner.payload && !stale {
            let nothing = "You have not changed anything yet.";
            return refused(StatusCode::UNPROCESSABLE_ENTITY, fields.failed(nothing));
        }
        let dot = base.history.topmost().clone();
        let edited = self
            .endpoint
            .edit(&self.collection.name, &item.id, Some(base), Edit::from(payload))
            .await;
        match edited {
            // The edit follows the version that its author saw, or is a conflict with another edit of
            // that version.
            Ok(edited) => {
                let updates = edited.item.winner.history.updates();
                let follows = updates.get(1).is_some_and(|before| before.is_same(&dot));
                let beside = stale || (!follows && !edited.item.conflicts.is_empty());
                Ok(Outcome::Done(if beside { "beside" } else { "edited" }))
            }
            Err(error) => {
                let (status, said) = edit_error_message(error)?;
                refused(status, fields.failed(&said))
            }
        }
    }

    async fn delete(&self) -> Result<Outcome, Problem> {
        match self.stored.item.winner.deleted {
            true => Ok(self.moved_on()),
            false => self.set_deleted(Edit::delete(), "deleted").await,
        }
    }

    /// Restores the item, with the typed content if it was deleted with its content.
    async fn restore(&self) -> Result<Outcome, Problem> {
        let winner = &self.stored.item.winner;
        if !winner.deleted {
            return Ok(self.moved_on());
        }
        if !entry(&winner.payload).is_blank() {
            return self.set_deleted(Edit::undelete(), "restored").await;
        }
        let fields = self.typed();
        match self.revised(&fields) {
            Ok(payload) if entry(&payload).is_blank() => {
                Ok(unsaved(StatusCode::UNPROCESSABLE_ENTITY, fields.failed(BLANK)))
            }
            Ok(payload) => {
                let edit = Edit { payload: Some(payload), ..Edit::undelete() };
                match self.set_deleted(edit, "restored").await? {
                    Outcome::Refused(status, refused) => {
                        let error = refused.edit.map(|shown| shown.error).unwrap_or_default();
                        Ok(unsaved(status, fields.failed(&error)))
                    }
                    done => Ok(done),
                }
            }
            Err(error) => Ok(unsaved(StatusCode::UNPROCESSABLE_ENTITY, fields.faulty(&error))),
        }
    }

    async fn set_deleted(
        &self,
        edit: Edit<Payload>,
        said: &'static str,
    ) -> Result<Outcome, Problem> {
        let item = &self.stored.item;
        let base = base_version::read(self.form.text("base"), item);
        if self.has_changed() || base.is_none() {
            return Ok(self.moved_on());
        }
        match self.endpoint.edit(&self.collection.name, &item.id, base, edit).await {
            Ok(_) => Ok(Outcome::Done(said)),
            Err(error) => self.untyped(error),
        }
    }

    async fn merge(&self) -> Result<Outcome, Problem> {
        let fields = self.typed();
        let refused = |status, fields| {
            let refused = Refused { merge: Some(fields), ..Refused::default() };
            Ok(Outcome::Refused(status, refused.into()))
        };
        if self.has_changed() {
            return refused(StatusCode::CONFLICT, fields.failed(ITEM_CHANGED));
        }
        let payload = match self.revised(&fields) {
            Ok(payload) => payload,
            Err(error) => return refused(StatusCode::UNPROCESSABLE_ENTITY, fields.faulty(&error)),
        };
        match self.resolved(Keep::Content { payload, deleted: Some(false) }).await {
            Ok(()) => Ok(Outcome::Done("resolved")),
            Err(error) => {
                let (status, said) = edit_error_message(error)?;
                refused(status, fields.failed(&said))
            }
        }
    }

    async fn resolve(&self, keep: Keep<Payload>) -> Result<Outcome, Problem> {
        if self.has_changed() {
            return Ok(self.moved_on());
        }
        match self.resolved(keep).await {
            Ok(()) => Ok(Outcome::Done("resolved")),
            Err(EndpointError::Edit(EditFailure::Nothing(_))) => Ok(self.moved_on()),
            Err(error) => self.untyped(error),
        }
    }

    async fn resolved(&self, keep: Keep<Payload>) -> Result<(), EndpointError> {
        let resolution = Resolution { resolved: Resolved::All, keep };
        self.endpoint.resolve(&self.collection.name, &self.stored.item, resolution).await?;
        Ok(())
    }

    /// Whether the item changed since the form was made.
    fn has_changed(&self) -> bool {
        self.form.text("seen") != base_version::versions(&self.stored.item)
    }

    fn moved_on(&self) -> Outcome {
        self.shown_again(StatusCode::CONFLICT, ITEM_CHANGED)
    }

    /// Outcome of a form without input that could not be processed.
    fn untyped(&self, error: EndpointError) -> Result<Outcome, Problem> {
        let (status, said) = edit_error_message(error)?;
        Ok(self.shown_again(status, &said))
    }

    fn shown_again(&self, status: StatusCode, said: &str) -> Outcome {
        let fields = Fields::of(&self.stored.item.winner.payload).failed(said);
        unsaved(status, fields)
    }

    /// The form was made for another session: it is shown again with its input.
    fn stale(&self) -> Outcome {
        let fields = self.typed().failed(STALE);
        match self.form.text("action") {
            "merge" => {
                let refused = Refused { merge: Some(fields), ..Refused::default() };
                Outcome::Refused(StatusCode::FORBIDDEN, refused.into())
            }
            "restore" if !self.form.has("title") => self.shown_again(StatusCode::FORBIDDEN, STALE),
            "edit" | "restore" => unsaved(StatusCode::FORBIDDEN, fields),
            _ => self.shown_again(StatusCode::FORBIDDEN, STALE),
        }
    }

    /// The input, with the winner's values for fields that the form did not have. The current content
    /// type of the winner makes no difference: a typed content keeps the type of its form.
    fn typed(&self) -> Fields {
        let now = Fields::of(&self.stored.item.winner.payload);
        let title = self.form.text("title").to_owned();
        if !self.form.has("content") {
            return Fields { title, ..now };
        }
        let content_type = self.form.text("kind").to_owned();
        let kind = Some(label(&ContentType::named(&content_type)));
        Fields { title, content: self.form.lines("content"), kind, content_type, ..now }
    }

    /// The winner's payload with the input and a new date. Unchanged parts stay identical to the byte.
    fn revised(&self, fields: &Fields) -> Result<Payload, ReviseError> {
        let payload = &self.stored.item.winner.payload;
        let now = Fields::of(payload);
        let changed = |now: &str, typed: &str| (now != typed).then(|| typed.to_owned());
        // The input has the content type that the form named, which may have changed since.
        let content_type = ContentType::named(&fields.content_type);
        let content = if content_type == entry(payload).content_type {
            changed(&now.content, &fields.content)
        } else {
            Some(fields.content.clone())
        };
        let revision = Revision {
            title: changed(&now.title, &fields.title),
            content: content.filter(|_| self.form.has("content")),
            content_type,
            updated: None,
        };
        self.endpoint.revise(payload, &revision)
    }
}

/// Shows the content form again, with the input.
fn unsaved(status: StatusCode, fields: Fields) -> Outcome {
    let refused = Refused { edit: Some(fields), ..Refused::default() };
    Outcome::Refused(status, refused.into())
}

impl Fields {
    /// Adds a message about the whole form.
    fn failed(self, error: &str) -> Self {
        Self { error: error.to_owned(), ..self }
    }

    /// Adds a message beside the field at fault.
    fn faulty(self, error: &ReviseError) -> Self {
        let text = format!("{error}.");
        match error {
            ReviseError::Character { field: "title", .. } => Self { title_error: text, ..self },
            ReviseError::Character { .. } | ReviseError::ContentType { .. } => {
                Self { content_error: text, ..self }
            }
            ReviseError::Payload(_) => self.failed(&text),
        }
    }
}

/// Message about an edit that is not possible; any other error is a problem.
fn edit_error_message(error: EndpointError) -> Result<(StatusCode, String), Problem> {
    let status = match &error {
        EndpointError::Edit(_) => StatusCode::CONFLICT,
        EndpointError::Full { .. } | EndpointError::NoRoom { .. } => {
            StatusCode::INSUFFICIENT_STORAGE
        }
        _ => return Err(error.into()),
    };
    Ok((status, format!("This was not saved: {error}.")))
}
