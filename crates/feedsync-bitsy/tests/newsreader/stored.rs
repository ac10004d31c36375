//! A gateway whose server is away, with stored responses and waiting changes.

use std::collections::HashMap;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::Content;
use feedsync_bitsy::newsreader::{
    Accounts, CachedResponse, Call, ChangeKind, ChangeRequest, Form, Full, Interface, Key,
    Operation, ReadRequest, UnsignedRequest,
};
use feedsync_bitsy::time::Time;
use serde_json::Value;

use crate::desk::{Desk, Said};
use crate::server::Server;

/// Stored responses and waiting changes of one account.
pub(crate) struct Stored {
    pub(crate) desk: Desk,
    pub(crate) partition: Partition,
    contents: HashMap<Content, Vec<u8>>,
    now: u64,
}

/// Stores the body as the response to the first request.
pub(crate) fn stored(interface: Interface, said: &Said, body: &str) -> Stored {
    let desk = Desk::new(interface, Server::new(&[]));
    let partition = Partition::public();
    let mut stored = Stored { desk, partition, contents: HashMap::new(), now: 1_000 };
    stored.store(said, body);
    stored
}

impl Stored {
    fn call(&self, said: &Said) -> Call {
        self.desk.read(said, &self.desk.shown())
    }

    pub(crate) fn reading(&self, said: &Said) -> ReadRequest {
        match self.call(said).operation {
            Operation::ReadRequest(reading) => reading,
            operation => panic!("{said:?} {operation:?}"),
        }
    }

    pub(crate) fn writing(&self, said: &Said) -> ChangeRequest {
        match self.call(said).operation {
            Operation::ChangeRequest(writing) => writing,
            operation => panic!("{said:?} {operation:?}"),
        }
    }

    pub(crate) fn accounts(&mut self) -> &mut Accounts {
        &mut self.desk.accounts
    }

    /// Stores a response of the server, one second after the previous one.
    pub(crate) fn store(&mut self, said: &Said, body: &str) {
        self.now += 1_000;
        let now = Time::from_millis(self.now);
        let (call, reading) = (self.call(said), self.reading(said));
        let interface = self.desk.interface;
        let facts = interface.facts(&reading.form, body.as_bytes()).expect("an answer");
        let at = (interface, &self.desk.base);
        let (partition, _) = self.desk.accounts.answered(at, &call.credentials, true, now).unwrap();
        self.partition = partition;
        let content = Content::of(body.as_bytes());
        self.contents.insert(content, body.as_bytes().to_vec());
        let kind = match &reading.form {
            Form::List(list) => list.kind,
            _ => 0,
        };
        let stamp = self.desk.accounts.stamp(partition);
        let media_type = String::new();
        let key: Key = reading.key;
        let fetched = now;
        let kept =
            CachedResponse { partition, key, kind, stamp, fetched, media_type, content, facts };
        self.desk.accounts.keep(kept);
    }

    /// Accepts a change that waits for the server.
    pub(crate) fn take(&mut self, said: &Said) -> Result<usize, Full> {
        let writing = self.writing(said);
        let interface = self.desk.interface;
        let taken = self.desk.accounts.take(interface, self.partition, &writing)?;
        Ok(taken.len())
    }

    /// The stored response with all changes applied.
    pub(crate) fn bytes(&self, said: &Said) -> Vec<u8> {
        let reading = self.reading(said);
        let kept = self.desk.accounts.kept(self.partition, reading.key).expect("a stored answer");
        let (overlay, others) = self.desk.accounts.overlay(kept);
        let others: Vec<_> = others.iter().map(|other| self.contents[other].clone()).collect();
        let body = &self.contents[&kept.content];
        let merged = self.desk.interface.merged(&reading.form, body, &overlay, &others);
        merged.expect("an answer that can be merged")
    }

    pub(crate) fn text(&self, said: &Said) -> String {
        String::from_utf8(self.bytes(said)).unwrap()
    }

    pub(crate) fn json(&self, said: &Said) -> Value {
        serde_json::from_slice(&self.bytes(said)).unwrap()
    }

    /// Waiting requests, and the articles that each marks.
    pub(crate) fn waiting(&self) -> Vec<(UnsignedRequest, Vec<i64>)> {
        let waiting = self.desk.accounts.pending(self.partition);
        let marked = |change: &feedsync_bitsy::newsreader::Change| {
            change.marks.iter().map(|mark| mark.article).collect()
        };
        waiting.map(|it| (it.change.request.clone(), marked(&it.change))).collect()
    }

    /// Whether a request is a change of the kind [`ChangeKind::Edit`].
    pub(crate) fn is_edit(&self, said: &Said) -> bool {
        self.writing(said).change_kind == ChangeKind::Edit
    }
}
