//! An AtomPub server with a log of the edits that it carried out.

use std::collections::BTreeMap;

use feedsync_bitsy::location::Location;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};

/// Address of the feed.
pub(crate) const FEED: &str = "http://origin.example/feed";

/// Behaviour of a server where the documents leave it open.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Habits {
    /// Whether the server keeps the `atom:id` of a client.
    pub(crate) keeps_ids: bool,
    /// Whether members and feed have entity tags.
    pub(crate) has_tags: bool,
    /// Whether the response to a POST names the address of the member.
    pub(crate) names_location: bool,
    /// Whether the response to a POST contains the member.
    pub(crate) sends_entity: bool,
    /// Whether the collection has its own address.
    pub(crate) has_collection: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) id: String,
    /// The words of the member's last edit.
    pub(crate) words: String,
    version: u64,
    order: u64,
}

/// An edit that was carried out, with its words and the path of its member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ForwardOutcome {
    Posted { words: String, path: String },
    Put { words: String, path: String },
    Deleted { path: String },
}

impl ForwardOutcome {
    /// Words and path of an edit that has words.
    pub(crate) fn says(&self) -> Option<(&str, &str)> {
        match self {
            Self::Posted { words, path } | Self::Put { words, path } => Some((words, path)),
            Self::Deleted { .. } => None,
        }
    }

    /// Path of the edited member.
    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Posted { path, .. } | Self::Put { path, .. } | Self::Deleted { path } => path,
        }
    }
}

pub(crate) struct Origin {
    pub(crate) habits: Habits,
    pub(crate) members: BTreeMap<String, Member>,
    pub(crate) log: Vec<ForwardOutcome>,
    versions: u64,
}

/// A response of the server.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Origin {
    pub(crate) fn new(habits: Habits) -> Self {
        let mut origin = Self { habits, members: BTreeMap::new(), log: Vec::new(), versions: 0 };
        for words in ["first", "second"] {
            origin.make(words.to_owned(), format!("urn:x:{words}"));
        }
        origin
    }

    pub(crate) fn collection(&self) -> &'static str {
        if self.habits.has_collection { "http://origin.example/members" } else { FEED }
    }

    /// Handles a request.
    pub(crate) fn answer(
        &mut self,
        method: &Method,
        location: &Location,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Answer {
        let at = location.as_str();
        match *method {
            Method::GET if at == FEED => {
                let mut answer = Answer::of(StatusCode::OK, self.feed());
                answer.typed("application/atom+xml;type=feed");
                self.tagged(&mut answer, self.versions);
                answer.unless(headers)
            }
            Method::POST if at == self.collection() => self.post(body),
            _ => self.member(method, at, headers, body),
        }
    }

    fn post(&mut self, body: &[u8]) -> Answer {
        let (words, id) = (words(body), text_of(body, "id"));
        let number = self.versions + 1;
        let id = if self.habits.keeps_ids { id } else { format!("urn:made:{number}") };
        let path = self.make(words.clone(), id);
        self.log.push(ForwardOutcome::Posted { words, path: path.clone() });
        let mut answer = Answer::of(StatusCode::CREATED, Vec::new());
        if !self.habits.names_location {
            answer.status = StatusCode::OK;
            return answer;
        }
        let location = HeaderValue::from_str(&path).unwrap();
        answer.headers.insert(header::LOCATION, location.clone());
        if self.habits.sends_entity {
            answer.headers.insert(header::CONTENT_LOCATION, location);
            self.entity(&mut answer, &path);
        }
        answer
    }

    fn member(&mut self, method: &Method, at: &str, headers: &HeaderMap, body: &[u8]) -> Answer {
        let Some(member) = self.members.get(at) else {
            return Answer::of(StatusCode::NOT_FOUND, Vec::new());
        };
        let wanted = headers.get(header::IF_MATCH).map(|tag| tag.to_str().unwrap().to_owned());
        if wanted.is_some_and(|tag| tag != format!("\"{}\"", member.version)) {
            return Answer::of(StatusCode::PRECONDITION_FAILED, Vec::new());
        }
        match *method {
            Method::GET => {
                let mut answer = Answer::of(StatusCode::OK, Vec::new());
                self.entity(&mut answer, at);
                answer.unless(headers)
            }
            Method::PUT => {
                self.versions += 1;
                let (version, words) = (self.versions, words(body));
                let id = text_of(body, "id");
                let keeps_ids = self.habits.keeps_ids;
                if let Some(member) = self.members.get_mut(at) {
                    (member.words, member.version) = (words.clone(), version);
                    if keeps_ids {
                        member.id = id;
                    }
                }
                self.log.push(ForwardOutcome::Put { words, path: at.to_owned() });
                let mut answer = Answer::of(StatusCode::NO_CONTENT, Vec::new());
                if self.habits.sends_entity {
                    answer.status = StatusCode::OK;
                    self.entity(&mut answer, at);
                }
                answer
            }
            Method::DELETE => {
                self.versions += 1;
                self.members.remove(at);
                self.log.push(ForwardOutcome::Deleted { path: at.to_owned() });
                Answer::of(StatusCode::NO_CONTENT, Vec::new())
            }
            _ => Answer::of(StatusCode::METHOD_NOT_ALLOWED, Vec::new()),
        }
    }

    fn make(&mut self, words: String, id: String) -> String {
        self.versions += 1;
        let path = format!("http://origin.example/members/{}", self.versions);
        let (version, order) = (self.versions, self.versions);
        self.members.insert(path.clone(), Member { id, words, version, order });
        path
    }

    fn entity(&self, answer: &mut Answer, path: &str) {
        let member = &self.members[path];
        answer.body = self.entry(path, member, " xmlns='http://www.w3.org/2005/Atom'").into_bytes();
        answer.typed("application/atom+xml;type=entry");
        self.tagged(answer, member.version);
    }

    fn tagged(&self, answer: &mut Answer, version: u64) {
        if self.habits.has_tags {
            let tag = HeaderValue::from_str(&format!("\"{version}\"")).unwrap();
            answer.headers.insert(header::ETAG, tag);
        }
    }

    fn entry(&self, path: &str, Member { id, words, .. }: &Member, declared: &str) -> String {
        format!(
            "<entry{declared}><id>{id}</id><title>{words}</title><link rel='edit' href='{path}'/>\
             </entry>"
        )
    }

    fn feed(&self) -> Vec<u8> {
        let mut members: Vec<_> = self.members.iter().collect();
        members.sort_by_key(|(_, member)| std::cmp::Reverse(member.order));
        let entries = members.iter().map(|(path, member)| self.entry(path, member, ""));
        let entries: String = entries.collect();
        format!(
            "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:app='http://www.w3.org/2007/app'>\
             <id>urn:feed</id><updated>2008-05-21T00:00:00Z</updated>\
             <app:collection href='{}'/>{entries}</feed>",
            self.collection()
        )
        .into_bytes()
    }
}

impl Answer {
    pub(crate) fn of(status: StatusCode, body: Vec<u8>) -> Self {
        Self { status, headers: HeaderMap::new(), body }
    }

    fn typed(&mut self, kind: &'static str) {
        self.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    }

    fn unless(mut self, headers: &HeaderMap) -> Self {
        let known = headers.get(header::IF_NONE_MATCH);
        if known.is_some() && known == self.headers.get(header::ETAG) {
            self.status = StatusCode::NOT_MODIFIED;
            self.body.clear();
        }
        self
    }
}

/// An entry in the form that an application writes.
pub(crate) fn entry(words: &str) -> Vec<u8> {
    format!(
        "<entry xmlns='http://www.w3.org/2005/Atom'><id>urn:mine:{words}</id><title>{words}</title>\
         </entry>"
    )
    .into_bytes()
}

/// The words of an entry.
pub(crate) fn words(entry: &[u8]) -> String {
    text_of(entry, "title")
}

/// Words and edit link of each entry of a feed.
pub(crate) fn entries(feed: &[u8]) -> Vec<(String, Option<String>)> {
    let text = std::str::from_utf8(feed).unwrap();
    let entries = text.split("<entry").skip(1).map(|entry| {
        let place = entry
            .split_once("rel='edit' href='")
            .map(|(_, rest)| rest.split_once('\'').map_or("", |(place, _)| place).to_owned());
        (text_of(entry.as_bytes(), "title"), place)
    });
    entries.collect()
}

fn text_of(document: &[u8], element: &str) -> String {
    let text = std::str::from_utf8(document).unwrap();
    let rest = text.split_once(&format!("<{element}>")).map_or("", |(_, rest)| rest);
    rest.split_once('<').map_or("", |(text, _)| text).to_owned()
}
