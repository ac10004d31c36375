//! Requests of replicators: writing documents, reading changes, reading documents, and computing missing
//! revisions.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use super::BATCH;
use super::server::{Server, count, expect};
use crate::measure::{ROUNDS, Times, ratio};
use crate::sample::Random;

/// Number of documents in a database.
const DOCUMENTS: usize = 10_000;

/// Number of requested documents per document with a new revision.
const DOCUMENTS_PER_CHANGE: usize = 50;

/// A document that was created elsewhere.
struct Document {
    id: String,
    revision: String,
    /// Members besides the id and the revision.
    members: String,
}

impl Document {
    fn new(random: &mut Random) -> Self {
        let (id, revision) = (hexadecimal(random), hexadecimal(random));
        let number = random.below(1_000_000);
        let members = format!(
            "\"type\":\"note\",\"title\":\"The news of the day, part {number:06}\",\"text\":\"{}\"",
            "Nothing of note happened. More about it tomorrow. ".repeat(3).trim_end()
        );
        Self { id, revision, members }
    }

    fn row(&self) -> String {
        let Self { id, revision, members } = self;
        format!(
            "{{\"_id\":\"{id}\",\"_rev\":\"1-{revision}\",\"_revisions\":{{\"start\":1,\
             \"ids\":[\"{revision}\"]}},{members}}}"
        )
    }
}

fn hexadecimal(random: &mut Random) -> String {
    format!("{:016x}{:016x}", random.next(), random.next())
}

/// Sequential requests of one kind.
struct Work {
    name: &'static str,
    path: &'static str,
    method: &'static str,
    bodies: Vec<String>,
    status: u16,
    /// A text, and its number of occurrences in each response.
    found: (&'static str, usize),
    /// Whether the hub's cache of known revisions is cleared first.
    is_forgotten: bool,
}

pub(super) async fn run(servers: [&Server; 2]) {
    let mut random = Random(17);
    let documents: Vec<Document> = (0..DOCUMENTS).map(|_| Document::new(&mut random)).collect();
    let works = works(&documents);
    let mut times: Vec<[Vec<Duration>; 2]> = works.iter().map(|_| Default::default()).collect();
    for round in 0..=ROUNDS {
        let database = format!("round-{round}");
        for server in servers {
            server.ask("PUT", &database, "", 201).await;
        }
        for (work, times) in works.iter().zip(&mut times) {
            if work.is_forgotten {
                // A purge makes the hub forget its cache of known revisions.
                let purge =
                    format!("{{\"{}\":[\"1-{}\"]}}", documents[0].id, documents[0].revision);
                servers[0].ask("POST", &format!("{database}/_purge"), &purge, 201).await;
                let written = format!("{{\"new_edits\":false,\"docs\":[{}]}}", documents[0].row());
                servers[0].ask("POST", &format!("{database}/_bulk_docs"), &written, 201).await;
            }
            for (server, times) in servers.iter().zip(times) {
                let took = work.done(server, &database).await;
                if round > 0 {
                    times.push(took / work.bodies.len() as u32);
                }
            }
        }
        // The memory of `pouchdb-server` must not grow from round to round.
        servers[1].ask("DELETE", &database, "", 200).await;
    }
    let bytes = documents[0].members.len() + 2;
    println!("### Requests about documents of {bytes} bytes, {DOCUMENTS} in a database\n");
    println!(
        "| | a request, elapsed | documents a second | rate against {} |\n|---|---|---|---|",
        servers[1].name
    );
    for (work, times) in works.iter().zip(times) {
        let times = times.map(Times::new);
        for (server, time) in servers.iter().zip(&times) {
            let rate = time.rate(DOCUMENTS / work.bodies.len());
            let ratio = ratio(&times[1], time);
            println!("| {}: {} | {time} | {rate:.0} | {ratio:.1} |", work.name, server.name);
        }
    }
    println!();
}

fn works(documents: &[Document]) -> [Work; 5] {
    let bodies = |open: &str, close: &str, one: &dyn Fn(usize, &Document) -> String| {
        let body = |batch: &[Document]| {
            let rows = batch.iter().enumerate().map(|(at, document)| one(at, document));
            format!("{open}{}{close}", rows.collect::<Vec<_>>().join(","))
        };
        documents.chunks(BATCH).map(body).collect::<Vec<_>>()
    };
    let differences = |name, is_forgotten| Work {
        name,
        method: "POST",
        path: "_revs_diff",
        bodies: bodies("{", "}", &|at, Document { id, revision, .. }| {
            let generation = if at % DOCUMENTS_PER_CHANGE == 0 { 2 } else { 1 };
            let mut row = String::new();
            let written = write!(row, "\"{id}\":[\"{generation}-{revision}\"]");
            written.expect("room");
            row
        }),
        status: 200,
        found: ("\"missing\":", BATCH / DOCUMENTS_PER_CHANGE),
        is_forgotten,
    };
    [
        Work {
            name: "`_bulk_docs`, 1,000 that are new",
            method: "POST",
            path: "_bulk_docs",
            bodies: bodies("{\"new_edits\":false,\"docs\":[", "]}", &|_, document| document.row()),
            status: 201,
            found: ("error", 0),
            is_forgotten: false,
        },
        Work {
            name: "`_changes`, all 10,000",
            method: "GET",
            path: "_changes?style=all_docs&since=0",
            bodies: vec![String::new()],
            status: 200,
            found: ("\"seq\":", DOCUMENTS),
            is_forgotten: false,
        },
        Work {
            name: "`_bulk_get`, 1,000",
            method: "POST",
            path: "_bulk_get?revs=true&latest=true",
            bodies: bodies("{\"docs\":[", "]}", &|_, Document { id, revision, .. }| {
                format!("{{\"id\":\"{id}\",\"rev\":\"1-{revision}\"}}")
            }),
            status: 200,
            found: ("\"ok\":", BATCH),
            is_forgotten: false,
        },
        differences("`_revs_diff`, 1,000 of which 20 are news", false),
        differences("the same, of which the hub knows nothing", true),
    ]
}

impl Work {
    /// Sends all requests to a server; returns the total time.
    async fn done(&self, server: &Server, database: &str) -> Duration {
        let mut connection = server.connect().await;
        let path = format!("{database}/{}", self.path);
        let request = |body: &String| server.request(self.method, &path, body);
        let requests: Vec<_> = self.bodies.iter().map(request).collect();
        let mut answers = Vec::with_capacity(requests.len());
        let began = Instant::now();
        for request in &requests {
            answers.push(expect(&mut connection, request, self.status).await);
        }
        let took = began.elapsed();
        let (part, times) = self.found;
        assert!(answers.iter().all(|answer| count(answer, part) == times), "{}", self.name);
        took
    }
}
