//! Subscriptions, as scripts of pages use them.

use feedsync_bitsy::collections::SortedSet;
use feedsync_bitsy::interceptor::{ControlError, State, Step, SubscriptionId};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::relation::Relation;
use feedsync_bitsy::subscription::Holder;
use feedsync_bitsy::subscription::builder::{BuildError, SubscriptionBuilder, SubscriptionRequest};
use feedsync_bitsy::view::{self, Audience as _};
use serde_json::Value;

use super::{Asked, Told, absent, done, refused};
use crate::codec::Fields;
use crate::worker::{CommandError, Worker};

impl Worker {
    pub(super) fn subscriptions(
        &mut self,
        method: &str,
        rest: &[&str],
        asked: Asked<'_>,
    ) -> Result<Told, CommandError> {
        let ids = self.listed(asked);
        let id = rest.first().and_then(|id| id.parse().ok()).map(SubscriptionId);
        let id = match (rest.is_empty(), id.filter(|id| ids.contains(id))) {
            (true, _) if method == "GET" => {
                let views = ids.iter().map(|id| self.one(*id, asked));
                return Ok(Told::View(200, views.collect()));
            }
            (true, _) if method == "POST" => return self.subscribe(asked),
            (false, Some(id)) => id,
            _ => return Ok(absent("subscription")),
        };
        let now = asked.with.now;
        let changed = match (method, &rest[1..]) {
            ("GET", []) => Ok(()),
            ("GET", ["errors"]) => return Ok(self.errors_of(Some(id), asked)),
            ("DELETE", []) => return self.unsubscribe(id, asked),
            ("PATCH", []) => self.patch(id, asked)?,
            ("POST", ["pause"]) => self.try_change(asked.with, |state| state.pause(id, now))?,
            ("POST", ["resume"]) => self.try_change(asked.with, |state| state.resume(id, now))?,
            ("PUT" | "DELETE", ["follows", relation]) => {
                let Ok(relation) = unescaped(relation).parse::<Relation>() else {
                    return Ok(Told::Refused(422, format!("{relation} is no link relation")));
                };
                let adds = method == "PUT";
                self.change_own(id, asked, |state, holder| match adds {
                    true => state.add_follow(id, holder, relation.clone(), now),
                    false => state.remove_follow(id, holder, &relation, now),
                })?
            }
            _ => return Ok(absent("operation of a subscription")),
        };
        Ok(match changed {
            Ok(()) => Told::View(200, self.one(id, asked)),
            Err(refused) => refused,
        })
    }

    fn listed(&self, asked: Asked<'_>) -> Vec<SubscriptionId> {
        let all = self.engine.state().stored_subscriptions();
        all.filter(|it| asked.identity.lists(it)).map(|it| it.id).collect()
    }

    /// View of a subscription. The cookie that names the identity of a page is not shown.
    fn one(&mut self, id: SubscriptionId, asked: Asked<'_>) -> Value {
        let state = self.engine.state();
        let Some(stored) = state.stored_subscription(id) else { return Value::Null };
        let mut view = view::subscription(state, stored, asked.identity.shows(stored));
        self.pages.mark(&mut view);
        view
    }

    fn subscribe(&mut self, asked: Asked<'_>) -> Result<Told, CommandError> {
        let wanted = match wanted(asked) {
            Ok(wanted) => wanted,
            Err(why) => return Ok(Told::Refused(422, why)),
        };
        if !self.pages.is_below_limit() {
            let why = "this application has the maximum number of subscriptions";
            return Ok(Told::Refused(507, why.to_owned()));
        }
        let open: SortedSet<&str> = match asked.of.optional("open") {
            Some(_) => asked.of.list("open")?.iter().filter_map(Value::as_str).collect(),
            None => SortedSet::from([asked.page]),
        };
        let (now, pages) = (asked.with.now, &self.pages);
        let (id, holder, left) = self.engine.change(asked.with, |state, _| {
            let (id, holder, mut step) = state.subscribe(wanted, now);
            let left = pages.left(&open, id);
            let released =
                Step::of_each(&left, |left| state.unsubscribe(id, left, now)).unwrap_or_default();
            step.append(released);
            Ok(((id, holder, left), step))
        })?;
        self.pages.release(&left);
        self.pages.hold(asked.page, id, holder);
        Ok(Told::View(201, self.one(id, asked)))
    }

    fn unsubscribe(&mut self, id: SubscriptionId, asked: Asked<'_>) -> Result<Told, CommandError> {
        let open: SortedSet<&str> =
            asked.of.list("open")?.iter().filter_map(Value::as_str).collect();
        let mut holders = self.pages.own(asked.page, id);
        holders.extend(self.pages.left(&open, id));
        let now = asked.with.now;
        let changed = self.try_change(asked.with, |state| {
            Step::of_each(&holders, |holder| state.unsubscribe(id, holder, now))
        })?;
        self.pages.release(&holders);
        Ok(changed.map_or_else(|refused| refused, |()| done()))
    }

    fn patch(
        &mut self,
        id: SubscriptionId,
        asked: Asked<'_>,
    ) -> Result<Result<(), Told>, CommandError> {
        let (body, now) = (Fields(asked.body), asked.with.now);
        if body.optional("interval").is_some() && asked.body.get("proxy").is_some() {
            let why = "change the interval and the proxy by requests of their own".to_owned();
            return Ok(Err(Told::Refused(422, why)));
        }
        if body.optional("interval").is_some() {
            let Ok(minutes) = body.small("interval") else {
                let why = "the interval is a number of minutes from 0 to 65535".to_owned();
                return Ok(Err(Told::Refused(422, why)));
            };
            return self.change_own(id, asked, |state, holder| {
                state.set_interval(id, holder, minutes, now)
            });
        }
        if let Some(proxy) = asked.body.get("proxy") {
            let proxy = match proxy.as_str().map(str::parse::<Location>).transpose() {
                Ok(proxy) => proxy,
                Err(error) => return Ok(Err(Told::Refused(422, error.to_string()))),
            };
            return Ok(self.try_change(asked.with, |state| state.set_proxy(id, proxy, now))?);
        }
        Ok(Ok(()))
    }

    /// Changes the settings of the subscription for the page that asks. A page that did not subscribe joins first.
    fn change_own(
        &mut self,
        id: SubscriptionId,
        asked: Asked<'_>,
        change: impl Fn(&mut State, Holder) -> Result<Step, ControlError>,
    ) -> Result<Result<(), Told>, CommandError> {
        let own = self.pages.own(asked.page, id);
        let now = asked.with.now;
        let changed = self.engine.change(asked.with, |state, _| {
            let joined = own.is_empty().then(|| joining(state, id)).flatten();
            let (joined, mut step) = match joined {
                Some(wanted) => {
                    let (joined, holder, step) = state.subscribe(wanted, now);
                    (Some((joined, holder)), step)
                }
                None => (None, Step::default()),
            };
            let holders: Vec<Holder> =
                own.iter().copied().chain(joined.map(|(_, holder)| holder)).collect();
            let changed = Step::of_each(&holders, |holder| change(state, holder));
            let changed = changed.map(|changed| step.append(changed));
            Ok(((joined, changed), step))
        })?;
        let (joined, changed) = changed;
        if let Some((joined, holder)) = joined {
            self.pages.hold(asked.page, joined, holder);
        }
        Ok(changed.map_err(refused))
    }

    pub(super) fn refresh(&mut self, asked: Asked<'_>) -> Result<Told, CommandError> {
        let (ids, now) = (self.listed(asked), asked.with.now);
        self.engine.change(asked.with, |state, _| Ok(((), state.refresh_all(ids, now))))?;
        Ok(done())
    }
}

/// The request by which another page joins a subscription.
fn joining(state: &State, id: SubscriptionId) -> Option<SubscriptionRequest> {
    let subscription = &state.stored_subscription(id)?.subscription;
    Some(SubscriptionRequest {
        feed: subscription.feed().clone(),
        registered: subscription.registered().clone(),
        interval: 0,
        follows: SortedSet::new(),
        proxy: subscription.proxy().cloned(),
    })
}

/// Validates a new subscription; errors give the reason.
fn wanted(asked: Asked<'_>) -> Result<SubscriptionRequest, String> {
    let of = Fields(asked.body);
    let text = |error: BuildError| error.to_string();
    let base = of.optional_location("base").map_err(|error| error.to_string())?;
    let mut builder = SubscriptionBuilder::new(base);
    let feed = of.text("feed").map_err(|error| error.to_string())?;
    builder.set_feed(feed).map_err(text)?;
    let interval = of.optional("interval").map(|_| of.small("interval")).transpose();
    builder.set_interval(interval.map_err(|error| error.to_string())?.unwrap_or_default());
    for header in of.optional("headers").and_then(Value::as_array).into_iter().flatten() {
        let pair = header
            .get("name")
            .and_then(Value::as_str)
            .zip(header.get("value").and_then(Value::as_str));
        let (name, value) = pair.ok_or_else(|| format!("{header} is no header"))?;
        if name.eq_ignore_ascii_case("cookie") {
            return Err("a script cannot set cookies in a browser: requests are made with the \
                        browser's cookies, and the option `partition` of `register` names the \
                        person"
                .to_owned());
        }
        builder.add_request_header(name, value).map_err(text)?;
    }
    // The browser sends cookies with requests of this origin, and with others if the page asks for it.
    let origin: Option<Location> = of_command(asked, "origin")?;
    let is_at_home = origin
        .is_none_or(|origin| feed.parse().is_ok_and(|feed: Location| feed.is_same_origin(&origin)));
    let has_cookies =
        is_at_home || asked.of.optional("isNamed").and_then(Value::as_bool) == Some(true);
    if let Some(cookie) = asked.identity.cookie().filter(|_| has_cookies) {
        let cookie = cookie.to_str().unwrap_or_default();
        builder.set_request_header("Cookie", cookie).map_err(text)?;
    }
    for relation in of.optional("follows").and_then(Value::as_array).into_iter().flatten() {
        builder.add_follow(relation.as_str().unwrap_or_default()).map_err(text)?;
    }
    if let Some(proxy) = of.optional_text("proxy").map_err(|error| error.to_string())? {
        builder.set_proxy(proxy).map_err(text)?;
    }
    builder.build().map_err(text)
}

/// An address in the command itself.
fn of_command(asked: Asked<'_>, member: &'static str) -> Result<Option<Location>, String> {
    asked.of.optional_location(member).map_err(|error| error.to_string())
}

/// Text without the escapes of a path.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        bytes.extend_from_slice(before.as_bytes());
        let byte = after.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(b'%'));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}
