//! Costs of the gateway: processor time of a cached feed compared to the caches of nginx and squid, and the delay
//! of a forwarded request. Memory is measured with many stored resources.
//!
//! The origin is nginx with a file of fifty entries. All caches are filled before the measurement, and none
//! contacts the origin during it.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::answers::{Candidate, Nginx, REQUESTS, free_port, nginx, program, request};
use crate::gateways::{Gateway, input_ends};
use crate::keepalive::Connection;
use crate::measure::{ROUNDS, Times, ratio};
use crate::memory::first_line;
use crate::process::{child, current_memory, peak_memory};
use crate::sample;

/// Number of forwarded requests for each way, one every hundredth of a second.
const FORWARDED_REQUESTS: usize = 1_000;

/// Number of resources that a feed links to.
const LINKS: usize = 100_000;

pub(crate) fn run() {
    let Some(nginx) = nginx() else {
        println!("## The gateway\n\nNot measured: there is no nginx here.\n");
        return;
    };
    let runtime = sample::runtime();
    let file = listing(50);
    let origin = Nginx::start(&nginx, file.as_bytes());
    let feed = format!("http://{}/listing.atom", origin.address);
    let cache = cache_of(&nginx, &origin.address);
    let squid = program("squid").map(|squid| Squid::start(&squid));
    let directory = TempDir::new().expect("a directory");
    let gateway = Gateway::start(directory.path(), &origin.address);
    runtime.block_on(gateway.subscribe(&feed, None));

    let mounted = format!("/http/{}/listing.atom", origin.address);
    let mut candidates = vec![
        candidate("nginx, proxy_cache", cache.worker, &cache.address, "/listing.atom"),
        candidate("gateway, a stored feed", gateway.child.id(), &gateway.proxy, &mounted),
    ];
    if let Some(squid) = &squid {
        candidates.push(candidate("squid, from its memory", squid.worker, &squid.address, &feed));
    }
    for round in 0..=ROUNDS {
        for candidate in &mut candidates {
            let took = runtime.block_on(candidate.round());
            if round > 0 {
                candidate.times.push(took / REQUESTS as u32);
            }
        }
    }
    println!("## The gateway: a stored feed of {} bytes\n", file.len());
    println!("| | processor time for one | the gateway against it |\n|---|---|---|");
    let times: Vec<Times> =
        candidates.iter().map(|candidate| Times::new(candidate.times.clone())).collect();
    for (candidate, time) in candidates.iter().zip(&times) {
        println!("| {} | {time} | {:.2} |", candidate.name, ratio(&times[1], time));
    }
    if squid.is_none() {
        println!("| squid | not measured: there is none here | |");
    }
    println!();

    let plain = Nginx::with(
        &nginx,
        TempDir::new().expect("a directory"),
        &upstream(&origin.address),
        "location / { proxy_pass http://origin; proxy_http_version 1.1; \
         proxy_set_header Connection \"\"; }",
    );
    // This address is not subscribed to.
    let other = format!("/http/{}/listing.atom?other", origin.address);
    let ways = [
        ("the origin itself", origin.address.clone(), "/listing.atom?other".to_owned()),
        ("through nginx", plain.address.clone(), "/listing.atom?other".to_owned()),
        ("through the gateway", gateway.proxy.clone(), other),
    ];
    let took = runtime.block_on(async {
        let mut took: Vec<Vec<Duration>> = vec![Vec::new(); ways.len()];
        let mut connections = Vec::new();
        for (_, address, _) in &ways {
            connections.push(Connection::open(address).await);
        }
        for _ in 0..FORWARDED_REQUESTS {
            for (index, (_, address, path)) in ways.iter().enumerate() {
                let asked = request(address, path, None);
                let began = Instant::now();
                let answer = connections[index].exchange(&asked).await;
                took[index].push(began.elapsed());
                assert_eq!(answer.status, 200);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        took
    });
    println!("## The gateway: what is not stored passes through, about 100 requests a second\n");
    println!("| | median | 99 % |\n|---|---|---|");
    for ((name, ..), mut took) in ways.into_iter().zip(took) {
        took.sort_unstable();
        println!(
            "| {name} | {:.0?} | {:.0?} |",
            took[FORWARDED_REQUESTS / 2],
            took[FORWARDED_REQUESTS * 99 / 100]
        );
    }
    println!();
    gateway.end();

    let count = sample::max_items().min(LINKS);
    let mut links = child(&["links", &count.to_string()]).spawn().expect("a child");
    let address = first_line(&mut links);
    let directory = TempDir::new().expect("a directory");
    let gateway = Gateway::start(directory.path(), &address);
    let idle = current_memory(gateway.child.id());
    let began = Instant::now();
    runtime.block_on(gateway.subscribe(&format!("http://{address}/feed"), None));
    let took = began.elapsed();
    let (held, peak) = (current_memory(gateway.child.id()), peak_memory(gateway.child.id()));
    println!("## The gateway with {count} stored resources, fetched in {took:.0?}\n");
    println!("| | |\n|---|---|");
    for (what, kibibytes) in [("memory before", idle), ("memory now", held), ("at most", peak)] {
        println!("| {what} | {:.1} MB |", kibibytes as f64 * 1_024.0 / 1e6);
    }
    println!();
    gateway.end();
    drop(links.stdin.take());
    links.wait().expect("a child that ends");
}

fn candidate(name: &'static str, process: u32, address: &str, path: &str) -> Candidate {
    let request = request(address, path, None);
    Candidate {
        name,
        process,
        address: address.to_owned(),
        request,
        status: 200,
        times: Vec::new(),
    }
}

/// A feed with a number of entries.
fn listing(entries: usize) -> String {
    let content = "This sentence is about as long as one that a person writes. ".repeat(14);
    let entry = |number: usize| {
        format!(
            "<entry><id>urn:x:{number}</id><title>Note {number}</title>\
             <updated>2026-11-21T00:00:00Z</updated><content>{content}</content></entry>\n"
        )
    };
    let entries: String = (0..entries).map(entry).collect();
    format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x</id><title>Notes</title>\
         <updated>2026-11-21T00:00:00Z</updated><author><name>a</name></author>\n{entries}</feed>\n"
    )
}

fn upstream(origin: &str) -> String {
    format!("upstream origin {{ server {origin}; keepalive 16; }}")
}

fn cache_of(program: &Path, origin: &str) -> Nginx {
    let directory = TempDir::new().expect("a directory");
    let place = directory.path().display().to_string();
    let all = format!(
        "{} proxy_cache_path {place}/cache keys_zone=one:10m inactive=1d;",
        upstream(origin)
    );
    let server = "location / { proxy_pass http://origin; proxy_http_version 1.1; \
        proxy_set_header Connection \"\"; proxy_cache one; proxy_cache_valid 200 1d; }";
    Nginx::with(program, directory, &all, server)
}

/// Serves a feed that links to a number of resources, and the resources.
pub(crate) fn serve_links(count: usize) {
    sample::runtime().block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        println!("{}", listener.local_addr().expect("an address"));
        let links: String = (0..count)
            .map(|number| format!("<link rel='related' href='/r/{number}'/>\n"))
            .collect();
        let feed = format!(
            "<feed xmlns='http://www.w3.org/2005/Atom'><id>urn:x</id><title>t</title>\
             <updated>2026-11-21T00:00:00Z</updated>{links}</feed>"
        );
        let answer = move |uri: http::Uri| async move {
            match uri.path() {
                "/feed" => ([("content-type", "application/atom+xml")], feed),
                path => ([("content-type", "text/plain")], format!("the resource {path}")),
            }
        };
        let serving = axum::serve(listener, axum::Router::new().fallback(answer));
        tokio::spawn(serving.into_future());
        input_ends().await;
    });
}

/// A running squid with a cache in memory.
struct Squid {
    master: Child,
    worker: u32,
    address: String,
    _directory: TempDir,
}

impl Squid {
    fn start(program: &Path) -> Self {
        let directory = TempDir::new().expect("a directory");
        let place = directory.path().display().to_string();
        let port = free_port();
        let configuration = format!(
            "http_port 127.0.0.1:{port}\nhttp_access allow all\ncache_mem 64 MB\n\
             maximum_object_size_in_memory 1 MB\naccess_log none\ncache_log /dev/null\n\
             pid_filename {place}/pid\ncoredump_dir {place}\nrefresh_pattern . 1440 100% 1440\n\
             pinger_enable off\nshutdown_lifetime 1 seconds\nworkers 1\n"
        );
        let file = directory.path().join("squid.conf");
        fs::write(&file, configuration).expect("a file");
        let master = Command::new(program)
            .args(["-N", "-f"])
            .arg(&file)
            .stdin(Stdio::null())
            .spawn()
            .expect("squid");
        let address = format!("127.0.0.1:{port}");
        let began = Instant::now();
        while std::net::TcpStream::connect(&address).is_err() {
            assert!(began.elapsed() < Duration::from_secs(20), "squid does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        let worker = master.id();
        Self { master, worker, address, _directory: directory }
    }
}

impl Drop for Squid {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.master.kill();
        let _ = self.master.wait();
    }
}
