//! One schedule: applications read and edit, networks fail, servers fail, and gateways crash. A calm phase
//! follows. The conditions after it are in [`crate::truth`].

use std::collections::BTreeSet;

use feedsync_bitsy::interceptor::{
    Decision, EditRequest, Entity, ForwardOutcome, Outcome, Proposed, ReplyBody, Request, Settings,
    Step, Task,
};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::outbox::Progress;
use feedsync_bitsy::profile::Profile;
use feedsync_bitsy::subscription::builder::SubscriptionBuilder;
use feedsync_bitsy::subscription::state::State;
use feedsync_bitsy::time::Time;
use http::header::{self, HeaderMap};
use http::{Method, StatusCode};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

mod network;
mod retries;

use crate::gateway::Gateway;
use crate::origin::{FEED, Habits, Origin, entries, entry, words};

/// Maximum number of concurrent requests of a gateway.
const ROOM: usize = 6;

/// An edit that a gateway acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledged {
    pub(crate) gateway: usize,
    pub(crate) method: Method,
    /// Words of the edit; empty for a deletion.
    pub(crate) words: String,
    /// Address of the edited resource, as the application knows it.
    pub(crate) resource: String,
    /// Whether the application received the acknowledgement. A crash may prevent that although the edit is
    /// stored.
    pub(crate) is_heard: bool,
}

pub(crate) struct World {
    random: SmallRng,
    now: Time,
    pub(crate) origin: Origin,
    pub(crate) gateways: Vec<Gateway>,
    is_up: Vec<bool>,
    /// Addresses of members that the applications of each gateway know.
    known: Vec<BTreeSet<String>>,
    pub(crate) acknowledged: Vec<Acknowledged>,
    next_words: u32,
    /// Whether servers and networks fail.
    is_rough: bool,
    crashes: bool,
    pub(crate) had_power_cuts: bool,
    pub(crate) profile: Profile,
    is_traced: bool,
}

/// An edit that an application sent through a gateway.
struct SentEdit<'e> {
    gateway: usize,
    method: &'e Method,
    at: &'e str,
    words: String,
}

/// Subscriptions are paused by failures only, and each failure is a recorded error (2.1.3).
fn paused_for_a_reason(gateway: &Gateway) {
    let stored_subscriptions = gateway
        .state
        .stored_subscriptions()
        .map(|stored_subscription| &stored_subscription.subscription);
    for subscription in stored_subscriptions.filter(|it| it.state() == State::Paused) {
        let failure = subscription.failure().expect("a reason");
        let errors = gateway.state.errors();
        let errors = errors.of(subscription.partition(), subscription.feed());
        let mut known = errors.iter().map(|error| &error.interaction);
        assert!(
            known.any(|it| (&it.location, it.status) == (&failure.location, failure.status)),
            "{failure:?}"
        );
    }
}

impl World {
    pub(crate) fn new(seed: u64, crashes: bool, profile: Profile) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let habits = Habits {
            keeps_ids: random.random(),
            has_tags: random.random_bool(0.8),
            names_location: random.random_bool(0.8),
            sends_entity: random.random(),
            has_collection: random.random(),
        };
        let count = random.random_range(1..=3);
        let settings = Settings { profile, honours_no_store: true };
        let mut world = Self {
            now: Time::from_millis(1_000_000_000_000),
            origin: Origin::new(habits),
            gateways: (0..count).map(|_| Gateway::sampled(settings)).collect(),
            is_up: vec![true; count],
            known: vec![BTreeSet::new(); count],
            acknowledged: Vec::new(),
            next_words: 0,
            is_rough: true,
            crashes,
            had_power_cuts: false,
            profile,
            is_traced: std::env::var_os("FEEDSYNC_TRACE").is_some(),
            random,
        };
        for gateway in 0..count {
            world.subscribe(gateway);
        }
        world
    }

    fn subscribe(&mut self, gateway: usize) {
        let mut builder = SubscriptionBuilder::new(None);
        builder.set_feed(FEED).unwrap().set_interval(10).add_follow("edit").unwrap();
        let wanted = builder.build().unwrap();
        let gateway = &mut self.gateways[gateway];
        let (_, _, step) = gateway.state.subscribe(wanted, self.now);
        gateway.write(&step);
    }

    pub(crate) fn run(mut self) {
        for _ in 0..self.random.random_range(20..120) {
            self.step();
        }
        self.is_rough = false;
        self.lull();
        self.check();
        self.retry_errors();
    }

    fn step(&mut self) {
        let gateway = self.random.random_range(0..self.gateways.len());
        match self.random.random_range(0..100) {
            0..30 => self.edit(gateway),
            30..45 => self.read(gateway),
            45..75 => self.background(gateway),
            75..85 => self.is_up[gateway] = self.random.random_bool(0.6),
            85..93 => self.pass(self.random.clone().random_range(1..200_000)),
            93..96 => self.resume(gateway),
            96..98 => self.gateways[gateway].sweep(),
            _ => {
                if self.crashes {
                    self.crash(gateway);
                }
            }
        }
        self.random.random::<u64>();
        self.gateways.iter().for_each(paused_for_a_reason);
    }

    fn pass(&mut self, millis: u64) {
        self.now = Time::from_millis(self.now.millis() + millis);
    }

    fn crash(&mut self, gateway: usize) {
        self.trace(|| format!("{gateway} crashes"));
        let kept = self.random.random_bool(0.3).then(|| self.random.random_range(0..20));
        self.had_power_cuts |= kept.is_some();
        self.gateways[gateway].crash(kept);
    }

    /// Writes a step. Sometimes the process ends before or after. Returns whether it continues.
    fn write(&mut self, gateway: usize, step: &Step) -> bool {
        let ends = self.crashes && self.is_rough;
        if ends && self.random.random_bool(0.01) {
            self.crash(gateway);
            return false;
        }
        self.gateways[gateway].write(step);
        if ends && self.random.random_bool(0.01) {
            self.crash(gateway);
            return false;
        }
        true
    }

    /// Makes a random edit of an application.
    fn edit(&mut self, gateway: usize) {
        let targets: Vec<String> = self.known[gateway].iter().cloned().collect();
        let target = targets.choose(&mut self.random).cloned();
        self.next_words += 1;
        let words = format!("w{}", self.next_words);
        let (method, at) = match (self.random.random_range(0..10), target) {
            (0..4, _) | (_, None) => (Method::POST, self.origin.collection().to_owned()),
            (4..8, Some(target)) => (Method::PUT, target),
            (_, Some(target)) => (Method::DELETE, target),
        };
        let words = if method == Method::DELETE { String::new() } else { words };
        self.ask_to_edit(gateway, method, &at, words);
    }

    fn ask_to_edit(&mut self, gateway: usize, method: Method, at: &str, words: String) {
        let location: Location = at.parse().unwrap();
        let headers = retries::headers_of(&words);
        let request = Request { method: &method, location: &location, headers: &headers };
        let of = &self.gateways[gateway];
        let decision = of.decide(request, self.now).unwrap();
        let body = (method != Method::DELETE).then(|| entry(&words));
        let entity =
            |of: &Gateway| body.clone().map(|body| Entity::sent(&headers, of.disk.hold(body)));
        match decision {
            Decision::Answer(reply) => {
                let is_elsewhere = reply.status == StatusCode::PERMANENT_REDIRECT;
                if is_elsewhere || reply.status == StatusCode::GONE {
                    self.known[gateway].remove(at);
                }
            }
            // Only the server acknowledges a request that is forwarded.
            Decision::Pass => {}
            Decision::QueueEdit(proposed) => {
                let entity = entity(&self.gateways[gateway]);
                let random = self.random.random();
                let of = &mut self.gateways[gateway];
                let taken = of.take(
                    EditRequest { proposed: &proposed, headers: &headers, entity },
                    random,
                    self.now,
                );
                let (reply, step) = taken.unwrap();
                let is_heard = self.write(gateway, &step);
                if reply.status.is_success() {
                    let edit = SentEdit { gateway, method: &method, at, words };
                    self.acknowledge(edit, &reply.headers, is_heard);
                }
            }
            Decision::ForwardEdit(proposed) => {
                let edit = SentEdit { gateway, method: &method, at, words };
                self.carry(edit, &proposed, &headers, body.as_deref());
            }
        }
    }

    fn carry(
        &mut self,
        edit: SentEdit<'_>,
        proposed: &Proposed,
        headers: &HeaderMap,
        body: Option<&[u8]>,
    ) {
        let SentEdit { gateway, method, .. } = edit;
        if proposed.needs_sync {
            self.gateways[gateway].sync();
        }
        let of = &mut self.gateways[gateway];
        let entity = body.map(|body| Entity::sent(headers, of.disk.hold(body.to_owned())));
        let step = of.state.delivery().begin_forward(proposed, entity.as_ref());
        if !self.write(gateway, &step) {
            return;
        }
        let place = proposed.location.clone();
        let outcome = self.network(gateway, (method, &place), headers, body.unwrap_or_default());
        if self.crashes && self.is_rough && self.random.random_bool(0.05) {
            self.crash(gateway);
            return;
        }
        let of = &mut self.gateways[gateway];
        let forwarded = match &outcome {
            Outcome::ServerResponse { status, headers, content } => {
                ForwardOutcome::ServerResponse {
                    status: *status,
                    headers: headers.clone(),
                    content: *content,
                }
            }
            Outcome::Lost { perhaps_arrived } => {
                ForwardOutcome::Lost { perhaps_arrived: *perhaps_arrived }
            }
            Outcome::OutOfSpace => return,
        };
        let random = self.random.random();
        let told =
            of.forwarded(EditRequest { proposed, headers, entity }, &forwarded, random, self.now);
        let (reply, step) = told.unwrap();
        let is_heard = self.write(gateway, &step);
        let (status, answer) = match (&reply, &forwarded) {
            (Some(reply), _) => (reply.status, reply.headers.clone()),
            (None, ForwardOutcome::ServerResponse { status, headers, .. }) => {
                (*status, headers.clone())
            }
            (None, ForwardOutcome::Lost { .. }) => unreachable!("what is lost is answered here"),
        };
        if status.is_success() {
            self.acknowledge(edit, &answer, is_heard);
        }
    }

    fn acknowledge(&mut self, edit: SentEdit<'_>, headers: &HeaderMap, is_heard: bool) {
        let SentEdit { gateway, method, at, words } = edit;
        let mut resource = at.to_owned();
        if *method == Method::POST {
            let told = headers.get(header::LOCATION).map(|told| told.to_str().unwrap().to_owned());
            resource = told.unwrap_or_else(|| format!("unknown:{words}"));
            if is_heard && resource.starts_with("http") {
                self.known[gateway].insert(resource.clone());
            }
        }
        if *method == Method::DELETE {
            self.known[gateway].remove(at);
        }
        let method = method.clone();
        self.trace(|| format!("{gateway} acknowledged {method} {words} {resource} {is_heard}"));
        self.acknowledged.push(Acknowledged { gateway, method, words, resource, is_heard });
    }

    /// Reads the feed as an application, which learns the addresses of members.
    fn read(&mut self, gateway: usize) {
        self.trace(|| format!("{gateway} reads"));
        let Some(feed) = self.get(gateway, FEED) else { return };
        let mut seen = BTreeSet::new();
        for (words, place) in entries(&feed) {
            let is_doubtful = || {
                let mut edits = self.gateways[gateway].state.edits();
                let made = |edit: &feedsync_bitsy::outbox::Edit<_>| edit.tries > 0;
                edits.any(made)
            };
            assert!(seen.insert(words.clone()) || is_doubtful(), "{words} shows twice");
            self.known[gateway].extend(place);
        }
        // An acknowledged edit that was never sent is shown, unless a later edit replaced it.
        for edit in self.gateways[gateway].state.edits() {
            let requested = &edit.requested;
            let last = self.gateways[gateway]
                .state
                .edits()
                .rfind(|other| other.requested.resource == requested.resource);
            let body =
                requested.body.as_ref().filter(|_| last.is_some_and(|last| last.id == edit.id));
            if let Some(body) =
                body.filter(|_| requested.method == feedsync_bitsy::propagation::Method::Post)
            {
                let bytes = feedsync_bitsy::interceptor::Stored::content(
                    &self.gateways[gateway].disk,
                    &body.content,
                )
                .unwrap();
                assert!(seen.contains(&words(&bytes)), "{} does not show", words(&bytes));
            }
        }
    }

    /// The representation that a gateway shows without asking a server.
    pub(crate) fn get(&self, gateway: usize, at: &str) -> Option<Vec<u8>> {
        let location: Location = at.parse().unwrap();
        let of = &self.gateways[gateway];
        let headers = HeaderMap::new();
        let request = Request { method: &Method::GET, location: &location, headers: &headers };
        match of.decide(request, self.now).unwrap() {
            Decision::Answer(reply) if reply.status == StatusCode::OK => {
                assert!(!matches!(reply.shows, ReplyBody::Nothing));
                Some(of.bytes(&reply))
            }
            _ => None,
        }
    }

    fn resume(&mut self, gateway: usize) {
        let ids: Vec<_> =
            self.gateways[gateway].state.stored_subscriptions().map(|it| it.id).collect();
        for id in ids {
            let step = self.gateways[gateway].state.resume(id, self.now).unwrap();
            self.write(gateway, &step);
        }
    }

    /// Begins due tasks of a gateway and completes some of the running ones.
    fn background(&mut self, gateway: usize) {
        let of = &mut self.gateways[gateway];
        let (tasks, step) = of.begin(ROOM, self.now).unwrap();
        if !self.write(gateway, &step) {
            return;
        }
        self.gateways[gateway].in_progress.extend(tasks);
        while !self.gateways[gateway].in_progress.is_empty() && self.random.random_bool(0.8) {
            let in_progress = &mut self.gateways[gateway].in_progress;
            let index = self.random.random_range(0..in_progress.len());
            let task = in_progress.remove(index);
            self.finish(gateway, &task);
        }
    }

    fn finish(&mut self, gateway: usize, task: &Task) {
        let of = &self.gateways[gateway];
        let body = task.body.map(|content| {
            feedsync_bitsy::interceptor::Stored::content(&of.disk, &content).unwrap()
        });
        let body = body.unwrap_or_default();
        let outcome = self.network(gateway, (&task.method, &task.location), &task.headers, &body);
        let random = self.random.random();
        let of = &mut self.gateways[gateway];
        if let Outcome::ServerResponse { status, headers, .. } = &outcome {
            let next = of.state.delivery().next_in_queue(task.id, *status, headers);
            if let Some(next) = next {
                // The next response may be processed before or after the present one.
                match self.random.random() {
                    true => self.finish(gateway, &next),
                    false => of.in_progress.push(next),
                }
            }
        }
        let of = &mut self.gateways[gateway];
        let step = of.finished(task.id, outcome, self.now, random).unwrap();
        self.write(gateway, &step);
    }

    /// Prints an event if a schedule is replayed with `FEEDSYNC_TRACE`.
    fn trace(&self, text: impl FnOnce() -> String) {
        if self.is_traced {
            eprintln!("{} {}", self.now, text());
        }
    }

    /// Calm phase: networks and servers work and nobody edits, until no tasks are left.
    fn lull(&mut self) {
        self.is_up.fill(true);
        for _ in 0..2_000 {
            let mut is_quiet = true;
            for gateway in 0..self.gateways.len() {
                self.resume_if_stopped(gateway);
                let of = &mut self.gateways[gateway];
                let (tasks, step) = of.begin(ROOM, self.now).unwrap();
                of.write(&step);
                of.in_progress.extend(tasks);
                let in_progress = std::mem::take(&mut of.in_progress);
                is_quiet &= in_progress.is_empty();
                for task in in_progress {
                    self.finish(gateway, &task);
                }
            }
            if is_quiet {
                if self.gateways.iter().all(|of| of.state.edits().next().is_none()) {
                    break;
                }
                self.pass(60_000);
            }
        }
        // Each feed is fetched again.
        for _ in 0..3 {
            self.pass(11 * 60_000);
            for _ in 0..50 {
                for gateway in 0..self.gateways.len() {
                    self.settle(gateway);
                }
            }
        }
    }

    /// Resumes after an error or a lack of credentials.
    fn resume_if_stopped(&mut self, gateway: usize) {
        let state = &self.gateways[gateway].state;
        let is_paused =
            state.stored_subscriptions().any(|it| it.subscription.state() == State::Paused);
        if is_paused || state.edits().any(|it| it.progress == Progress::Held) {
            self.resume(gateway);
        }
    }

    fn settle(&mut self, gateway: usize) {
        self.resume_if_stopped(gateway);
        let of = &mut self.gateways[gateway];
        let (tasks, step) = of.begin(ROOM, self.now).unwrap();
        of.write(&step);
        for task in tasks {
            self.finish(gateway, &task);
        }
    }
}
