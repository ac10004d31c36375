//! A newsreader, a gateway that decides and stores, and a server that may be away.

use std::collections::HashMap;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{Change, Content};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::newsreader::{
    Accounts, CachedResponse, Call, Delivery, DeliveryResult, Form, Interface, Next, Operation,
    Request, Rows,
};
use feedsync_bitsy::time::Time;
use feedsync_reader_api::{RawRequest, RawResponse};
use http::{HeaderMap, HeaderValue};

use crate::server::Server;

/// A request of a newsreader: request line and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) line: String,
    pub(crate) body: String,
}

pub(crate) fn said(line: &str, body: &str) -> Said {
    Said { line: line.to_owned(), body: body.to_owned() }
}

pub(crate) struct Desk {
    pub(crate) interface: Interface,
    pub(crate) base: Location,
    pub(crate) accounts: Accounts,
    /// State that survives a crash.
    pub(crate) disk: Rows,
    pub(crate) contents: HashMap<Content, Vec<u8>>,
    pub(crate) server: Server,
    /// Session that the newsreader received at sign-in.
    pub(crate) session: String,
    pub(crate) is_away: bool,
    pub(crate) now: u64,
    /// Number of steps until the gateway is killed, if it is.
    pub(crate) left: Option<usize>,
}

/// Error: the gateway was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Killed;

impl Desk {
    pub(crate) fn new(interface: Interface, server: Server) -> Self {
        Self {
            interface,
            base: "http://hub.example/reader/".parse().unwrap(),
            accounts: Accounts::default(),
            disk: Rows::default(),
            contents: HashMap::new(),
            session: server.session.clone(),
            server,
            is_away: false,
            now: 1_795_330_000_000,
            left: None,
        }
    }

    /// A point at which the gateway may be killed.
    fn step(&mut self) -> Result<(), Killed> {
        match &mut self.left {
            Some(0) => Err(Killed),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn store(&mut self, changes: &[Change]) -> Result<(), Killed> {
        self.step()?;
        changes.iter().for_each(|change| self.disk.make(change));
        self.step()
    }

    /// Restarts from the stored state.
    pub(crate) fn restart(&mut self) {
        self.left = None;
        self.accounts = Accounts::restored(self.disk.clone());
    }

    /// Credentials of the user in this interface.
    pub(crate) fn shown(&self) -> String {
        match self.interface {
            Interface::Google => format!("GoogleLogin auth={}", self.session),
            _ => self.server.basic(),
        }
    }

    pub(crate) fn read(&self, said: &Said, shown: &str) -> Call {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_str(shown).unwrap());
        self.interface.read(&Request { requested: requested(said), headers: &headers })
    }

    /// Response of the server, if it is reachable.
    pub(crate) fn direct(&mut self, said: &Said, shown: &str) -> Option<RawResponse> {
        let here = !self.is_away;
        here.then(|| self.server.answer(self.interface, &requested(said), shown))
    }

    pub(crate) fn ask(&mut self, said: &Said) -> Result<RawResponse, Killed> {
        let shown = self.shown();
        self.ask_as(said, &shown)
    }

    /// Responds to a newsreader in the way of a gateway.
    pub(crate) fn ask_as(&mut self, said: &Said, shown: &str) -> Result<RawResponse, Killed> {
        self.now += 1_000;
        let call = self.read(said, shown);
        let at = (self.interface, self.base.clone());
        let known = self.accounts.partition_of(at.0, &at.1, &call.credentials);
        if let Some(partition) = known {
            self.deliver(partition)?;
        }
        let now = Time::from_millis(self.now);
        match &call.operation {
            Operation::SignIn { sign_in, is_json } => {
                let Some(answer) = self.direct(said, shown) else {
                    let session = self.accounts.session(at.0, &at.1, sign_in);
                    return Ok(match session {
                        Some(session) => self.interface.signed_in(session, call.seq, *is_json),
                        None => self.interface.refused(call.seq, "away"),
                    });
                };
                if let Some(session) = self.interface.session(answer.status, &answer.body) {
                    let changes = self.accounts.signed_in((at.0, &at.1), sign_in, &session, now);
                    self.store(&changes)?;
                }
                Ok(answer)
            }
            Operation::ReadRequest(reading) => {
                let stamp = self.accounts.stamp(known.unwrap_or_else(Partition::public));
                let Some(answer) = self.direct(said, shown) else {
                    let kept =
                        known.and_then(|whose| self.accounts.kept(whose, reading.key)).cloned();
                    let Some(kept) = kept else {
                        return Ok(self.interface.refused(call.seq, "away"));
                    };
                    let body = self.contents[&kept.content].clone();
                    let body = self.merged(&reading.form, &kept, &body);
                    return Ok(RawResponse { status: 200, media_type: None, body });
                };
                let facts = self.interface.facts(&reading.form, &answer.body);
                let is_done = self.interface.is_done(answer.status, &answer.body);
                let Some(facts) = facts.filter(|_| is_done) else { return Ok(answer) };
                let noted =
                    self.accounts.answered((at.0, &at.1), &call.credentials, reading.is_proof, now);
                let Some((partition, mut changes)) = noted else { return Ok(answer) };
                let content = Content::of(&answer.body);
                self.contents.insert(content, answer.body.clone());
                let kind = match &reading.form {
                    Form::List(list) => list.kind,
                    _ => 0,
                };
                let kept = CachedResponse {
                    partition,
                    key: reading.key,
                    kind,
                    stamp,
                    fetched: now,
                    media_type: String::new(),
                    content,
                    facts,
                };
                changes.extend(self.accounts.keep(kept.clone()));
                self.store(&changes)?;
                let body = self.merged(&reading.form, &kept, &answer.body);
                Ok(RawResponse { body, ..answer })
            }
            Operation::ChangeRequest(writing) => {
                let is_behind = known.is_some_and(|it| self.accounts.pending(it).next().is_some());
                if !is_behind && let Some(answer) = self.direct(said, shown) {
                    self.step()?;
                    let is_done = self.interface.is_done(answer.status, &answer.body);
                    if let Some(partition) = known.filter(|_| is_done) {
                        let changes = self.accounts.made(self.interface, partition, writing);
                        self.store(&changes)?;
                        return Ok(answer);
                    }
                    if known.is_none() || !self.interface.is_unknown(answer.status, &answer.body) {
                        return Ok(answer);
                    }
                }
                let Some(partition) = known else {
                    return Ok(self.interface.refused(call.seq, "away"));
                };
                match self.accounts.take(self.interface, partition, writing) {
                    Ok(changes) => {
                        self.store(&changes)?;
                        Ok(writing.answer.clone())
                    }
                    Err(full) => Ok(self.interface.refused(call.seq, &full.to_string())),
                }
            }
            Operation::Transient(word) => {
                Ok(self.direct(said, shown).unwrap_or_else(|| word.clone()))
            }
            Operation::Other => {
                let refused = self.interface.refused(call.seq, "away");
                Ok(self.direct(said, shown).unwrap_or(refused))
            }
        }
    }

    pub(crate) fn merged(&self, form: &Form, kept: &CachedResponse, body: &[u8]) -> Vec<u8> {
        let (overlay, others) = self.accounts.overlay(kept);
        let others: Vec<Vec<u8>> = others.iter().map(|it| self.contents[it].clone()).collect();
        self.interface.merged(form, body, &overlay, &others).expect("what was kept can be read")
    }

    /// Sends the waiting changes and returns the result of the last one.
    pub(crate) fn deliver(
        &mut self,
        partition: Partition,
    ) -> Result<Option<DeliveryResult>, Killed> {
        let Some(account) = self.accounts.account(partition).cloned() else { return Ok(None) };
        let mut delivery = Delivery::new(account);
        let mut last = None;
        loop {
            let next = self.accounts.pending(partition).next().cloned();
            let Some(written) = next.filter(|_| !self.is_away) else { return Ok(last) };
            let mut asking = delivery.begin(written.change);
            let ended = loop {
                self.step()?;
                let line = format!("{} {}", asking.method, asking.path);
                let body = String::from_utf8(asking.body).unwrap();
                let shown = asking.headers.get("authorization");
                let shown = shown.map_or("", |value| value.to_str().unwrap());
                let answer =
                    self.server.answer(self.interface, &requested(&said(&line, &body)), shown);
                match delivery.answered(answer.status, &answer.body) {
                    Next::Ask(next) => asking = next,
                    Next::DeliveryResult(ended) => break ended,
                }
            };
            last = Some(ended);
            match ended {
                DeliveryResult::Sent => {
                    let changes = self.accounts.sent(written.id);
                    self.store(&changes)?;
                }
                DeliveryResult::Refused => {
                    let (_, change) = self.accounts.refused(written.id).unwrap();
                    self.store(&[change])?;
                }
                DeliveryResult::Away => return Ok(last),
                DeliveryResult::Unknown => {
                    self.accounts.hold(partition);
                    return Ok(last);
                }
            }
        }
    }

    /// Signs in, if the interface has sessions.
    pub(crate) fn sign_in(&mut self) -> Result<Option<RawResponse>, Killed> {
        let password = self.server.password.clone();
        self.sign_in_with(&password)
    }

    pub(crate) fn sign_in_with(&mut self, password: &str) -> Result<Option<RawResponse>, Killed> {
        let name = self.server.name.clone();
        let said = match self.interface {
            Interface::Google => {
                said("POST accounts/ClientLogin", &format!("Email={name}&Passwd={password}"))
            }
            Interface::TinyTinyRss => said(
                "POST api/",
                &format!(r#"{{"op":"login","user":"{name}","password":"{password}"}}"#),
            ),
            _ => return Ok(None),
        };
        let shown = match self.interface {
            Interface::Google => "none".to_owned(),
            _ => self.shown(),
        };
        let answer = self.ask_as(&said, &shown)?;
        if let Some(session) = self.interface.session(answer.status, &answer.body) {
            self.session = session;
        }
        Ok(Some(answer))
    }
}

pub(crate) fn requested(said: &Said) -> RawRequest<'_> {
    let (method, address) = said.line.split_once(' ').unwrap();
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    RawRequest { method, path, query, content_type: None, body: said.body.as_bytes() }
}
