//! Requests of scripts of pages. They are those of the control port of a gateway, without HTTP.

mod errors;
mod outbox;
mod problems;
mod subscriptions;

use feedsync_bitsy::interceptor::{ControlError, Policy, Step};
use serde_json::{Value, json};

use super::pages::Identity;
use super::{CommandError, Worker};
use crate::codec::Fields;
use crate::engine::Circumstances;
use crate::store::ReadError;

/// A request of a script.
#[derive(Clone, Copy)]
struct Asked<'a> {
    of: Fields<'a>,
    with: Circumstances,
    page: &'a str,
    identity: &'a Identity,
    body: &'a Value,
}

/// A response to a script.
enum Told {
    /// A view, with its status.
    View(u16, Value),
    /// A refusal, with its status and the reason.
    Refused(u16, String),
}

impl Worker {
    /// Answers a request of a script: `method`, `path`, `body`, the `page` that asks, and the `open` pages. The result
    /// has a `status` and a `body`.
    pub(super) fn control(
        &mut self,
        of: Fields<'_>,
        with: Circumstances,
    ) -> Result<Value, CommandError> {
        let identity = Identity::read(of)?;
        let body = of.optional("body").unwrap_or(&Value::Null);
        let asked = Asked { of, with, page: of.text("page")?, identity: &identity, body };
        let path = of.text("path")?;
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let told = match (of.text("method")?, &*parts) {
            (method, ["subscriptions", rest @ ..]) => self.subscriptions(method, rest, asked)?,
            (method, ["errors", rest @ ..]) => self.errors(method, rest, asked)?,
            (method, ["outbox", rest @ ..]) => self.outbox(method, rest, asked)?,
            (method, ["problems", rest @ ..]) => self.problems(method, rest, asked),
            (method, ["network"]) => self.network(method, asked)?,
            ("POST", ["refresh"]) => self.refresh(asked)?,
            (method, _) => Told::Refused(404, format!("there is no {method} {path}")),
        };
        Ok(match told {
            Told::View(status, body) => json!({ "status": status, "body": body }),
            Told::Refused(status, why) => json!({ "status": status, "body": { "detail": why } }),
        })
    }

    /// Makes a change that may be refused.
    fn try_change(
        &mut self,
        with: Circumstances,
        change: impl FnOnce(&mut feedsync_bitsy::interceptor::State) -> Result<Step, ControlError>,
    ) -> Result<Result<(), Told>, ReadError> {
        self.engine.change(with, |state, _| {
            Ok(match change(state) {
                Ok(step) => (Ok(()), step),
                Err(error) => (Err(refused(error)), Step::default()),
            })
        })
    }

    fn network(&mut self, method: &str, asked: Asked<'_>) -> Result<Told, CommandError> {
        if method == "PUT" {
            let policy = asked.body.get("policy").and_then(Value::as_str).unwrap_or_default();
            if !["auto", "offline", "online"].contains(&policy) {
                let why = "the policy is one of auto, offline and online";
                return Ok(Told::Refused(422, why.to_owned()));
            }
            self.engine.change(asked.with, |state, _| {
                let is_offline = policy == "offline";
                let step =
                    state.set_policy(if is_offline { Policy::Offline } else { Policy::Auto });
                if policy == "online" {
                    state.retry_all();
                }
                Ok(((), step))
            })?;
        }
        let policy = match self.engine.state().policy() {
            Policy::Auto => "auto",
            Policy::Offline => "offline",
        };
        Ok(Told::View(200, json!({ "policy": policy })))
    }
}

/// Refusal of a change that was not made.
fn refused(error: ControlError) -> Told {
    match error {
        ControlError::NoSubscription => absent("subscription"),
        ControlError::NoError => absent("error"),
        error => Told::Refused(409, error.to_string()),
    }
}

fn absent(what: &str) -> Told {
    Told::Refused(404, format!("there is no such {what}"))
}

fn done() -> Told {
    Told::View(204, Value::Null)
}
