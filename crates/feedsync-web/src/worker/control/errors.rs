//! Errors, as scripts of pages see and clear them.

use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::interceptor::{Stored as _, SubscriptionId};
use feedsync_bitsy::view::{self, VisibleError};
use serde_json::{Value, json};

use super::{Asked, Told, absent, done, refused};
use crate::worker::{CommandError, Worker};

impl Worker {
    pub(super) fn errors(
        &mut self,
        method: &str,
        rest: &[&str],
        asked: Asked<'_>,
    ) -> Result<Told, CommandError> {
        let id = rest.first().and_then(|id| id.parse().ok()).map(ErrorId);
        let error = id.and_then(|id| self.visible(asked, |it| it == id).into_iter().next());
        let (id, error) = match (rest.is_empty(), id.zip(error)) {
            (true, _) if method == "GET" => return Ok(self.errors_of(None, asked)),
            (false, Some(found)) => found,
            _ => return Ok(absent("error")),
        };
        Ok(match (method, &rest[1..]) {
            ("GET", []) => self.whole_error(&error, asked)?,
            ("GET", [side]) => self.side(&error, side, asked)?,
            ("DELETE", []) => {
                let cleared = self.try_change(asked.with, |state| state.clear(id))?;
                cleared.map_or_else(|refused| refused, |()| done())
            }
            ("POST", ["retry"]) => {
                let retried = self.engine.change(asked.with, |state, cx| {
                    Ok(match state.delivery().retry(cx, id)? {
                        Ok(step) => (Ok(()), step),
                        Err(error) => (Err(refused(error)), Default::default()),
                    })
                })?;
                retried.map_or_else(|refused| refused, |()| done())
            }
            _ => absent("operation of an error"),
        })
    }

    fn visible(&self, asked: Asked<'_>, pick: impl Fn(ErrorId) -> bool) -> Vec<VisibleError> {
        view::errors(self.engine.state(), asked.identity, pick)
    }

    /// Views of all errors, or of those of one subscription.
    pub(super) fn errors_of(&self, id: Option<SubscriptionId>, asked: Asked<'_>) -> Told {
        let id = id.map(|id| id.0.to_string());
        let is_of = |(_, ids): &&VisibleError| id.as_ref().is_none_or(|id| ids.contains(id));
        let found = self.visible(asked, |_| true);
        let views = found.iter().filter(is_of).map(|(error, ids)| view::error(error, ids));
        Told::View(200, views.collect())
    }

    /// View of an error with its bytes, and with the version that the server has as far as it is stored.
    fn whole_error(
        &self,
        (error, ids): &VisibleError,
        asked: Asked<'_>,
    ) -> Result<Told, CommandError> {
        let view = view::error(error, ids);
        let mut view = self.with_entities(&error.interaction, view, asked.with)?;
        let location = &error.interaction.location;
        let theirs = self
            .engine
            .read(asked.with, |_, cx| cx.stored.representation(error.partition, location))?;
        view["theirs"] = match theirs.filter(|_| view::is_edit(error)) {
            None => Value::Null,
            Some(theirs) => {
                let mut view = self.entity(theirs.content, asked.with)?;
                view["status"] = json!(theirs.status.as_u16());
                view["fetched"] = json!(theirs.fetched.millis());
                view["isNew"] = json!(false);
                view
            }
        };
        Ok(Told::View(200, view))
    }

    /// One side of an error: `mine`, `base`, `theirs` or `answer`.
    fn side(
        &self,
        (error, _): &VisibleError,
        side: &str,
        asked: Asked<'_>,
    ) -> Result<Told, CommandError> {
        let interaction = &error.interaction;
        let content = match side {
            "mine" => interaction.request_body,
            "base" => error.previous,
            "answer" => interaction.response_body,
            "theirs" => {
                let location = &interaction.location;
                let stored = self.engine.read(asked.with, |_, cx| {
                    cx.stored.representation(error.partition, location)
                })?;
                stored.map(|stored| stored.content)
            }
            _ => return Ok(absent("side of an error: use mine, base, theirs or answer")),
        };
        Ok(match content {
            Some(content) => Told::View(200, self.entity(content, asked.with)?),
            None => Told::Refused(404, format!("{side} has no content")),
        })
    }
}
