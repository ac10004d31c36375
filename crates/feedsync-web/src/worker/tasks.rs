//! Requests of the worker itself.

use feedsync_bitsy::headers::may_cross_origins;
use feedsync_bitsy::interceptor::{Content, Digest, Outcome, Task, TaskId};
use feedsync_bitsy::location::Location;
use http::header::{AUTHORIZATION, COOKIE};
use serde_json::{Value, json};

use super::{CommandError, Worker, values};
use crate::codec::{Damaged, Fields, bytes_of, content_value, header_list};
use crate::engine::Circumstances;

/// Maximum number of concurrent requests.
const MAX_CONCURRENT: usize = 6;

impl Worker {
    /// Begins the requests that are due.
    pub(super) fn begin(
        &mut self,
        _: Fields<'_>,
        with: Circumstances,
    ) -> Result<Value, CommandError> {
        self.rows.append(&mut self.unanswered.remove_old(with.now));
        let (tasks, next) = self.engine.change(with, |state, cx| {
            let (tasks, step) = state.begin(cx, MAX_CONCURRENT)?;
            Ok(((tasks, state.next_wake(cx.now)), step))
        })?;
        let tasks: Value = tasks.iter().map(|task| self.task_value(task)).collect();
        Ok(json!({ "tasks": tasks, "nextWake": next.map(|time| time.millis()) }))
    }

    /// Begins the next edit of a queue when the `response` to edit `id` arrives, before its outcome is stored. The result
    /// is a task, or null.
    pub(super) fn next_in_queue(&mut self, of: Fields<'_>) -> Result<Value, CommandError> {
        let id = task_id(of)?;
        let response = of.optional("response").ok_or_else(|| Damaged::new("response", "none"))?;
        let values::ServerResponse { status, headers, .. } = values::response(response)?;
        let next = self.engine.next_in_queue(id, status, &headers);
        Ok(next.map_or(Value::Null, |task| self.task_value(&task)))
    }

    /// Notes the outcome of a request: a `response`, `noSpace`, or neither if there was no response.
    pub(super) fn finished(
        &mut self,
        of: Fields<'_>,
        with: Circumstances,
    ) -> Result<Value, CommandError> {
        let id = task_id(of)?;
        let outcome = match of.optional("response") {
            Some(response) => {
                let values::ServerResponse { status, headers, content } =
                    values::response(response)?;
                let content = content.unwrap_or_else(|| Content::of(b""));
                Outcome::ServerResponse { status, headers, content }
            }
            None if of.optional("noSpace").is_some() => Outcome::OutOfSpace,
            None => Outcome::Lost { perhaps_arrived: of.flag("perhapsArrived")? },
        };
        self.engine.change(with, |state, cx| {
            let step = state.finished(cx, id, outcome)?;
            Ok(((), step))
        })?;
        Ok(Value::Null)
    }

    /// Handles contents whose bytes are gone: their `digests`, and the keys of the rows that refer to them.
    pub(super) fn damaged(
        &mut self,
        of: Fields<'_>,
        with: Circumstances,
    ) -> Result<Value, CommandError> {
        let digest = |value: &Value| value.as_str().and_then(bytes_of).map(Digest);
        let digests: Vec<Digest> = of.list("digests")?.iter().filter_map(digest).collect();
        let address = |value: &Value| -> Option<Location> {
            value.as_str()?.split_once(" a/")?.1.parse().ok()
        };
        let locations: Vec<Location> = of.list("uses")?.iter().filter_map(address).collect();
        self.engine.change(with, |state, cx| {
            let mut addresses = Vec::new();
            for location in &locations {
                for (partition, content) in cx.stored.representations(location)? {
                    if digests.contains(&content.digest) {
                        addresses.push((partition, location.clone()));
                    }
                }
            }
            let step = state.damaged(cx, |it| digests.contains(it), addresses)?;
            Ok(((), step))
        })?;
        Ok(Value::Null)
    }

    /// A task. `bodyAfter` is a content that the next one may need.
    fn task_value(&mut self, task: &Task) -> Value {
        let mut headers = task.headers.clone();
        // The browser has the cookies; the registered one only names the partition.
        let with_credentials = headers.remove(COOKIE).is_some();
        // A browser drops `Authorization` on the way to another origin, and no other header.
        let may_redirect =
            headers.keys().all(|name| *name == AUTHORIZATION || may_cross_origins(name));
        json!({
            "id": task.id.0.to_string(),
            "method": task.method.as_str(),
            "url": task.location.as_str(),
            "headers": header_list(&headers),
            "body": task.body.as_ref().map(content_value),
            "withCredentials": with_credentials,
            "mayRedirect": may_redirect,
            "bodyAfter": self.engine.body_after(task.id).as_ref().map(content_value),
        })
    }
}

fn task_id(of: Fields<'_>) -> Result<TaskId, Damaged> {
    of.text("id")?.parse().map(TaskId).map_err(|error| Damaged::new("id", error))
}
