//! A client that edits with AtomPub (RFC 5023): POST, PUT and DELETE with entity tags. If the outcome of a
//! request is unknown, it reads the state and repeats the request until it gets a response.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use super::TIMEOUT;
use super::entry::{ObservedMember, document, read};
use super::http::{Answer, ask};
use super::said::ResponseRecord;

const ENTRY: &str = "application/atom+xml;type=entry";

/// Maximum number of items that belong to an editor at once.
const MAX_ITEMS: usize = 40;

pub(crate) struct Editor {
    name: String,
    address: SocketAddr,
    random: SmallRng,
    count: u64,
    own: Vec<OwnItem>,
    shared: Vec<String>,
    said: ResponseRecord,
}

/// An item that only this editor edits.
struct OwnItem {
    seen: ObservedMember,
    tag: String,
}

impl Editor {
    pub(crate) fn new(number: u64, seed: u64, address: SocketAddr, shared: Vec<String>) -> Self {
        Self {
            name: format!("e{number}"),
            address,
            random: SmallRng::seed_from_u64(seed ^ (number << 32)),
            count: 0,
            own: Vec::new(),
            shared,
            said: ResponseRecord::default(),
        }
    }

    /// Edits until `working` is false.
    pub(crate) fn run(mut self, working: &AtomicBool) -> ResponseRecord {
        while working.load(Ordering::SeqCst) {
            match self.random.random_range(0..20) {
                _ if self.own.is_empty() => self.create(),
                0..=6 if self.own.len() < MAX_ITEMS => self.create(),
                0..=2 => self.delete(),
                3..=14 => self.replace(),
                _ => self.share(),
            }
            thread::sleep(Duration::from_millis(self.random.random_range(0..20)));
        }
        for own in self.own {
            self.said.own.insert(own.seen.written.id, own.seen.written.title);
        }
        self.said
    }

    fn title(&mut self) -> String {
        self.count += 1;
        format!("{} {}", self.name, self.count)
    }

    /// Repeats `attempt` until it returns a value.
    fn until_told<T>(&mut self, mut attempt: impl FnMut(&mut Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(told) = attempt(self) {
                return told;
            }
            self.said.untold += 1;
            assert!(begin.elapsed() < TIMEOUT, "{}: the hub does not come back", self.name);
            thread::sleep(Duration::from_millis(self.random.random_range(20..200)));
        }
    }

    fn create(&mut self) {
        let title = self.title();
        let body = document(&title);
        let key = title.replace(' ', "-");
        let headers = [("Content-Type", ENTRY), ("Idempotency-Key", &key)];
        let made = self.until_told(|editor| {
            let answer = editor.ask("POST", "/collections/notes", &headers, &body)?;
            assert_eq!(answer.status, 201, "{key}: {}", text(&answer));
            Some(own(&answer))
        });
        assert_eq!(made.seen.written.title, title);
        assert!(
            self.said.made.insert(made.seen.written.id.clone()),
            "{title}: {} was given to two entries",
            made.seen.written.id
        );
        self.said.written.push(made.seen.written.clone());
        self.own.push(made);
    }

    fn replace(&mut self) {
        let place = self.random.random_range(0..self.own.len());
        let title = self.title();
        let before = self.own[place].seen.clone();
        let mut tag = self.own[place].tag.clone();
        let path = path(&before.written.id);
        let told = self.until_told(|editor| {
            let headers = [("Content-Type", ENTRY), ("If-Match", tag.as_str())];
            if let Some(answer) = editor.ask("PUT", &path, &headers, &document(&title)) {
                match answer.status {
                    200 => return Some(own(&answer)),
                    // An earlier request without a response may have succeeded.
                    412 => {}
                    status => panic!("{title}: PUT answers {status}: {}", text(&answer)),
                }
            }
            let found = editor.ask("GET", &path, &[], "")?;
            assert_eq!(found.status, 200, "{path}: {}", text(&found));
            let found = own(&found);
            if found.seen.written.title == title {
                return Some(found);
            }
            assert_eq!(
                found.seen.written, before.written,
                "what was acknowledged is not what is there, and nobody else edits it"
            );
            tag = found.tag;
            None
        });
        assert_eq!(told.seen.updates, before.updates + 1, "{title}: one edit is one update");
        self.said.written.push(told.seen.written.clone());
        self.own[place] = told;
    }

    fn delete(&mut self) {
        let place = self.random.random_range(0..self.own.len());
        let OwnItem { seen, tag } = self.own.swap_remove(place);
        let path = path(&seen.written.id);
        self.until_told(|editor| {
            let answer = editor.ask("DELETE", &path, &[("If-Match", tag.as_str())], "")?;
            assert!(matches!(answer.status, 204 | 410), "{path}: {}", text(&answer));
            Some(())
        });
        self.said.deleted.insert(seen.written.id, seen.updates + 1);
    }

    /// Edits a shared item in the version that it has just read. If another client was faster, the edit is
    /// not repeated.
    fn share(&mut self) {
        let id = self.shared[self.random.random_range(0..self.shared.len())].clone();
        let title = self.title();
        let path = path(&id);
        let found = self.until_told(|editor| editor.ask("GET", &path, &[], ""));
        assert_eq!(found.status, 200, "{path}: {}", text(&found));
        let tag = own(&found).tag;
        let headers = [("Content-Type", ENTRY), ("If-Match", tag.as_str())];
        match self.ask("PUT", &path, &headers, &document(&title)) {
            Some(answer) if answer.status == 200 => {
                self.said.written.push(own(&answer).seen.written);
            }
            Some(answer) if answer.status == 412 => self.said.stale += 1,
            Some(answer) => panic!("{title}: PUT answers {}: {}", answer.status, text(&answer)),
            None => self.said.untold += 1,
        }
    }

    /// Sends a request; `None` if its outcome is unknown. A 503 response says when to retry, and the request
    /// may have succeeded.
    fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Option<Answer> {
        let answer = ask(self.address, method, path, headers, body.as_bytes()).ok()?;
        if answer.status == 503 {
            assert_eq!(answer.header("content-type"), Some("application/problem+json"));
            assert!(answer.header("retry-after").is_some(), "{}", text(&answer));
            return None;
        }
        Some(answer)
    }
}

fn path(id: &str) -> String {
    format!("/collections/notes/items/{id}")
}

fn own(answer: &Answer) -> OwnItem {
    let tag = answer.header("etag").expect("a tag").to_owned();
    OwnItem { seen: read(&answer.body), tag }
}

fn text(answer: &Answer) -> String {
    format!("{} {}", answer.status, String::from_utf8_lossy(&answer.body))
}
