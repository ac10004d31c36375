//! Requests of background tasks.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::authentication::Partition;
use crate::headers::may_cross_origins;
use crate::interceptor::exchange::method;
use crate::interceptor::proposed::SLUG;
use crate::interceptor::state::State;
use crate::interceptor::step::{Task, TaskId};
use crate::interceptor::stored::Entity;
use crate::interceptor::stored_subscription::SubscriptionId;
use crate::interceptor::tasks::{RunningTask, TaskPurpose, TaskRequest};
use crate::location::Location;
use crate::outbox::Edit;
use crate::propagation;

/// Header by which a server recognizes a repeated POST, if it supports it.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

impl State {
    /// The request that sends an edit.
    pub(crate) fn sending(&self, edit: &Edit<Entity>, to: Location) -> TaskRequest {
        let requested = &edit.requested;
        let mut headers =
            requested.body.as_ref().map(|body| body.headers.clone()).unwrap_or_default();
        self.strip_secrets(&mut headers, edit, &to);
        let key = format!("\"{}\"", requested.key);
        let fields = [
            (SLUG, requested.slug.as_deref()),
            (header::IF_MATCH, requested.base.as_deref()),
            (
                IDEMPOTENCY_KEY,
                Some(&*key).filter(|_| requested.method == propagation::Method::Post),
            ),
        ];
        for (name, value) in fields {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        let body = requested.body.as_ref().map(|body| body.content);
        TaskRequest { body, ..self.request(edit, method(requested.method), to, headers) }
    }

    /// Removes headers that must not be sent to an address (R-B8). Registered headers are added where they
    /// may be sent. A server that the edit is redirected to must not get the headers for the original server.
    fn strip_secrets(&self, headers: &mut HeaderMap, edit: &Edit<Entity>, to: &Location) {
        let requested = &edit.requested;
        let stored_subscription = self.stored_subscription_of(requested.partition, &requested.feed);
        let is_elsewhere = !to.is_same_origin(&requested.location);
        let is_registered = |name: &HeaderName| {
            stored_subscription.is_some_and(|it| it.subscription.registered().get(name).is_some())
        };
        let names: Vec<_> =
            headers.keys().filter(|name| !may_cross_origins(name)).cloned().collect();
        for name in names {
            if is_elsewhere || is_registered(&name) {
                headers.remove(name);
            }
        }
    }

    /// Creates a request for an edit, with the headers registered for its feed.
    pub(crate) fn request(
        &self,
        edit: &Edit<Entity>,
        method: Method,
        location: Location,
        mut headers: HeaderMap,
    ) -> TaskRequest {
        let partition = edit.requested.partition;
        if let Some(stored_subscription) =
            self.stored_subscription_of(partition, &edit.requested.feed)
        {
            let subscription = &stored_subscription.subscription;
            for (name, value) in subscription.registered().sent(subscription.feed(), &location) {
                headers.insert(name.clone(), value.clone());
            }
        }
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let source = edit.requested.location.clone();
        TaskRequest { partition, method, location, source, headers, body: None }
    }

    /// A GET request that is not part of a round.
    pub(crate) fn question(&self, id: SubscriptionId, location: Location) -> TaskRequest {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut partition = Partition::public();
        let mut source = location.clone();
        if let Some(stored_subscription) = self.stored_subscriptions.get(&id) {
            let subscription = &stored_subscription.subscription;
            partition = subscription.partition();
            source = subscription.feed().clone();
            for (name, value) in subscription.registered().sent(subscription.feed(), &location) {
                headers.insert(name.clone(), value.clone());
            }
        }
        TaskRequest { partition, method: Method::GET, location, source, headers, body: None }
    }

    pub(crate) fn start_task(&mut self, request: TaskRequest, purpose: TaskPurpose) -> Task {
        let id = TaskId(self.next_task);
        self.next_task += 1;
        let TaskRequest { partition, method, location, source, headers, body } = request;
        let task = Task { id, partition, method, location, source, headers, body };
        self.tasks.insert(id, RunningTask { task: task.clone(), purpose });
        task
    }
}
