//! Rate and concurrency limits of each client: requests per second, concurrent requests and event streams
//! (AH27).
//!
//! A client is an address (for IPv6 its /64, which belongs to one subscriber) and, after sign-in, also that
//! user. Usage is stored in bounded memory. An evicted client starts with full limits; evicting one takes as
//! many other clients as the table holds.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderValue, StatusCode, header};

use crate::config::Limits;
use crate::http::bucket::Bucket;
use crate::http::generations::GenerationalMap;
use crate::http::problem::Problem;

/// Client whose usage is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// An address.
    Address(IpAddr),
    /// A user, by name.
    Person(Arc<str>),
}

impl Key {
    /// Key of an address: IPv4 whole, IPv6 by its first 64 bits.
    pub(crate) fn address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => {
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)))
            }
            four => four,
        })
    }
}

/// Usage of all clients. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Clients {
    limits: Limits,
    remembered: Arc<Mutex<GenerationalMap<Key, Arc<Usage>>>>,
}

struct Usage {
    bucket: Mutex<Bucket>,
    requests: AtomicUsize,
    followers: AtomicUsize,
    uploads: AtomicUsize,
    /// Bytes of media and blobs.
    sent: Mutex<Bucket>,
    /// Bytes of HTML that may be cleaned; negative when the client has overdrawn its budget.
    work: Mutex<Bucket>,
}

/// Bytes of HTML that may be cleaned for a client per second on average, and at once after a pause. HTML that
/// was cleaned before costs nothing.
const HTML_BYTES_PER_SECOND: f64 = (4 << 20) as f64;
const HTML_BURST_BYTES: f64 = (256 << 20) as f64;

/// Budget of a client for work on HTML.
pub(crate) struct HtmlBudget(Arc<Usage>);

impl HtmlBudget {
    /// Takes so many bytes from the budget, which may become negative.
    pub(crate) fn charge(&self, bytes: usize) {
        let mut work = self.0.work.lock().unwrap_or_else(PoisonError::into_inner);
        work.tokens -= bytes as f64;
    }
}

/// An active request or event stream of a client, until this is dropped.
pub(crate) struct UsageGuard {
    usage: Arc<Usage>,
    of: fn(&Usage) -> &AtomicUsize,
}

impl Drop for UsageGuard {
    fn drop(&mut self) {
        (self.of)(&self.usage).fetch_sub(1, Ordering::Relaxed);
    }
}

impl Clients {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, remembered: Arc::new(Mutex::new(GenerationalMap::new(limits.clients))) }
    }

    /// Admits a request of a client, or returns when to retry.
    pub(crate) fn admit(&self, key: Key) -> Result<UsageGuard, Problem> {
        let usage = self.usage(key);
        if self.limits.client_requests > 0 {
            let rate = self.limits.client_requests as f64;
            let mut bucket = usage.bucket.lock().unwrap_or_else(PoisonError::into_inner);
            bucket.fill(rate, self.limits.client_burst as f64);
            if bucket.tokens < 1.0 {
                let wait = Duration::from_secs_f64((1.0 - bucket.tokens) / rate);
                let detail = format!(
                    "a client may send {} requests per second, and {} at once after a pause; try again later",
                    self.limits.client_requests, self.limits.client_burst
                );
                return Err(too_many(detail, wait));
            }
            bucket.tokens -= 1.0;
        }
        let most = self.limits.client_concurrency;
        let detail = || {
            format!(
                "a client may have {most} concurrent requests; wait until some of them have \
                 finished"
            )
        };
        underway(usage, |usage| &usage.requests, most, detail)
    }

    /// Admits an event stream of a client, or returns when to retry.
    pub(crate) fn follow(&self, key: Key) -> Result<UsageGuard, Problem> {
        let most = self.limits.client_followers;
        let detail = || {
            format!("a client may have {most} concurrent event streams; close some of them first")
        };
        underway(self.usage(key), |usage| &usage.followers, most, detail)
    }

    /// Admits a request body of a client, or returns when to retry.
    pub(crate) fn upload(&self, key: Key) -> Result<UsageGuard, Problem> {
        let most = self.limits.client_uploads;
        let detail = || {
            format!(
                "a client may send {most} request bodies at the same time; wait until some of them \
                 have finished"
            )
        };
        underway(self.usage(key), |usage| &usage.uploads, most, detail)
    }

    /// Budget of a client for work on HTML; refused while it is exhausted.
    pub(crate) fn work(&self, key: Key) -> Result<HtmlBudget, Problem> {
        let usage = self.usage(key);
        let mut work = usage.work.lock().unwrap_or_else(PoisonError::into_inner);
        work.fill(HTML_BYTES_PER_SECOND, HTML_BURST_BYTES);
        if work.tokens <= 0.0 {
            let wait = Duration::from_secs_f64(-work.tokens / HTML_BYTES_PER_SECOND);
            let detail = "a client may request 4 MiB of sanitized HTML per second, and 256 MiB at once after a pause; try again later";
            return Err(too_many(detail.to_owned(), wait));
        }
        drop(work);
        Ok(HtmlBudget(usage))
    }

    /// Remaining budget of a client for work on HTML, in bytes, for tests.
    #[cfg(test)]
    pub(crate) fn left(&self, key: Key) -> f64 {
        self.usage(key).work.lock().unwrap_or_else(PoisonError::into_inner).tokens
    }

    /// Refuses an upload of so many bytes if it exceeds the client's daily budget.
    pub(crate) fn may_upload(&self, key: Key, bytes: u64) -> Result<(), Problem> {
        self.sent(key, bytes, false)
    }

    /// Counts uploaded bytes; refused if they exceed the budget.
    pub(crate) fn uploaded(&self, key: Key, bytes: u64) -> Result<(), Problem> {
        self.sent(key, bytes, true)
    }

    fn sent(&self, key: Key, bytes: u64, counts: bool) -> Result<(), Problem> {
        const DAY: f64 = 86_400.0;
        let most = self.limits.person_upload_bytes as f64;
        let usage = self.usage(key);
        let mut sent = usage.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.fill(most / DAY, most);
        let bytes = bytes as f64;
        if sent.tokens < bytes {
            let detail = format!(
                "a person may upload {most} bytes of media and blobs per day; nothing was stored, try again later"
            );
            let wait = ((bytes.min(most) - sent.tokens) * DAY / most).ceil() as u64;
            let problem = Problem::quota("person_upload_bytes", detail);
            return Err(problem.header(header::RETRY_AFTER, HeaderValue::from(wait.max(1))));
        }
        if counts {
            sent.tokens -= bytes;
        }
        Ok(())
    }

    fn usage(&self, key: Key) -> Arc<Usage> {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(usage) = remembered.fresh(&key) {
            return Arc::clone(usage);
        }
        let usage = remembered.get(&key).cloned().unwrap_or_else(|| {
            Arc::new(Usage {
                bucket: Mutex::new(Bucket::full(self.limits.client_burst as f64)),
                requests: AtomicUsize::new(0),
                followers: AtomicUsize::new(0),
                uploads: AtomicUsize::new(0),
                sent: Mutex::new(Bucket::full(self.limits.person_upload_bytes as f64)),
                work: Mutex::new(Bucket::full(HTML_BURST_BYTES)),
            })
        });
        remembered.insert(key, Arc::clone(&usage));
        usage
    }
}

fn underway(
    usage: Arc<Usage>,
    of: fn(&Usage) -> &AtomicUsize,
    most: usize,
    detail: impl Fn() -> String,
) -> Result<UsageGuard, Problem> {
    let before = of(&usage).fetch_add(1, Ordering::Relaxed);
    let underway = UsageGuard { usage, of };
    if most > 0 && before >= most {
        return Err(too_many(detail(), Duration::from_secs(1)));
    }
    Ok(underway)
}

fn too_many(detail: String, wait: Duration) -> Problem {
    let seconds = (wait.as_secs_f64().ceil() as u64).max(1);
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many-requests", "Too many requests", detail)
        .header(header::RETRY_AFTER, HeaderValue::from(seconds))
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;
    use tokio::time::advance;

    use super::*;

    fn clients(limits: Limits) -> Clients {
        Clients::new(limits)
    }

    fn of(address: &str) -> Key {
        Key::address(address.parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_makes_so_many_requests_in_a_second_and_is_told_when_to_come_back() {
        let limits = Limits { client_requests: 2, client_burst: 3, ..Limits::default() };
        let clients = clients(limits);
        let admitted = |address: &str| clients.admit(of(address)).is_ok();
        let taken = (0..10).filter(|_| admitted("192.0.2.1")).count();
        assert_eq!(taken, 3);
        let refused = clients.admit(of("192.0.2.1")).err().unwrap().into_response();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(refused.headers()["retry-after"], "1");
        assert!(admitted("192.0.2.2"), "others are not held up");
        advance(Duration::from_millis(500)).await;
        assert!(admitted("192.0.2.1"));
        assert!(!admitted("192.0.2.1"));
        advance(Duration::from_secs(3_600)).await;
        assert_eq!((0..10).filter(|_| admitted("192.0.2.1")).count(), 3, "the burst is bounded");
        let slow = Limits { client_requests: 0, ..limits };
        assert!((0..1_000).all(|_| Clients::new(slow).admit(of("192.0.2.1")).is_ok()));
    }

    #[test]
    fn an_address_of_ipv6_counts_by_its_first_half() {
        assert_eq!(of("2001:db8:1:2:3:4:5:6"), of("2001:db8:1:2:ffff::"));
        assert_ne!(of("2001:db8:1:2::1"), of("2001:db8:1:3::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("::ffff:192.0.2.1"), of("::ffff:192.0.2.2"));
    }

    #[tokio::test]
    async fn active_requests_count_until_they_end() {
        let limits = Limits { client_concurrency: 2, client_followers: 1, ..Limits::default() };
        let clients = clients(limits);
        let anna = || Key::Person("anna".into());
        let first = clients.admit(anna()).ok().unwrap();
        let second = clients.admit(anna()).ok().unwrap();
        assert!(clients.admit(anna()).is_err());
        assert!(clients.admit(anna()).is_err(), "a refused request leaves no trace");
        drop(first);
        assert!(clients.admit(anna()).is_ok());
        drop(second);
        let following = clients.follow(anna()).ok().unwrap();
        assert!(clients.follow(anna()).is_err());
        drop(following);
        assert!(clients.follow(anna()).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn upload_budget_refills_over_a_day() {
        let limits = Limits { person_upload_bytes: 86_400, ..Limits::default() };
        let clients = clients(limits);
        let anna = || Key::Person("anna".into());
        assert!(clients.may_upload(anna(), 86_400).is_ok(), "looking takes nothing");
        assert!(clients.uploaded(anna(), 80_000).is_ok());
        let refused = clients.uploaded(anna(), 7_000).err().unwrap().into_response();
        assert_eq!(refused.status(), StatusCode::INSUFFICIENT_STORAGE);
        assert_eq!(refused.headers()["retry-after"], "600", "a byte a second");
        advance(Duration::from_secs(601)).await;
        assert!(clients.uploaded(anna(), 7_000).is_ok());
        advance(Duration::from_secs(1_000_000)).await;
        assert!(clients.uploaded(anna(), 86_401).is_err(), "never more than a day's");
        assert!(clients.uploaded(anna(), 86_400).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn clients_beyond_their_html_budget_get_429() {
        let clients = clients(Limits::default());
        let anna = || Key::Person("anna".into());
        for _ in 0..256 {
            clients.work(anna()).ok().unwrap().charge(1 << 20);
        }
        let refused = clients.work(anna()).err().unwrap().into_response();
        assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
        assert!(clients.work(of("192.0.2.1")).is_ok());
        advance(Duration::from_secs(1)).await;
        clients.work(anna()).ok().unwrap().charge(16 << 20);
        let refused = clients.work(anna()).err().unwrap().into_response();
        assert_eq!(refused.headers()["retry-after"], "3");
    }

    #[tokio::test]
    async fn a_million_addresses_take_bounded_memory_and_who_asks_on_is_not_forgotten() {
        let limits =
            Limits { clients: 1_000, client_requests: 1, client_burst: 1, ..Limits::default() };
        let clients = clients(limits);
        assert!(clients.admit(of("192.0.2.1")).is_ok());
        for number in 0..1_000_000_u32 {
            let address = IpAddr::V4((0x0a00_0000 + number).into());
            assert!(clients.admit(Key::address(address)).is_ok());
            if number % 400 == 0 {
                let usage = clients.usage(of("192.0.2.1"));
                assert!(usage.bucket.lock().unwrap().filled.elapsed() < Duration::from_secs(600));
                assert_eq!(usage.bucket.lock().unwrap().tokens, 0.0, "it still counts");
            }
        }
        let remembered = clients.remembered.lock().unwrap();
        let (length, capacity) = remembered.size();
        assert!(length <= 1_000 && capacity < 4_000, "{length} {capacity}");
    }
}
