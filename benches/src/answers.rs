//! Processor time of hub responses, compared to nginx with a static file. The responses are 304 for unchanged
//! documents, and a listing of fifty entries, which nginx serves from a file.
//!
//! Both servers are separate processes without a request log. The same clients send sequential requests over
//! persistent connections, in turn to each server. The processor time of the server process (for nginx, of its
//! one worker) over [`REQUESTS`] requests is read from `/proc`. Its resolution is a hundredth of a second.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::keepalive::Connection;
use crate::measure::{ROUNDS, Times, ratio};
use crate::memory::first_line;
use crate::process::{child, processor_time_of};
use crate::sample;

/// Number of requests in one round of one candidate.
pub(crate) const REQUESTS: usize = 19_200;

const CONNECTIONS: usize = 64;

const ITEMS: usize = 1_000;

/// A server and the request that is sent to it.
pub(crate) struct Candidate {
    pub(crate) name: &'static str,
    pub(crate) process: u32,
    pub(crate) address: String,
    pub(crate) request: Vec<u8>,
    pub(crate) status: u16,
    pub(crate) times: Vec<Duration>,
}

pub(crate) fn run() {
    let Some(program) = nginx() else {
        println!("## Answers against nginx\n\nNot measured: there is no nginx here.\n");
        return;
    };
    let runtime = sample::runtime();
    let directory = TempDir::new().expect("a directory");
    runtime.block_on(async {
        let endpoint = sample::create(directory.path(), "hub").await;
        sample::fill(&endpoint, &sample::ids(&endpoint, ITEMS)).await;
    });
    let mut serving =
        child(&["hub", directory.path().to_str().expect("UTF-8")]).spawn().expect("a child");
    let hub = first_line(&mut serving);
    let (listing, since) = runtime.block_on(async {
        let listing = get(&hub, LISTING, None).await;
        let all = get(&hub, "/collections/notes/changes.atom?limit=1000", None).await;
        let text = String::from_utf8(all.body).expect("UTF-8");
        let until = text.split_once("until=\"").expect("a window").1;
        (listing, until.split_once('"').expect("a value").0.to_owned())
    });
    let mut bare = child(&["bare"]).spawn().expect("a child");
    let alone = first_line(&mut bare);
    let nginx = Nginx::start(&program, &listing.body);
    let changes = format!("/collections/notes/changes.atom?since={since}");
    let tags = runtime.block_on(async {
        let mut tags = Vec::new();
        for (address, path) in
            [(&nginx.address, "/listing.atom"), (&hub, LISTING), (&hub, &changes)]
        {
            tags.push(get(address, path, None).await.tag.expect("a tag"));
        }
        tags
    });
    let candidate = |name, process, address: &str, path: &str, tag: Option<&String>| Candidate {
        name,
        process,
        address: address.to_owned(),
        request: request(address, path, tag.map(String::as_str)),
        status: if tag.is_some() { 304 } else { 200 },
        times: Vec::new(),
    };
    let static_file = (nginx.worker, nginx.address.as_str());
    let mut candidates = [
        candidate("nginx, 304", static_file.0, static_file.1, "/listing.atom", Some(&tags[0])),
        candidate("axum alone, 304", bare.id(), &alone, "/", Some(&tags[0])),
        candidate("hub, a listing: 304", serving.id(), &hub, LISTING, Some(&tags[1])),
        candidate("hub, changes since the last: 304", serving.id(), &hub, &changes, Some(&tags[2])),
        candidate("nginx, the file", static_file.0, static_file.1, "/listing.atom", None),
        candidate("hub, the listing", serving.id(), &hub, LISTING, None),
    ];
    for round in 0..=ROUNDS {
        for candidate in &mut candidates {
            let took = runtime.block_on(candidate.round());
            if round > 0 {
                candidate.times.push(took / REQUESTS as u32);
            }
        }
    }
    for mut process in [serving, bare] {
        drop(process.stdin.take());
        process.wait().expect("a process that ends");
    }
    print(&candidates, listing.body.len());
}

const LISTING: &str = "/collections/notes?limit=50";

fn print(candidates: &[Candidate], bytes: usize) {
    println!("## Answers against nginx: a listing of 50 entries, {bytes} bytes\n");
    println!("| | processor time of the server for one | against nginx |\n|---|---|---|");
    let times: Vec<Times> =
        candidates.iter().map(|candidate| Times::new(candidate.times.clone())).collect();
    for (index, candidate) in candidates.iter().enumerate() {
        let peer = if candidate.status == 304 { &times[0] } else { &times[4] };
        println!("| {} | {} | {:.2} |", candidate.name, times[index], ratio(&times[index], peer));
    }
    println!();
}

impl Candidate {
    /// Sends [`REQUESTS`] requests; returns the processor time of the server.
    pub(crate) async fn round(&self) -> Duration {
        let before = processor_time_of(self.process);
        let mut clients = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let (address, request, status) =
                (self.address.clone(), self.request.clone(), self.status);
            clients.spawn(async move {
                let mut connection = Connection::open(&address).await;
                for _ in 0..REQUESTS / CONNECTIONS {
                    let answer = connection.exchange(&request).await;
                    assert_eq!(answer.status, status);
                }
            });
        }
        clients.join_all().await;
        processor_time_of(self.process) - before
    }
}

pub(crate) fn request(address: &str, path: &str, tag: Option<&str>) -> Vec<u8> {
    let condition = tag.map(|tag| format!("If-None-Match: {tag}\r\n")).unwrap_or_default();
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{condition}\r\n").into_bytes()
}

async fn get(address: &str, path: &str, tag: Option<&str>) -> crate::keepalive::Answer {
    let answer = Connection::open(address).await.exchange(&request(address, path, tag)).await;
    assert_eq!(answer.status, 200, "{path}: {}", String::from_utf8_lossy(&answer.body));
    answer
}

/// Answers every request with 304 until its standard input ends. This is the minimal cost of a response with the
/// HTTP library of the hub.
pub(crate) fn serve_bare() {
    sample::runtime().block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("{}", listener.local_addr().expect("an address"));
        let answer = || async { (http::StatusCode::NOT_MODIFIED, [("etag", "\"1\"")]) };
        let serving = axum::serve(listener, axum::Router::new().fallback(answer));
        tokio::spawn(serving.into_future());
        let mut end = String::new();
        let read = tokio::task::spawn_blocking(move || std::io::stdin().read_line(&mut end));
        read.await.expect("a thread").expect("standard input");
    });
}

/// Path of nginx in the usual directories.
pub(crate) fn nginx() -> Option<PathBuf> {
    program("nginx")
}

/// Path of a program in the usual directories.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    let mut places = std::env::split_paths(&path).chain(more);
    places.find_map(|place| Some(place.join(name)).filter(|program| program.exists()))
}

/// A running nginx with one worker.
pub(crate) struct Nginx {
    master: Child,
    pub(crate) worker: u32,
    pub(crate) address: String,
    _directory: TempDir,
}

impl Nginx {
    /// Starts nginx with a file, `/listing.atom`.
    pub(crate) fn start(program: &Path, file: &[u8]) -> Self {
        let directory = TempDir::new().expect("a directory");
        fs::write(directory.path().join("listing.atom"), file).expect("a file");
        Self::with(program, directory, "", "")
    }

    /// Starts nginx with additional configuration for all servers, and for its own server.
    pub(crate) fn with(program: &Path, directory: TempDir, all: &str, server: &str) -> Self {
        let place = directory.path();
        let port = free_port();
        let user = if rustix::process::getuid().is_root() { "user root;" } else { "" };
        let configuration = format!(
            "daemon off; {user} worker_processes 1; error_log stderr error; pid {0}/pid;
             events {{ worker_connections 512; }}
             http {{
                 access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
                 client_body_temp_path {0}/body; proxy_temp_path {0}/proxy;
                 fastcgi_temp_path {0}/fastcgi; uwsgi_temp_path {0}/uwsgi;
                 scgi_temp_path {0}/scgi; types {{ application/atom+xml atom; }}
                 {all}
                 server {{ listen 127.0.0.1:{port}; root {0}; {server} }}
             }}",
            place.display()
        );
        fs::write(place.join("nginx.conf"), configuration).expect("a file");
        let master = Command::new(program)
            .arg("-p")
            .arg(place)
            .arg("-c")
            .arg(place.join("nginx.conf"))
            .stdin(Stdio::null())
            .spawn()
            .expect("nginx");
        let address = format!("127.0.0.1:{port}");
        let children = format!("/proc/{0}/task/{0}/children", master.id());
        let began = Instant::now();
        // The port is open before the worker exists. With a cache there are also cache processes; the worker is
        // the first.
        let worker = loop {
            let workers = fs::read_to_string(&children).expect("a Linux system");
            if let Some(worker) = workers.split_whitespace().next()
                && std::net::TcpStream::connect(&address).is_ok()
            {
                break worker.to_owned();
            }
            assert!(began.elapsed() < Duration::from_secs(10), "nginx does not listen");
            std::thread::sleep(Duration::from_millis(20));
        };
        let worker = worker.parse().expect("one worker");
        Self { master, worker, address, _directory: directory }
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let process = rustix::process::Pid::from_child(&self.master);
        // The master may have ended already.
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        let _ = self.master.wait();
    }
}

pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    listener.local_addr().expect("an address").port()
}
