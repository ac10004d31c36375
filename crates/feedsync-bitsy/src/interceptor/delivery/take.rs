//! Edits that wait here (BITSY 3.2 to 3.4).

use http::{HeaderMap, HeaderName, header};

use crate::event::ErrorId;
use crate::interception::Role;
use crate::interceptor::context::{Context, Draft};
use crate::interceptor::delivery::Delivery;
use crate::interceptor::pending::{is_pending, pending};
use crate::interceptor::proposed::{EditRequest, Proposed, SLUG};
use crate::interceptor::reply::Reply;
use crate::interceptor::responder::Acknowledged;
use crate::interceptor::state::{ControlError, is_beyond_repair};
use crate::interceptor::step::{Change, Step};
use crate::interceptor::stored::{Content, Entity, Resource, Stored};
use crate::outbox::{AddOutcome, EditId, NewEdit};
use crate::propagation;

impl Delivery<'_> {
    /// Adds an edit to the outbox. It may be acknowledged when the step is stored, and is sent later.
    pub fn take<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        edit: EditRequest<'_>,
    ) -> Result<(Reply, Step), S::Error> {
        self.add(cx, edit).map(|(reply, step, _)| (reply, step))
    }

    /// Adds an edit to the outbox. Returns its number, too, if it is new.
    pub(super) fn add<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        edit: EditRequest<'_>,
    ) -> Result<(Reply, Step, Option<EditId>), S::Error> {
        let EditRequest { proposed, headers, entity } = edit;
        let Proposed { partition, feed, queue, method, location, generation, .. } =
            proposed.clone();
        let key = format!("{:032x}", cx.random);
        if self.state.stored_subscription_of(partition, &feed).is_none() {
            // The subscription ended meanwhile, so there are no credentials for the edit.
            return Ok((Reply::unreachable(&location), Step::default(), None));
        }
        // The address of the member may have become known since the request.
        let location = match self.state.named.get(partition, &location) {
            Some(Some(member)) => member.clone(),
            Some(None) => return Ok((Reply::gone(), Step::default(), None)),
            None => location,
        };
        let resource = match method {
            propagation::Method::Post => pending(&location, &key),
            propagation::Method::Put | propagation::Method::Delete => location.clone(),
        };
        let (mut base, mut previous) = (None, None);
        if method != propagation::Method::Post {
            let role = Role::Synchronizable;
            let at = Resource { partition, feed: feed.clone(), role, entry: None, seen: 0 };
            let responder = self.state.responder();
            if let Some(found) = responder.found(cx, at, &resource)? {
                let tags = responder.tag_of(&found);
                if !is_met(headers, &tags) {
                    let tag = tags.first().map(String::as_str);
                    return Ok((Reply::stale(tag), Step::default(), None));
                }
                let good = found.representation.as_ref().filter(|stored| stored.is_success());
                previous = good.map(|stored| Entity {
                    headers: stored.headers.clone(),
                    content: stored.content,
                });
                base = good.and_then(|stored| stored.strong_tag()).map(str::to_owned);
            }
        }
        let slug = headers.get(SLUG).filter(|_| method == propagation::Method::Post);
        let slug = slug.and_then(|slug| slug.to_str().ok()).map(str::to_owned);
        let new = NewEdit {
            partition,
            feed,
            method,
            location,
            queue,
            base,
            is_conditional: headers.contains_key(header::IF_MATCH),
            previous,
            body: entity.clone(),
            slug,
            key,
            generation,
            resource: resource.clone(),
        };
        let mut draft = Draft::durable(cx.now);
        let (added, id) = self.enqueue(&mut draft, new);
        let reply = Acknowledged { method, added: &added, resource: &resource };
        let reply = self.state.responder().acknowledged(reply, entity.as_ref(), cx.now);
        Ok((reply, draft.step, id))
    }

    /// Adds a new edit to the outbox. Returns its number, too, unless it was merged with a waiting one.
    fn enqueue(&mut self, draft: &mut Draft, new: NewEdit<Entity>) -> (AddOutcome, Option<EditId>) {
        let (partition, resource) = (new.partition, new.resource.clone());
        let before = self.state.outbox.last(partition, &resource).map(|edit| edit.id);
        let added = self.state.outbox.add(new);
        // An unsent edit may have been replaced by a DELETE, or removed by it.
        if let Some(before) = before.filter(|before| self.state.outbox.edit(*before).is_none()) {
            draft.changes.push(Change::EditRemoved(before));
            self.state.delivery_states.remove(&before);
        }
        let mut id = None;
        match added {
            AddOutcome::Queued(new) => {
                id = Some(new);
                self.state.store_edit(draft, new);
            }
            AddOutcome::Replaced(replaced) => self.state.store_edit(draft, replaced),
            AddOutcome::Cancelled(_) => self.state.name(draft, partition, &resource, None),
            AddOutcome::Nothing | AddOutcome::Gone => {}
        }
        self.state.count(draft);
        (added, id)
    }

    /// Discards an edit that is no longer wanted, with the edits that build on it. Their contents are lost.
    pub fn discard(&mut self, id: EditId) -> Step {
        let mut step = Step { is_durable: true, ..Step::default() };
        // An edit that is being sent may still be carried out. Its response settles it.
        if self.state.is_busy(id) {
            return step;
        }
        let ended = self.state.outbox.discard(id);
        for edit in ended.edit.iter().chain(&ended.dependents) {
            step.changes.push(Change::EditRemoved(edit.id));
            self.state.delivery_states.remove(&edit.id);
            self.state.clear_held_error(&mut step, edit);
            self.state.note_discarded(&mut step, edit);
            if edit.requested.method == propagation::Method::Post {
                self.state.name(
                    &mut step,
                    edit.requested.partition,
                    &edit.requested.resource,
                    None,
                );
            }
        }
        self.state.remove_drained(&mut step);
        step
    }

    /// Repeats a refused edit on the server's present version, and clears the error. `random` becomes part of
    /// a unique name.
    pub fn retry<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        id: ErrorId,
    ) -> Result<Result<Step, ControlError>, S::Error> {
        let Some(error) = self.state.errors.all().find(|error| error.id == id).cloned() else {
            return Ok(Err(ControlError::NoError));
        };
        if let Some(edit) = self.state.held_by(id) {
            return Ok(Ok(self.retry_now(edit)));
        }
        let interaction = &error.interaction;
        if is_beyond_repair(interaction) {
            return Ok(Err(ControlError::Damaged));
        }
        let method = match &*interaction.method {
            "POST" => propagation::Method::Post,
            "PUT" => propagation::Method::Put,
            "DELETE" => propagation::Method::Delete,
            _ => return Ok(Err(ControlError::NoEdit)),
        };
        let Some(stored_subscription) =
            self.state.stored_subscription_of(error.partition, &error.feed)
        else {
            return Ok(Err(ControlError::NoSubscription));
        };
        let queue = stored_subscription.collection.clone();
        let mut location = interaction.location.clone();
        let mut method = method;
        if is_pending(&location) {
            // The member that it edits was never created, so a PUT becomes a POST.
            let named = self.state.named.get(error.partition, &location).flatten();
            (method, location) = match (named, &queue) {
                (Some(member), _) => (method, member.clone()),
                (None, Some(queue)) if method == propagation::Method::Put => {
                    (propagation::Method::Post, queue.clone())
                }
                _ => return Ok(Err(ControlError::NoEdit)),
            };
        }
        if self.state.outbox.last(error.partition, &location).is_some() {
            return Ok(Err(ControlError::Waits));
        }
        let queue = queue.unwrap_or_else(|| location.clone());
        let (partition, feed) = (error.partition, error.feed.clone());
        let proposed = Proposed {
            partition,
            feed,
            queue,
            method,
            location,
            generation: self.state.counters.generation,
            needs_sync: false,
            tag: None,
        };
        let mut headers = interaction.request_headers.clone();
        for name in [header::IF_MATCH, header::IF_NONE_MATCH] {
            headers.remove(name);
        }
        let entity =
            interaction.request_body.map(|content: Content| Entity::sent(&headers, content));
        let (_, mut step) =
            self.take(cx, EditRequest { proposed: &proposed, headers: &headers, entity })?;
        self.state.errors.clear(id);
        step.changes.push(Change::ErrorRemoved(id));
        Ok(Ok(step))
    }
}

/// Whether the conditions of a request are met (RFC 9110 13.1). A date is no condition, since two edits may
/// happen within its second.
fn is_met(headers: &HeaderMap, tags: &[String]) -> bool {
    let listed = |name: HeaderName| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).map(|tag| tag.trim().to_owned())
    };
    let exists = !tags.is_empty();
    let is_now = |tag: &String| (tag == "*" && exists) || tags.contains(tag);
    let wanted =
        !headers.contains_key(header::IF_MATCH) || listed(header::IF_MATCH).any(|tag| is_now(&tag));
    wanted && !listed(header::IF_NONE_MATCH).any(|tag| is_now(&tag))
}
