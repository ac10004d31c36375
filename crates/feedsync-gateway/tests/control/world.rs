//! A control port with an interceptor in memory, and servers with configured responses.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::interceptor::{
    self, Belonging, Change, Content, Context, Decision, EditRequest, Entity, Event, Outcome,
    Representation, Request, Resource, Settings, Step, Stored, Task,
};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::time::Time;
use feedsync_gateway::control::{
    ChangeError, ChangeRequest, Control, InterceptorHandle, StoreFailed, TOKEN_FILE, router,
};
use http::{HeaderMap, HeaderName, Method, StatusCode, header};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::broadcast;
use tower::ServiceExt as _;

/// Start of the test clock.
pub(crate) const BEGINNING: u64 = 1_700_000_000_000;

pub(crate) struct World {
    pub(crate) interceptor_handle: Arc<Memory>,
    pub(crate) control: Control,
    pub(crate) token: String,
    pub(crate) directory: TempDir,
}

/// An interceptor with a store in memory.
pub(crate) struct Memory {
    state: Mutex<State>,
    events: broadcast::Sender<Arc<Event>>,
}

struct State {
    interceptor: interceptor::State,
    stored: Stock,
    now: u64,
    random: u64,
    /// Responses of servers, by method and address.
    answers: HashMap<(Method, String), (u16, HeaderMap, Vec<u8>)>,
}

#[derive(Default)]
struct Stock {
    representations: HashMap<(Partition, Location), Representation>,
    generations: HashMap<(Partition, Location), Vec<(Location, Resource)>>,
    contents: HashMap<Content, Vec<u8>>,
}

impl Stored for Stock {
    type Error = Infallible;

    fn resources(&self, location: &Location) -> Result<Vec<Resource>, Infallible> {
        let all = self.generations.values().flatten();
        Ok(all.filter(|(at, _)| at == location).map(|(_, resource)| resource.clone()).collect())
    }

    fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, Infallible> {
        Ok(self.representations.get(&(partition, location.clone())).cloned())
    }

    fn content(&self, content: &Content) -> Result<Vec<u8>, Infallible> {
        Ok(self.contents[content].clone())
    }
}

impl Stock {
    fn keep(&mut self, bytes: &[u8]) -> Content {
        let content = Content::of(bytes);
        self.contents.insert(content, bytes.to_vec());
        content
    }

    fn apply(&mut self, change: Change) {
        match change {
            Change::Representation { partition, location, representation } => {
                match representation {
                    Some(is) => self.representations.insert((partition, location), *is),
                    None => self.representations.remove(&(partition, location)),
                };
            }
            Change::Generation { partition, feed, resources, .. } => {
                let resources = resources.into_iter().map(|(at, belonging)| {
                    let feed = feed.clone();
                    let Belonging { role, entry, seen } = belonging;
                    (at, Resource { partition, feed, role, entry, seen })
                });
                let resources = resources.collect();
                self.generations.insert((partition, feed), resources);
            }
            _ => {}
        }
    }
}

impl Memory {
    fn act<T>(&self, act: impl FnOnce(&mut State) -> (T, Step)) -> T {
        let mut state = self.state.lock().unwrap();
        let (told, step) = act(&mut state);
        step.changes.into_iter().for_each(|change| state.stored.apply(change));
        for event in step.events {
            // There may be no receivers.
            let _ = self.events.send(Arc::new(event));
        }
        told
    }

    /// Sets the response of a server.
    pub(crate) fn answers(
        &self,
        method: Method,
        url: &str,
        (status, headers, body): (u16, &[(&str, &str)], &str),
    ) {
        let answer = (status, map(headers), body.as_bytes().to_vec());
        self.state.lock().unwrap().answers.insert((method, url.to_owned()), answer);
    }

    /// Starts the tasks that are due, without outcomes.
    pub(crate) fn begin(&self) -> Vec<Task> {
        self.act(|state| {
            let now = Time::from_millis(state.now);
            let Ok((tasks, step)) =
                state.interceptor.begin(Context { stored: &state.stored, random: 7, now }, 64);
            (tasks, step)
        })
    }

    /// Runs everything that is due; servers without a configured response are unreachable.
    pub(crate) fn run(&self) {
        loop {
            let tasks = self.begin();
            if tasks.is_empty() {
                return;
            }
            for task in tasks {
                self.act(|state| {
                    let now = Time::from_millis(state.now);
                    let key = (task.method.clone(), task.location.to_string());
                    let outcome = match state.answers.get(&key).cloned() {
                        None => Outcome::Lost { perhaps_arrived: false },
                        Some((status, headers, body)) => Outcome::ServerResponse {
                            status: StatusCode::from_u16(status).unwrap(),
                            headers,
                            content: state.stored.keep(&body),
                        },
                    };
                    let State { interceptor, stored, .. } = state;
                    let Ok(step) =
                        interceptor.finished(Context { stored, random: 7, now }, task.id, outcome);
                    ((), step)
                });
            }
        }
    }

    /// Makes an edit as an application; returns the status of the response.
    pub(crate) fn edit(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> u16 {
        self.act(|state| {
            let now = Time::from_millis(state.now);
            let (location, headers) = (url.parse().unwrap(), map(headers));
            let request = Request { method: &method, location: &location, headers: &headers };
            let Ok(decision) = state
                .interceptor
                .responder()
                .decide(Context { stored: &state.stored, random: 0, now }, request);
            let proposed = match decision {
                Decision::QueueEdit(proposed) => proposed,
                Decision::Answer(reply) => return (reply.status.as_u16(), Step::default()),
                other => panic!("{other:?}"),
            };
            let entity = (!body.is_empty()).then(|| {
                let content = state.stored.keep(body.as_bytes());
                Entity::sent(&headers, content)
            });
            state.random += 1;
            let random = u128::from(state.random);
            let State { interceptor, stored, .. } = state;
            let Ok((reply, step)) = interceptor.delivery().take(
                Context { stored, random, now },
                EditRequest { proposed: &proposed, headers: &headers, entity },
            );
            (reply.status.as_u16(), step)
        })
    }
}

#[async_trait]
impl InterceptorHandle for Memory {
    fn inspect(&self, inspect: &mut dyn FnMut(&interceptor::State)) {
        inspect(&self.state.lock().unwrap().interceptor);
    }

    async fn change(&self, requested: ChangeRequest) -> Result<(), ChangeError> {
        let done = self.act(|state| {
            let now = Time::from_millis(state.now);
            match requested(&mut state.interceptor, now) {
                Ok(step) => (Ok(()), step),
                Err(error) => (Err(error), Step::default()),
            }
        });
        Ok(done?)
    }

    async fn retry(&self, error: ErrorId) -> Result<(), ChangeError> {
        let done = self.act(|state| {
            let now = Time::from_millis(state.now);
            let State { interceptor, stored, .. } = state;
            let Ok(done) = interceptor.delivery().retry(Context { stored, random: 77, now }, error);
            match done {
                Ok(step) => (Ok(()), step),
                Err(error) => (Err(error), Step::default()),
            }
        });
        Ok(done?)
    }

    async fn content(&self, content: Content) -> Result<Vec<u8>, StoreFailed> {
        let Ok(bytes) = self.state.lock().unwrap().stored.content(&content);
        Ok(bytes)
    }

    async fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, StoreFailed> {
        let Ok(found) = self.state.lock().unwrap().stored.representation(partition, location);
        Ok(found)
    }

    async fn stream(&self, content: Content) -> Result<Body, StoreFailed> {
        self.content(content).await.map(Body::from)
    }

    fn events(&self) -> broadcast::Receiver<Arc<Event>> {
        self.events.subscribe()
    }
}

/// Response of the control port.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn header(&self, name: impl header::AsHeaderName) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Checks the status; returns the value.
    pub(crate) fn ok(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// Checks that the response is a problem with this status and kind.
    pub(crate) fn problem(&self, status: u16, kind: &str) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header(header::CONTENT_TYPE), "application/problem+json", "{self:?}");
        let problem = self.json();
        assert_eq!(problem["type"], format!("urn:feedsync:1:problem:{kind}"));
        assert_eq!(problem["status"], status);
        problem
    }
}

impl World {
    /// Creates a world that allows pages of these origins.
    pub(crate) fn new(origins: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let state = State {
            interceptor: interceptor::State::new(Settings::default()),
            stored: Stock::default(),
            now: BEGINNING,
            random: 0,
            answers: HashMap::new(),
        };
        let (events, _) = broadcast::channel(64);
        let interceptor_handle = Arc::new(Memory { state: Mutex::new(state), events });
        let origins = origins.iter().map(|origin| origin.parse().unwrap()).collect();
        let control =
            Control::new(interceptor_handle.clone(), directory.path(), origins, None, None)
                .unwrap();
        let token = std::fs::read_to_string(directory.path().join(TOKEN_FILE)).unwrap();
        Self { interceptor_handle, control, token: token.trim().to_owned(), directory }
    }

    /// Sends a request without additional headers.
    pub(crate) async fn raw(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> axum::response::Response {
        let mut request = axum::extract::Request::new(Body::from(body.to_owned()));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().unwrap();
        *request.headers_mut() = map(headers);
        router(self.control.clone()).oneshot(request).await.unwrap()
    }

    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let response = self.raw(method, path, headers, body).await;
        let (head, body) = response.into_parts();
        let bytes = to_bytes(body, 4 << 20).await.unwrap();
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        Answer { status: head.status.as_u16(), headers: head.headers, text }
    }

    /// Sends a request of a program with the token.
    pub(crate) async fn program(&self, method: Method, path: &str, value: Value) -> Answer {
        let bearer = format!("Bearer {}", self.token);
        self.by(method, path, &[("authorization", &bearer)], value).await
    }

    /// Sends a request of a page.
    pub(crate) async fn page(
        &self,
        origin: &str,
        method: Method,
        path: &str,
        value: Value,
    ) -> Answer {
        self.by(method, path, &[("origin", origin)], value).await
    }

    pub(crate) async fn by(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        value: Value,
    ) -> Answer {
        let body = if value.is_null() { String::new() } else { value.to_string() };
        let fixed = [("host", "127.0.0.1:5024"), ("content-type", "application/json")];
        let headers = [&fixed[..usize::from(!value.is_null()) + 1], headers].concat();
        self.send(method, path, &headers, &body).await
    }
}

fn map(headers: &[(&str, &str)]) -> HeaderMap {
    let pair = |(name, value): &(&str, &str)| {
        (name.parse::<HeaderName>().unwrap(), value.parse::<http::HeaderValue>().unwrap())
    };
    let mut map = HeaderMap::new();
    for (name, value) in headers.iter().map(pair) {
        map.append(name, value);
    }
    map
}

/// A feed with a collection and members at these addresses.
pub(crate) fn feed(members: &[&str]) -> String {
    let entry = |at: &&str| {
        format!(
            "<entry><id>urn:{at}</id><title>{at}</title><updated>2024-01-01T00:00:00Z</updated>\
             <link rel=\"edit\" href=\"{at}\"/><content>{at}</content></entry>"
        )
    };
    let members: String = members.iter().map(entry).collect();
    format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\" xmlns:app=\"http://www.w3.org/2007/app\"><id>urn:f</id>\
         <title>F</title><updated>2024-01-01T00:00:00Z</updated><app:collection href=\"\">\
         <atom:title xmlns:atom=\"http://www.w3.org/2005/Atom\">F</atom:title></app:collection>{members}</feed>"
    )
}

pub(crate) const ATOM: (&str, &str) = ("content-type", "application/atom+xml");
