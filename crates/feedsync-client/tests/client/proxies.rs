//! Proxies: those of the environment are not used on behalf of strangers, and no proxy gets a private name.
//!
//! Each process reads the environment once, so tests with variables run again in a process of their own.

use std::net::TcpListener;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use feedsync_fetch::{FetchError, Fetched, Fetcher, Policy, Private, Request, address};

use feedsync_test::site::{Site, document};

const PROXIES: [&str; 6] =
    ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
const EXCEPTIONS: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// Variable with a target that the child process fetches in every way on behalf of strangers.
const TARGET: &str = "FEEDSYNC_TEST_TARGET";

/// A listener that counts connections and never responds.
struct Recorder {
    place: String,
    count: Arc<AtomicUsize>,
}

impl Recorder {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap().to_string();
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                counted.fetch_add(1, Ordering::SeqCst);
                drop(stream);
            }
        });
        Self { place, count }
    }

    fn connections(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

/// Runs tests of this file again, in a process with these variables and no others that name proxies.
fn again(tests: &[&str], variables: &[(&str, &str)]) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("--exact").args(tests);
    for name in PROXIES.into_iter().chain(EXCEPTIONS) {
        command.env_remove(name);
    }
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let all_ran = text.contains(&format!("{} passed", tests.len()));
    assert!(output.status.success() && all_ran, "{variables:?}: {text}");
}

#[test]
fn environment_proxies_carry_nothing_for_strangers() {
    let tests = [
        "proxies::strangers_reach_no_private_target",
        "strangers::a_public_address_leads_to_no_private_one_whoever_asks",
    ];
    for (place, name) in PROXIES.into_iter().enumerate() {
        let (proxy, target) = (Recorder::start(), Recorder::start());
        let (url, all) = (format!("http://{}", proxy.place), "localhost,127.0.0.1,*");
        let mut variables = vec![(name, url.as_str()), (TARGET, target.place.as_str())];
        // The second test is slow, since it tries all callers: it runs once for each kind.
        again(if place % 2 == 0 { &tests } else { &tests[..1] }, &variables);
        for exception in EXCEPTIONS {
            variables.push((exception, all));
            again(&tests[..1], &variables);
            variables.pop();
        }
        assert_eq!((proxy.connections(), target.connections()), (0, 0), "{name}");
    }
}

/// Whether an address was refused as private. Not every resolver knows a name that ends with a dot.
fn is_refused(error: &FetchError, host: &str) -> bool {
    match error {
        FetchError::Private { .. } => true,
        FetchError::Unreachable { .. } => host.ends_with('.'),
        _ => false,
    }
}

/// Fetches `TARGET` in every way on behalf of strangers; does nothing without it.
#[tokio::test]
async fn strangers_reach_no_private_target() {
    let Ok(place) = std::env::var(TARGET) else { return };
    let public = address("http://8.8.8.8/feed").unwrap();
    let open = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
    let networks = ["10.0.0.0/8".parse().unwrap()];
    let fetchers = [
        ("refused", Fetcher::new(Policy::new(Private::Refused)).unwrap()),
        ("stranger", open.for_untrusted()),
        ("stranger near a network", open.clone().with_networks(&networks).unwrap().for_untrusted()),
        ("refusing", open.public_only()),
        ("learnt from a public address", open.given(public)),
    ];
    for scheme in ["http", "https"] {
        for host in ["localhost", "LOCALHOST.", "127.0.0.1", "[::ffff:127.0.0.1]"] {
            let place = place.replace("127.0.0.1", host);
            let url = address(&format!("{scheme}://{place}/secret")).unwrap();
            for (name, fetcher) in &fetchers {
                let error = fetcher.fetch(Request::read(url.clone())).await.unwrap_err();
                assert!(is_refused(&error, host), "{name}, {url}: {error}");
            }
        }
    }
}

/// The person's own requests use the person's proxy.
#[test]
fn requests_of_a_person_use_the_proxy_of_the_environment() {
    for name in ["http_proxy", "all_proxy", "ALL_PROXY"] {
        let proxy = Recorder::start();
        let url = format!("http://{}", proxy.place);
        again(&["proxies::a_person_asks_for_a_public_address"], &[(name, &url), (TARGET, "x")]);
        assert!(proxy.connections() > 0, "{name}");
    }
}

#[tokio::test]
async fn a_person_asks_for_a_public_address() {
    let Ok(_) = std::env::var(TARGET) else { return };
    let open = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
    let url = address("http://8.8.8.8/feed").unwrap();
    let error = open.fetch(Request::read(url)).await.unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { .. }), "the proxy hangs up: {error}");
}

#[tokio::test]
async fn a_proxy_that_is_set_carries_public_addresses_only() {
    let proxy = Site::start(|_| document("text/plain", "through the proxy")).await;
    let target = Site::start(|_| document("text/plain", "inside")).await;
    let proxied = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
    let proxied = proxied.through(&address(&proxy.base).unwrap()).unwrap();
    let stranger = proxied.for_untrusted();
    let public = Request::read(address("http://8.8.8.8/feed").unwrap());
    assert!(matches!(stranger.fetch(public).await, Ok(Fetched::Answer(_))));
    assert_eq!(proxy.targets(), ["http://8.8.8.8/feed"]);
    proxy.forget();
    let named = target.url("/").replace("127.0.0.1", "localhost");
    for host in ["127.0.0.1", "localhost", "localhost."] {
        let url = named.replace("localhost", host);
        let error = stranger.fetch(Request::read(address(&url).unwrap())).await.unwrap_err();
        assert!(is_refused(&error, host), "{url}: {error}");
    }
    let unknown = Request::read(address("http://no-such-name.invalid/").unwrap());
    assert!(matches!(stranger.fetch(unknown).await, Err(FetchError::Unreachable { .. })));
    assert_eq!((proxy.asked().len(), target.asked().len()), (0, 0));
    // Networks that the operator names are reached directly.
    let near = proxied.with_networks(&["127.0.0.0/8".parse().unwrap(), "::1/128".parse().unwrap()]);
    let near = near.unwrap().for_untrusted();
    let answer = near.fetch(Request::read(address(&named).unwrap())).await;
    assert!(matches!(answer, Ok(Fetched::Answer(_))), "{answer:?}");
    assert_eq!((proxy.asked().len(), target.asked().len()), (0, 1));
}
