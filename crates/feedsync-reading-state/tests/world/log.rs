//! Replicas that are synchronized through a log. The network loses, repeats and truncates; devices crash
//! between any two steps; clocks are wrong; the log is compacted, and servers are restored.

use std::collections::BTreeMap;

use feedsync_log::{
    Event, Line, LogRequest, LogResponse, Millis, PendingRecord, RecordId, Session, Stop,
};
use feedsync_reading_state::{ReaderState, Replica};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::deeds::{Deeds, deed};
use crate::server::{HABITS, Server};

/// A device.
struct Node {
    replica: Replica,
    /// Contents of its disk.
    disk: String,
    session: Option<Session>,
    skew: i64,
}

/// A simulation.
pub(crate) struct World {
    random: SmallRng,
    server: Server,
    /// An earlier state of the server.
    backup: Option<Server>,
    nodes: Vec<Node>,
    /// Appends that are still in transit.
    late: Vec<LogRequest>,
    now: u64,
    deeds: Deeds,
    /// Whether the server was restored.
    was_put_back: bool,
    /// Whether exchanges are printed, for debugging.
    trace: bool,
}

/// A replica that is synchronized through the log of this simulation.
fn kept(mut replica: Replica) -> Replica {
    replica.set_log("the log".to_owned());
    replica
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let habit = *HABITS.choose(&mut random).unwrap();
        let deeds = Deeds::new(&mut random);
        let nodes = (0..random.random_range(2..=4))
            .map(|number| {
                let replica = kept(Replica::new(format!("device{number}").parse().unwrap()));
                let skew = deeds.skew(&mut random);
                Node { disk: replica.write(), replica, session: None, skew }
            })
            .collect();
        Self {
            random,
            server: Server::new(habit),
            backup: None,
            nodes,
            late: Vec::new(),
            now: 1_000_000,
            deeds,
            was_put_back: false,
            trace: std::env::var_os("FEEDSYNC_TRACE").is_some(),
        }
    }

    pub(crate) fn run(seed: u64) {
        let mut world = Self::new(seed);
        for _ in 0..world.random.random_range(20..200) {
            world.step();
        }
        world.settle();
        world.check();
    }

    fn step(&mut self) {
        self.now += self.random.random_range(0..2_000);
        let node = self.random.random_range(0..self.nodes.len());
        match self.random.random_range(0..100) {
            0..25 => self.act(node),
            25..28 => self.nodes[node].crash(),
            28..30 => self.backup = Some(self.server.clone()),
            30 => self.put_back(),
            31 => self.server.tear(&mut self.random),
            32..36 => self.deliver_late(),
            36..41 => self.compact(node),
            _ => self.exchange(node, true),
        }
    }

    fn act(&mut self, node: usize) {
        let Node { replica, disk, skew, .. } = &mut self.nodes[node];
        let (feed, action) = deed(&mut self.random);
        let now = Millis::new(self.now.saturating_add_signed(*skew));
        let before = replica.state().clone();
        if replica.act(&feed, &action, now) {
            let change = replica.state().changes_missing_in(&before);
            self.deeds.done(&change, &before, self.now);
        }
        *disk = replica.write();
    }

    fn put_back(&mut self) {
        if let Some(backup) = &self.backup {
            self.server.put_back(&backup.clone());
            // Requests that were in transit to the old server do not reach the restored one.
            self.late.clear();
            self.was_put_back = true;
        }
    }

    fn deliver_late(&mut self) {
        if !self.late.is_empty() {
            let at = self.random.random_range(0..self.late.len());
            let ask = self.late.swap_remove(at);
            self.server.answer(&ask);
        }
    }

    /// One request of a node's session, with its response or failure.
    fn exchange(&mut self, node: usize, faulty: bool) {
        let Some(ask) = self.nodes[node].ask() else { return };
        let fate = if faulty { self.random.random_range(0..20) } else { 20 };
        let answer = match fate {
            0 => LogResponse::default(),
            1 if matches!(ask, LogRequest::Append(_)) => {
                self.late.push(ask.clone());
                LogResponse::default()
            }
            2 => {
                self.server.answer(&ask);
                LogResponse::default()
            }
            3 => LogResponse { status: 503, ended: true, ..LogResponse::default() },
            4 => {
                let mut answer = self.server.answer(&ask);
                let keep = self.random.random_range(0..=answer.body.len());
                answer.ended &= keep == answer.body.len();
                answer.body.truncate(keep);
                answer
            }
            _ => self.server.answer(&ask),
        };
        let crashes = faulty && self.random.random_range(0..15) == 0;
        let random = self.random.random();
        let node = &mut self.nodes[node];
        let Some(session) = &mut node.session else { return };
        let told = self.trace.then(|| shown(&ask, &answer));
        let event = session.handle_response(&ask, answer, random);
        if let Some(told) = told {
            let event = match &event {
                Event::Lines(_) => "lines".to_owned(),
                Event::Snapshot(_) => "a snapshot".to_owned(),
                event => format!("{event:?}"),
            };
            eprintln!("{}: {told} -> {event}", node.replica.device());
        }
        if let Event::Stopped(stop) = event {
            node.session = None;
            if stop == Stop::Vanished {
                // The user decides that the log begins again.
                node.replica.begin_again();
                node.disk = node.replica.write();
            }
            return;
        }
        node.replica.apply(event, session, random).expect("a snapshot of ours");
        if crashes {
            node.crash();
        } else {
            node.disk = node.replica.write();
        }
    }

    /// A node that is up to date compacts the log; it may crash meanwhile.
    fn compact(&mut self, node: usize) {
        let random = self.random.random();
        let Node { replica, session: Some(session), .. } = &self.nodes[node] else { return };
        let Some(compaction) = replica.compacted(session, random) else { return };
        if !self.server.compact(&compaction.tag, &compaction.covers, &compaction.snapshot) {
            return;
        }
        if self.random.random_bool(0.3) {
            return;
        }
        let Some(answer) = self.server.begin(&compaction.tag, &compaction.header) else { return };
        let node = &mut self.nodes[node];
        node.session = None;
        if self.random.random_bool(0.7) {
            node.replica.record_compaction(&compaction.header, answer.etag, answer.generation);
            node.disk = node.replica.write();
        }
    }

    /// Runs until nothing changes any more.
    fn settle(&mut self) {
        while !self.late.is_empty() {
            self.deliver_late();
        }
        for _ in 0..4 {
            for node in 0..self.nodes.len() {
                self.nodes[node].session = None;
                for _ in 0..200 {
                    self.exchange(node, false);
                    if self.nodes[node].session.is_none() {
                        break;
                    }
                }
            }
        }
    }

    fn check(&mut self) {
        let expected = self.deeds.state();
        for (number, node) in self.nodes.iter().enumerate() {
            assert_eq!(node.replica.waiting_count(), 0, "something waits on device {number}");
            same(node.replica.state(), &expected, &format!("device {number}"));
        }
        // A new device, with a snapshot or the whole log, reaches the same state.
        let new = kept(Replica::new("new".parse().unwrap()));
        let disk = new.write();
        self.nodes.push(Node { replica: new, disk, session: None, skew: 0 });
        self.settle();
        same(self.nodes[self.nodes.len() - 1].replica.state(), &expected, "a new device");
        self.each_record_stands_there_once();
        self.deeds.check();
    }

    /// Checks that no record was appended twice, whatever was lost, repeated or delayed (LT1, LR38).
    fn each_record_stands_there_once(&self) {
        let mut names: BTreeMap<RecordId, Vec<u8>> = BTreeMap::new();
        for line in &self.server.appended {
            if let Line::Record(record) = Line::read(line)
                && let Some(before) = names.insert(record.id.clone(), line.clone())
            {
                // A restored log has lost the record: it may be appended again, and must be the same.
                assert!(self.was_put_back, "{} again", record.id);
                assert_eq!(before, *line, "{} again, and another", record.id);
            }
        }
    }
}

/// Checks that two states are equal, and reports the differences.
pub(crate) fn same(found: &ReaderState, expected: &ReaderState, who: &str) {
    let (lacks, invents) = (expected.changes_missing_in(found), found.changes_missing_in(expected));
    assert!(found == expected, "{who} lacks {lacks:#?} and invents {invents:#?}");
}

fn shown(ask: &LogRequest, answer: &LogResponse) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let ask = match ask {
        LogRequest::Append(append) => {
            format!("append {:?} {}", append.condition, text(&append.body))
        }
        ask => format!("{ask:?}"),
    };
    let LogResponse { status, etag, content_range, start, ended, .. } = answer;
    format!("{ask} -> {status} {etag:?} {content_range:?} {start} {ended} {}", text(&answer.body))
}

impl Node {
    fn crash(&mut self) {
        self.replica = Replica::read(self.disk.as_bytes()).expect("what was written");
        self.session = None;
    }

    /// Next request of its session; begins a session if there is none.
    fn ask(&mut self) -> Option<LogRequest> {
        let session = self.session.get_or_insert_with(|| self.replica.session());
        if self.replica.offer(session) {
            self.disk = self.replica.write();
        }
        let waiting = self.replica.waiting();
        let lines: Vec<_> = waiting.iter().map(|(id, line)| PendingRecord { id, line }).collect();
        let ask = session.next(&lines);
        if ask.is_none() {
            self.session = None;
        }
        ask
    }
}
