//! An application that writes while a gateway and its server are killed, and records the responses.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::Value;

use super::application::{Answer, Application, ENTRY, entry};
use super::listing::Member;

/// Maximum number of notes at once.
const LIVE: usize = 8;

/// Possible final states of a note: the last acknowledged one, or any attempted since.
#[derive(Debug)]
struct Note {
    key: String,
    /// Address of the note, once it is known.
    location: Option<String>,
    /// Possible texts; `None` means that the note does not exist.
    may_be: Vec<Option<String>>,
    /// Texts of all edits without an acknowledgement; `None` is a deletion.
    unanswered: Vec<Option<String>>,
    /// Whether an edit was acknowledged after an unacknowledged deletion had deleted the note.
    is_overtaken: bool,
    versions: u32,
}

pub(crate) struct Writer {
    name: usize,
    application: Application,
    collection: String,
    random: SmallRng,
    notes: Vec<Note>,
    pub(crate) acknowledged: usize,
    pub(crate) unanswered: usize,
}

impl Writer {
    pub(crate) fn new(name: usize, seed: u64, application: Application, collection: &str) -> Self {
        Self {
            name,
            application,
            collection: collection.to_owned(),
            random: SmallRng::seed_from_u64(seed ^ name as u64),
            notes: Vec::new(),
            acknowledged: 0,
            unanswered: 0,
        }
    }

    /// Writes until `working` is false.
    pub(crate) fn run(mut self, working: &AtomicBool) -> Self {
        while working.load(Ordering::SeqCst) {
            let live: Vec<usize> = (0..self.notes.len())
                .filter(|at| {
                    let note = &self.notes[*at];
                    note.location.is_some() && note.may_be.iter().any(Option::is_some)
                })
                .collect();
            match live.len() {
                0 => self.create(),
                count => {
                    let at = live[self.random.random_range(0..count)];
                    match self.random.random_range(0..10) {
                        0..3 if count < LIVE => self.create(),
                        0..2 => self.delete(at),
                        _ => self.change(at),
                    }
                }
            }
        }
        self
    }

    /// Sends a request; `None` without a response, or if the response does not tell the outcome.
    fn ask(&mut self, method: &str, url: &str, title: Option<&str>) -> Option<Answer> {
        let body = title.map(entry);
        let headers: &[&str] = if body.is_some() { &[ENTRY] } else { &[] };
        let answer = self.application.ask(method, url, headers, body.as_deref().map(str::as_bytes));
        let answer = answer.filter(|answer| !matches!(answer.status, 502..=504));
        match answer {
            Some(_) => self.acknowledged += 1,
            None => {
                self.unanswered += 1;
                thread::sleep(Duration::from_millis(20));
            }
        }
        answer
    }

    fn create(&mut self) {
        let key = format!("note-{}-{}", self.name, self.notes.len());
        let title = format!("{key} 0");
        let answer = self.ask("POST", &self.collection.clone(), Some(&title));
        let mut note = Note {
            key,
            location: None,
            may_be: vec![Some(title.clone())],
            unanswered: vec![],
            is_overtaken: false,
            versions: 1,
        };
        match answer {
            Some(answer) => {
                assert_eq!(answer.status, 201, "{note:?} {}", answer.text());
                note.location = Some(answer.location());
            }
            None => {
                note.may_be.push(None);
                note.unanswered.push(Some(title));
            }
        }
        self.notes.push(note);
    }

    fn change(&mut self, at: usize) {
        let note = &mut self.notes[at];
        let title = format!("{} {}", note.key, note.versions);
        note.versions += 1;
        self.edit(at, "PUT", Some(title));
    }

    fn delete(&mut self, at: usize) {
        self.edit(at, "DELETE", None);
    }

    /// Edits a note at its current address, and follows a redirect to a new one.
    fn edit(&mut self, at: usize, method: &str, title: Option<String>) {
        loop {
            let url = self.notes[at].location.clone().expect("a note that is somewhere");
            let answer = self.ask(method, &url, title.as_deref());
            let note = &mut self.notes[at];
            match answer {
                None => {
                    note.unanswered.push(title.clone());
                    note.may_be.push(title);
                }
                Some(answer) => match answer.status {
                    200 | 204 => note.may_be = vec![title],
                    308 => {
                        note.location = Some(answer.location());
                        continue;
                    }
                    // An unacknowledged deletion has succeeded.
                    404 | 410 if note.unanswered.contains(&None) => {
                        note.is_overtaken |= !note.may_be.contains(&None);
                        note.may_be = vec![None];
                    }
                    status => panic!("{method} {url}: {status} {note:?} {}", answer.text()),
                },
            }
            return;
        }
    }

    /// Checks that the server's state matches the responses. A refused edit is allowed for a deleted note:
    /// the gateway was killed while it sent the deletion, which was not acknowledged. The gateway reports an
    /// error then.
    pub(crate) fn judge(&self, members: &[Member], refused: &[Value]) {
        let mut found: BTreeMap<&str, Vec<&Member>> = BTreeMap::new();
        for member in members {
            let key = member.title.split(' ').next().unwrap_or_default();
            found.entry(key).or_default().push(member);
        }
        for note in &self.notes {
            let there = found.get(&*note.key).map(Vec::as_slice).unwrap_or_default();
            assert!(there.len() < 2, "twice: {note:?} {there:?}");
            let title = there.first().map(|member| member.title.clone());
            let is_refused = || {
                let location = note.location.as_deref().map(|url| self.member(url));
                refused.iter().any(|error| {
                    error["location"].as_str().map(|url| self.application.at(url)) == location
                })
            };
            let is_deleted = title.is_none() && note.unanswered.contains(&None);
            assert!(
                note.may_be.contains(&title) || (is_deleted && is_refused()),
                "{title:?} is not {note:?}, refused is {refused:?}"
            );
            assert!(!note.is_overtaken || is_refused(), "{note:?} is lost: {refused:?}");
            if let Some(member) = there.first() {
                assert!(member.updates <= note.versions, "{member:?} was sent twice: {note:?}");
            }
        }
    }

    /// Current address of a note.
    fn member(&self, url: &str) -> String {
        let answer = self.application.get(url);
        if answer.status == 308 { answer.location() } else { self.application.at(url) }
    }
}
