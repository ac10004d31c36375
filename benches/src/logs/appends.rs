//! Many concurrent appends to one log, each conditional on the tag of the last read (LR18), compared to a single
//! writer.
//!
//! After a refusal, a writer does the same as `feedsync_client`. Lines are appended by clients that only write.
//! Marks are appended by devices that also read the others' entries and store them durably.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use feedsync_client::{LogAccess, LogError, PendingLines, RemoteLog, synchronise};
use feedsync_log::{LogRequest, LogResponse};
use feedsync_reading_state::Action;
use tokio::task::JoinSet;

use super::{Device, Hub, article, feeds, published, random};
use crate::measure::{ROUNDS, Times, ratio};

const WRITERS: usize = 20;

/// Numbers of appends in one round: by a single writer, and by each of the many.
const APPENDS_ALONE: usize = 200;
const APPENDS_EACH: usize = 20;

/// Measurements with one and with many writers.
#[derive(Default)]
struct Measured {
    /// Duration of an append.
    times: [Vec<Duration>; 2],
    /// Maximum number of refusals of one append.
    most: u64,
    /// Maximum number of refusals of one writer in one round.
    most_of_one: u64,
    /// Total number of refusals.
    all: u64,
}

pub(super) async fn run(hub: &Hub) {
    let [mut lines, mut marks] = <[Measured; 2]>::default();
    for round in 0..=ROUNDS {
        for (kind, (count, each)) in
            [(1, APPENDS_ALONE), (WRITERS, APPENDS_EACH)].into_iter().enumerate()
        {
            let log = format!("lines-{round}-{kind}");
            lines.add(round, kind, write_lines(hub, &log, count, each).await, count * each);
            let log = format!("marks-{round}-{kind}");
            marks.add(round, kind, write_marks(hub, &log, count, each).await, count * each);
        }
    }
    println!("## {WRITERS} who append to one log at once, {APPENDS_EACH} times each\n");
    println!("| | an append, elapsed | appends a second | against one alone |\n|---|---|---|---|");
    for (what, Measured { times, .. }) in [("lines", &lines), ("marks of devices", &marks)] {
        let [alone, many] = times.clone().map(Times::new);
        for (who, times) in
            [("one alone".to_owned(), &alone), (format!("{WRITERS} at once"), &many)]
        {
            let (rate, ratio) = (times.rate(1), ratio(&alone, times));
            println!("| {what}, {who} | {times} | {rate:.0} | {ratio:.2} |");
        }
    }
    println!(
        "\n| refused (412) | an append, on average | one append, at most | one of them in {APPENDS_EACH} appends, at most |"
    );
    println!("|---|---|---|---|");
    for (what, measured) in [("lines", lines), ("marks of devices", marks)] {
        let average = measured.all as f64 / (ROUNDS * WRITERS * APPENDS_EACH) as f64;
        let Measured { most, most_of_one, .. } = measured;
        println!("| {what} | {average:.2} | {most} | {most_of_one} |");
    }
    println!();
}

impl Measured {
    fn add(&mut self, round: usize, kind: usize, done: Done, appends: usize) {
        if round == 0 {
            return;
        }
        self.times[kind].push(done.took / appends as u32);
        if kind == 1 {
            let of_one = |refused: &Vec<u64>| refused.iter().sum::<u64>();
            self.most =
                done.refused.iter().flatten().copied().max().max(Some(self.most)).unwrap_or(0);
            self.most_of_one =
                done.refused.iter().map(of_one).max().max(Some(self.most_of_one)).unwrap_or(0);
            self.all += done.refused.iter().map(of_one).sum::<u64>();
        }
    }
}

/// Total time, and the number of refusals of each append by each writer.
struct Done {
    took: Duration,
    refused: Vec<Vec<u64>>,
}

/// A log that counts refused appends.
struct Counted<'a> {
    log: &'a RemoteLog,
    refused: AtomicU64,
}

impl<'a> Counted<'a> {
    fn new(log: &'a RemoteLog) -> Self {
        Self { log, refused: AtomicU64::new(0) }
    }
}

#[async_trait]
impl LogAccess for Counted<'_> {
    fn name(&self) -> String {
        self.log.name()
    }

    async fn ask(&self, ask: &LogRequest) -> Result<LogResponse, LogError> {
        let answer = self.log.ask(ask).await?;
        if matches!(ask, LogRequest::Append(_)) && answer.status == 412 {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        Ok(answer)
    }

    async fn put_snapshot(&self, covers: &str, body: Vec<u8>) -> Result<LogResponse, LogError> {
        self.log.put_snapshot(covers, body).await
    }

    async fn begin_generation(&self, tag: &str, body: Vec<u8>) -> Result<LogResponse, LogError> {
        self.log.begin_generation(tag, body).await
    }
}

/// Runs clients that append lines one by one.
async fn write_lines(hub: &Hub, log: &str, count: usize, each: usize) -> Done {
    let mut ways: Vec<_> = (0..count).map(|_| hub.log_access(&hub.address, log)).collect();
    // Creates the log and the connections before the measurement.
    for log_access in &mut ways {
        append_line(&log_access.log, 0).await;
    }
    let began = Instant::now();
    let mut writing = JoinSet::new();
    for log_access in ways {
        writing.spawn(async move {
            let mut refused = Vec::new();
            for number in 1..=each {
                refused.push(append_line(&log_access.log, number).await);
            }
            refused
        });
    }
    let refused = writing.join_all().await;
    Done { took: began.elapsed(), refused }
}

/// Appends one line; returns the number of refusals.
async fn append_line(log: &RemoteLog, number: usize) -> u64 {
    let line =
        format!("{{\"v\":1,\"n\":{number},\"what\":\"{}\"}}\n", "a line of a log ".repeat(10));
    let mut lines = PendingLines::new(&line, random()).expect("a line");
    let counted = Counted::new(log);
    let done = synchronise(&counted, &mut PendingLines::session(), &mut lines, &random).await;
    done.expect("an append");
    assert!(lines.is_empty());
    counted.refused.into_inner()
}

/// Runs devices that mark articles one by one and synchronise after each mark.
async fn write_marks(hub: &Hub, log: &str, count: usize, each: usize) -> Done {
    let feeds = feeds(1);
    let mut devices: Vec<_> =
        (0..count).map(|_| Device::new(hub.log_access(&hub.address, log))).collect();
    devices[0].subscribe(&feeds);
    for device in &mut devices {
        device.synchronise().await;
    }
    let began = Instant::now();
    let mut marking = JoinSet::new();
    for (place, mut device) in devices.into_iter().enumerate() {
        let feed = feeds[0].clone();
        marking.spawn(async move {
            let mut refused = Vec::new();
            for number in 0..each {
                let number = place * each + number;
                let (article, at) = (article(0, number), Some(published(number)));
                device.act(&feed, &Action::Read { article, at });
                let counted = Counted::new(&device.log_access.log);
                device.reader.synchronise(&counted, false).await.expect("in step");
                refused.push(counted.refused.into_inner());
            }
            refused
        });
    }
    let refused = marking.join_all().await;
    Done { took: began.elapsed(), refused }
}
