//! A gateway with servers whose responses a test defines.

use std::collections::BTreeMap;

use feedsync_bitsy::interceptor::{
    Decision, EditRequest, Entity, EventKind, ForwardOutcome, Outcome, Policy, Request, Settings,
    Step, SubscriptionId, Task,
};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::profile::Profile;
use feedsync_bitsy::subscription::Holder;
use feedsync_bitsy::subscription::builder::SubscriptionBuilder;
use feedsync_bitsy::subscription::state::State;
use feedsync_bitsy::time::Time;
use http::{HeaderMap, HeaderName, Method, StatusCode};

use crate::gateway::Gateway;

/// The feed of the document's examples.
pub(crate) const FEED: &str = "http://www.example.com/feed";

/// A response, as a server sends it and as an application gets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

/// A request that reached a server.
#[derive(Debug, Clone)]
pub(crate) struct Arrived {
    pub(crate) line: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

pub(crate) struct Desk {
    pub(crate) gateway: Gateway,
    pub(crate) now: Time,
    pub(crate) is_online: bool,
    /// Whether this process ends once, before it receives the response to an edit whose application waits.
    pub(crate) ends_in_the_middle: bool,
    /// Responses of servers, by `METHOD URL`.
    answers: BTreeMap<String, Answer>,
    /// Requests that have arrived.
    pub(crate) arrived: Vec<Arrived>,
    /// Events for applications, in the form that the document's listeners print.
    pub(crate) told: Vec<String>,
    /// The same events as values.
    pub(crate) kind: Vec<EventKind>,
    number: u128,
}

pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &str) -> Answer {
    Answer { status, headers: fields(headers), body: body.to_owned() }
}

pub(crate) fn fields(headers: &[(&str, &str)]) -> HeaderMap {
    let field = |(name, value): &(&str, &str)| {
        (name.parse::<HeaderName>().unwrap(), value.parse().unwrap())
    };
    headers.iter().map(field).collect()
}

/// A feed with these parts.
pub(crate) fn feed(parts: &str) -> Answer {
    let text = format!(
        "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:app='http://www.w3.org/2007/app'>\
         <id>urn:feed</id><title>f</title><updated>2008-05-21T00:00:00Z</updated>{parts}</feed>"
    );
    answer(200, &[("content-type", "application/atom+xml"), ("etag", "\"f1\"")], &text)
}

/// An entry in the form that an application writes.
pub(crate) fn entry(title: &str) -> String {
    format!(
        "<entry xmlns='http://www.w3.org/2005/Atom'><id>urn:{title}</id><title>{title}</title>\
         </entry>"
    )
}

/// An editable member of the feed, and its collection.
pub(crate) const EDITABLE: &str = "<app:collection href='/members'/>\
    <entry><id>urn:a</id><title>a</title><link rel='edit' href='/feed/entry'/></entry>";

impl Desk {
    pub(crate) fn new() -> Self {
        Self::of(Profile::Resilient)
    }

    pub(crate) fn of(profile: Profile) -> Self {
        let settings = Settings { profile, honours_no_store: true };
        Self {
            gateway: Gateway::new(settings),
            now: Time::from_millis(1_211_328_000_000),
            is_online: true,
            ends_in_the_middle: false,
            answers: BTreeMap::new(),
            arrived: Vec::new(),
            told: Vec::new(),
            kind: Vec::new(),
            number: 0,
        }
    }

    /// A desk that is subscribed to a feed with an editable member, which is stored.
    pub(crate) fn with_member() -> Self {
        let mut desk = Self::new();
        desk.serve("GET", FEED, feed(EDITABLE));
        desk.subscribe(&[], &[]);
        desk.run();
        desk
    }

    /// Sets the response of a server.
    pub(crate) fn serve(&mut self, method: &str, url: &str, answer: Answer) {
        self.answers.insert(format!("{method} {url}"), answer);
    }

    /// Subscribes to the feed.
    pub(crate) fn subscribe(
        &mut self,
        follows: &[&str],
        headers: &[(&str, &str)],
    ) -> (SubscriptionId, Holder) {
        let mut builder = SubscriptionBuilder::new(None);
        builder.set_feed(FEED).unwrap();
        for relation in follows {
            builder.add_follow(relation).unwrap();
        }
        for (name, value) in headers {
            builder.set_request_header(name, value).unwrap();
        }
        let wanted = builder.build().unwrap();
        let (id, holder, step) = self.gateway.state.subscribe(wanted, self.now);
        self.take(&step);
        (id, holder)
    }

    /// Stores a step and sends its events.
    pub(crate) fn take(&mut self, step: &Step) {
        self.gateway.write(step);
        for event in &step.events {
            self.kind.push(event.kind.clone());
            self.told.push(match &event.kind {
                EventKind::State(change) => format!("{} {}", change.state.name(), change.location),
                EventKind::Sync(sync) => {
                    let status = sync.status.as_u16();
                    format!("{status} {} {}", sync.method, sync.location)
                }
            });
        }
    }

    /// Runs due tasks until there are none.
    pub(crate) fn run(&mut self) {
        for _ in 0..200 {
            let begun = self.begin();
            let is_over = begun.0.is_empty();
            self.carry_out(begun);
            if is_over {
                return;
            }
        }
        panic!("it never rests");
    }

    /// The due tasks, and the step that begins them.
    pub(crate) fn begin(&mut self) -> (Vec<Task>, Step) {
        let of = &mut self.gateway;
        of.begin(4, self.now).unwrap()
    }

    /// Stores a step and runs its tasks.
    pub(crate) fn carry_out(&mut self, (tasks, step): (Vec<Task>, Step)) {
        self.take(&step);
        for task in tasks {
            let body = task.body.map(|it| self.text(&it)).unwrap_or_default();
            let outcome = self.network(&task.method, &task.location, &task.headers, body);
            let of = &mut self.gateway;
            let step = of.finished(task.id, outcome, self.now, 0);
            self.take(&step.unwrap());
        }
    }

    /// Advances the time and runs the tasks that are due then.
    pub(crate) fn after(&mut self, seconds: u64) {
        self.now = self.now.after(std::time::Duration::from_secs(seconds));
        self.run();
    }

    /// Forbids the use of the network.
    pub(crate) fn go_offline(&mut self) {
        let step = self.gateway.state.set_policy(Policy::Offline);
        self.take(&step);
    }

    /// Response to a request of an application.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let (method, location) = (method.parse::<Method>().unwrap(), at(url));
        let headers = fields(headers);
        let request = Request { method: &method, location: &location, headers: &headers };
        let of = &self.gateway;
        let decision = of.decide(request, self.now).unwrap();
        self.number += 1;
        let entity = |of: &Gateway| {
            let has_body = method != Method::DELETE;
            has_body.then(|| Entity::sent(&headers, of.disk.hold(body.as_bytes().to_vec())))
        };
        let reply = match decision {
            Decision::Answer(reply) => *reply,
            Decision::Pass => {
                let outcome = self.network(&method, &location, &headers, body.to_owned());
                if let Outcome::ServerResponse { status, headers, .. } = &outcome {
                    let of = &mut self.gateway;
                    let request = (&method, &location);
                    let step = of.passed_through(request, *status, headers, self.now);
                    self.take(&step.unwrap());
                }
                return self.passed_through(outcome);
            }
            Decision::QueueEdit(proposed) => {
                let (entity, number) = (entity(&self.gateway), self.number);
                let of = &mut self.gateway;
                let taken = of.take(
                    EditRequest { proposed: &proposed, headers: &headers, entity },
                    number,
                    self.now,
                );
                let (reply, step) = taken.unwrap();
                self.take(&step);
                reply
            }
            Decision::ForwardEdit(proposed) => {
                let entity = entity(&self.gateway);
                let step = self.gateway.state.delivery().begin_forward(&proposed, entity.as_ref());
                self.take(&step);
                let place = &proposed.location;
                let outcome = self.network(&method, place, &headers, body.to_owned());
                let forwarded = match outcome.clone() {
                    Outcome::ServerResponse { status, headers, content } => {
                        ForwardOutcome::ServerResponse { status, headers, content }
                    }
                    _ => ForwardOutcome::Lost { perhaps_arrived: false },
                };
                if std::mem::take(&mut self.ends_in_the_middle) {
                    self.restart();
                    return answer(0, &[], "the connection has ended");
                }
                let number = self.number;
                let of = &mut self.gateway;
                let told = of.forwarded(
                    EditRequest { proposed: &proposed, headers: &headers, entity },
                    &forwarded,
                    number,
                    self.now,
                );
                let (reply, step) = told.unwrap();
                self.take(&step);
                match reply {
                    Some(reply) => reply,
                    None => return self.passed_through(outcome),
                }
            }
        };
        let body = String::from_utf8(self.gateway.bytes(&reply)).unwrap();
        Answer { status: reply.status.as_u16(), headers: reply.headers, body }
    }

    /// Response to a GET request of an application.
    pub(crate) fn get(&mut self, url: &str) -> Answer {
        self.ask("GET", url, &[], "")
    }

    /// State of the subscription.
    pub(crate) fn state(&self) -> State {
        self.gateway.state.stored_subscriptions().last().unwrap().subscription.state()
    }

    /// The errors, as `STATUS METHOD URL`.
    pub(crate) fn errors(&self) -> Vec<String> {
        let errors = self.gateway.state.errors().all();
        let line = errors.map(|error| {
            let of = &error.interaction;
            format!("{} {} {}", of.status.as_u16(), of.method, of.location)
        });
        line.collect()
    }

    /// Requests that have arrived since the last call, as `METHOD URL`.
    pub(crate) fn lines(&mut self) -> Vec<String> {
        self.arrived.drain(..).map(|arrived| arrived.line).collect()
    }

    /// Restarts the process from the stored state.
    pub(crate) fn restart(&mut self) {
        self.gateway.crash(None);
    }

    fn passed_through(&self, outcome: Outcome) -> Answer {
        match outcome {
            Outcome::ServerResponse { status, headers, content } => {
                Answer { status: status.as_u16(), headers, body: self.text(&content) }
            }
            _ => answer(504, &[], "not to be reached"),
        }
    }

    fn text(&self, content: &feedsync_bitsy::interceptor::Content) -> String {
        let bytes = feedsync_bitsy::interceptor::Stored::content(&self.gateway.disk, content);
        String::from_utf8(bytes.unwrap()).unwrap()
    }

    fn network(
        &mut self,
        method: &Method,
        location: &Location,
        headers: &HeaderMap,
        body: String,
    ) -> Outcome {
        if !self.is_online {
            return Outcome::Lost { perhaps_arrived: false };
        }
        let line = format!("{method} {location}");
        let answer = self.answers.get(&line).cloned();
        self.arrived.push(Arrived { line, headers: headers.clone(), body });
        let answer = answer.unwrap_or_else(|| self::answer(404, &[], "not found"));
        let content = self.gateway.disk.hold(answer.body.into_bytes());
        let status = StatusCode::from_u16(answer.status).unwrap();
        Outcome::ServerResponse { status, headers: answer.headers, content }
    }
}

pub(crate) fn at(url: &str) -> Location {
    url.parse().unwrap()
}
