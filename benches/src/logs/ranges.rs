//! Processor time of serving a part of a log, compared to nginx with a file of the same bytes.

use feedsync_store::{Append, Expected};
use tempfile::TempDir;

use crate::answers::{Candidate, Nginx, REQUESTS, nginx};
use crate::measure::{ROUNDS, Times, ratio};
use crate::memory::first_line;
use crate::process::child;
use crate::sample::{self, Random, name};

/// Size of the part, in bytes.
const PART_BYTES: usize = 64 << 10;

/// Number of appends in the log, each of about [`APPEND`] bytes.
const APPENDS: usize = 16;

const APPEND: usize = 1 << 20;

pub(super) fn run() {
    let Some(program) = nginx() else {
        println!("## Parts of a log against nginx\n\nNot measured: there is no nginx here.\n");
        return;
    };
    let runtime = sample::runtime();
    let [hub, peer] = [(); 2].map(|()| TempDir::new().expect("a directory"));
    let bytes = runtime.block_on(async {
        let endpoint = sample::create(hub.path(), "hub").await;
        let (mut random, mut all) = (Random(5), Vec::new());
        for number in 0..APPENDS {
            let bytes = records(&mut random);
            all.extend_from_slice(&bytes);
            let append = Append {
                expected: if number == 0 { Expected::Absent } else { Expected::Present },
                bytes,
                media_type: feedsync_client::RECORDS_MEDIA_TYPE.to_owned(),
                key: None,
                most: u64::MAX >> 1,
                act: None,
            };
            endpoint.store().append_to_log(&name(), append).await.expect("appended");
        }
        all
    });
    std::fs::write(peer.path().join("notes.jsonl"), &bytes).expect("a file");
    let nginx = Nginx::with(&program, peer, "", "");
    let mut serving =
        child(&["hub", hub.path().to_str().expect("UTF-8")]).spawn().expect("a child");
    let address = first_line(&mut serving);
    // Request of a client that has read everything except this part.
    let from = bytes.len() - PART_BYTES;
    let candidate = |name, process, address: &str, path: &str| Candidate {
        name,
        process,
        address: address.to_owned(),
        request: format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nIf-None-Match: \"1\"\r\n\
             Range: bytes={from}-\r\nAccept-Encoding: identity\r\n\r\n"
        )
        .into_bytes(),
        status: 206,
        times: Vec::new(),
    };
    let mut candidates = [
        candidate("nginx, the file", nginx.worker, &nginx.address, "/notes.jsonl"),
        candidate("hub, the log", serving.id(), &address, "/logs/notes"),
    ];
    for round in 0..=ROUNDS {
        for candidate in &mut candidates {
            let took = runtime.block_on(candidate.round());
            if round > 0 {
                candidate.times.push(took / REQUESTS as u32);
            }
        }
    }
    drop(serving.stdin.take());
    serving.wait().expect("a hub that ends");
    println!("## Parts of a log against nginx: the last {PART_BYTES} bytes of {}\n", bytes.len());
    println!("| | processor time of the server for one | against nginx |\n|---|---|---|");
    let times: Vec<Times> =
        candidates.iter().map(|candidate| Times::new(candidate.times.clone())).collect();
    for (candidate, time) in candidates.iter().zip(&times) {
        println!("| {} | {time} | {:.2} |", candidate.name, ratio(time, &times[0]));
    }
    println!();
}

/// Records in the format of readers.
fn records(random: &mut Random) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(APPEND);
    let mut number = 0;
    while bytes.len() < APPEND - 512 {
        number += 1;
        let (feed, article) = (random.below(super::FEEDS), random.next());
        let line = format!(
            "{{\"act\":\"read\",\"at\":1795000000000,\"id\":\"9f86d081884c7d65:{number}\",\
             \"obj\":{{\"feed\":\"https://news-{feed}.example/feeds/all.atom.xml\",\"id\":\
             \"https://news-{feed}.example/{article:016x}\",\"kind\":\"article\"}},\
             \"ts\":\"1795330800000.0\",\"v\":1}}\n"
        );
        bytes.extend_from_slice(line.as_bytes());
    }
    bytes
}
