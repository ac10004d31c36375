//! An application that writes while a gateway and its server are killed, and remembers what it was told.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::Value;

use super::application::{Answer, Application, ENTRY, entry};
use super::listing::Member;

/// Notes that are there at once, at most.
const LIVE: usize = 8;

/// What a note may be in the end: what was acknowledged last, or anything that was tried since.
#[derive(Debug)]
struct Note {
    key: String,
    /// Where it is, once that was told.
    location: Option<String>,
    /// Its text, or none if it is not there.
    may_be: Vec<Option<String>>,
    /// What nobody acknowledged, at any time.
    unanswered: Vec<Option<String>>,
    /// Whether an edit was acknowledged of what a deletion that nobody acknowledged had deleted.
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

    /// Writes for as long as it may.
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

    /// Asks; nothing if nobody answered, or who answered could not say what became of it.
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

    /// Edits a note where it is, and where it has gone to.
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
                    // A deletion that nobody acknowledged was one.
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

    /// Whether what the server has is what this one was told. An edit that was refused is one of what was
    /// deleted: the gateway was killed as it carried the deletion, which nobody acknowledged. It is an error.
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

    /// Where a note is now.
    fn member(&self, url: &str) -> String {
        let answer = self.application.get(url);
        if answer.status == 308 { answer.location() } else { self.application.at(url) }
    }
}
