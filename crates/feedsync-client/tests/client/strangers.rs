//! A public address never leads to a private one, for any kind of request and any spelling of the private
//! address.
//!
//! `8.8.8.8` represents any public address: requests are refused before anything is sent.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use feedsync_aggregator::{
    FeedSchedule, FullTextError, FullTexts, Library, Pictures, SqliteLibrary,
};
use feedsync_client::replicate::{RemoteDatabase, Replica as _, ReplicationError, RetryPolicy};
use feedsync_client::{
    Direction, LogAccess as _, LogError, NoProgress, Pace, RemoteLog, SubscriptionOptions,
    SyncError, Watch,
};
use feedsync_endpoint::NewUser;
use feedsync_fetch::{FetchError, Fetcher, Policy, Private, address};
use feedsync_log::{LogRequest, Millis};
use feedsync_reading_state::FeedAddress;
use feedsync_store::{Remote, RemoteState, Subscription, UserName};
use feedsync_test::site::{Site, document};
use tokio::time::timeout;

use crate::blobs::naming;
use crate::world::{Peer, notes};

const PUBLIC: &str = "http://8.8.8.8/feed";

/// Every file that sends requests to other machines. A new one needs a row here, and a test below.
const CALLERS: [(&str, Caller); 13] = [
    ("feedsync-client/src/document.rs", Caller::Documents),
    ("feedsync-client/src/push.rs", Caller::Pushes),
    ("feedsync-client/src/blobs.rs", Caller::Blobs),
    ("feedsync-client/src/follow.rs", Caller::Events),
    ("feedsync-client/src/log/remote.rs", Caller::Logs),
    ("feedsync-client/src/replicate/remote.rs", Caller::Databases),
    ("feedsync-aggregator/src/polling/fetch.rs", Caller::Feeds),
    // Tested in feedsync-aggregator, in tests/reading/finding.rs.
    ("feedsync-aggregator/src/polling/find.rs", Caller::Feeds),
    // Tested in feedsync-server, in tests/http/pages_reading_full_text.rs, too.
    ("feedsync-aggregator/src/polling/article_page.rs", Caller::FullTexts),
    // Icons of sites, too.
    ("feedsync-aggregator/src/polling/raster.rs", Caller::Pictures),
    ("feedsync-cli/src/source.rs", Caller::Sources),
    ("feedsync-cli/src/commands/remote/login.rs", Caller::Sources),
    // There is a test in the file itself, too.
    ("feedsync-cli/src/commands/serve/acme/client.rs", Caller::Sources),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    /// Pages, feeds, complete feeds, and heads of publishers: pull, subscribe, follow.
    Documents,
    Pushes,
    Blobs,
    Events,
    /// Logs, and files beside them.
    Logs,
    /// Databases of documents, and the documents.
    Databases,
    /// Feeds that a user reads at a hub with users.
    Feeds,
    /// Pictures of the articles of a feed.
    Pictures,
    /// Web pages of the articles of a feed.
    FullTexts,
    /// `import URL`, `validate URL`, `convert URL`, `merge URL`, `login URL`, and addresses from an authority for
    /// certificates.
    Sources,
}

#[test]
fn each_file_that_sends_requests_has_a_row() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = BTreeSet::new();
    for package in std::fs::read_dir(crates).unwrap() {
        visit(&package.unwrap().path().join("src"), &mut |path, text| {
            let text: String = text.split_whitespace().collect();
            let asks = text.contains(".fetch(") || text.contains("fetcher()?.document(address");
            let path = path.strip_prefix(crates).unwrap().to_str().unwrap().replace('\\', "/");
            if asks && !path.starts_with("feedsync-fetch/") {
                found.insert(path);
            }
        });
    }
    let rows: BTreeSet<_> = CALLERS.iter().map(|(file, _)| (*file).to_owned()).collect();
    let without: Vec<_> = found.difference(&rows).collect();
    assert!(without.is_empty(), "who asks other machines without a row: {without:?}");
    let idle: Vec<_> = rows.difference(&found).collect();
    assert!(idle.is_empty(), "rows of files that ask nobody: {idle:?}");
}

fn visit(directory: &Path, look: &mut dyn FnMut(&Path, &str)) {
    let Ok(entries) = std::fs::read_dir(directory) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            visit(&path, look);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            look(&path, &std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// Returns one private address in every spelling.
fn spellings(site: &Site) -> Vec<String> {
    let spelt = |host: &str| site.url("/collections/notes/changes").replace("127.0.0.1", host);
    ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]"]
        .map(spelt)
        .to_vec()
}

fn is_private(error: &SyncError) -> bool {
    matches!(error, SyncError::Fetch(FetchError::Private { .. }))
}

#[tokio::test]
async fn a_public_address_leads_to_no_private_one_whoever_asks() {
    let site = Site::start(|_| document("application/atom+xml", "<feed/>")).await;
    for private in spellings(&site) {
        for (file, caller) in CALLERS {
            assert!(caller.is_refused(&private).await, "{file}: {private}");
            assert_eq!(site.targets(), Vec::<String>::new(), "{file}: {private}");
        }
    }
}

impl Caller {
    /// Whether a request to a private address is refused if the address was learnt from a public one.
    async fn is_refused(self, private: &str) -> bool {
        let peer = Peer::new("desk").await;
        let remote = learnt(&peer, private).await;
        match self {
            Self::Documents => {
                let pull = Direction { pull: true, push: false };
                let error = peer.session.sync(&remote, pull, &NoProgress, false).await.unwrap_err();
                // Feeds that the publisher names are not requested either.
                let named = peer.session.aggregated_by(&remote).await.unwrap_err();
                is_private(&error) && is_private(&named)
            }
            Self::Pushes => {
                peer.add("mine").await;
                is_private(&push(&peer, &remote).await)
            }
            Self::Blobs => {
                let blob = peer.endpoint().store().put_blob(b"picture".to_vec()).await.unwrap();
                peer.add_payload(naming(blob)).await;
                is_private(&push(&peer, &remote).await)
            }
            Self::Events => {
                let pull = Direction { pull: true, push: false };
                let long = Duration::from_secs(3_600);
                let pause = Duration::from_millis(20);
                let pace = Pace { poll: long, reassure: long, pause, longest: pause };
                let mut watch = Watch::new(peer.session.clone(), remote, pull, pace);
                watch.next().await.unwrap();
                timeout(Duration::from_millis(100), watch.next()).await.is_err()
            }
            Self::Logs => {
                // A log names no other address. With a fetcher for public addresses only, its own address is
                // refused.
                let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
                let log = RemoteLog::new(fetcher.public_only(), address(private).unwrap());
                let asked = log.ask(&LogRequest::Snapshot).await;
                matches!(asked, Err(LogError::Fetch(FetchError::Private { .. })))
            }
            Self::Databases => {
                // Nor does a database.
                let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
                let fetcher = fetcher.public_only();
                let database = RemoteDatabase::new(fetcher, private, RetryPolicy::BOUNDED).unwrap();
                let asked = database.open(false).await;
                matches!(asked, Err(ReplicationError::Fetch(FetchError::Private { .. })))
            }
            Self::Feeds => {
                let name = UserName::new("anna").unwrap();
                let new =
                    NewUser { name, password: None, administrator: true, databases_only: false };
                peer.endpoint().add_user(new).await.unwrap();
                let directory = tempfile::tempdir().unwrap();
                let library: Arc<dyn Library> =
                    Arc::new(SqliteLibrary::open(directory.path()).unwrap());
                let feed: FeedAddress = private.parse().unwrap();
                let feeds = BTreeSet::from([feed.clone()]);
                let reader = "anna".parse().unwrap();
                library.set_subscriptions(&reader, &feeds, Millis::new(1)).await.unwrap();
                let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
                let (endpoint, bell) = (peer.endpoint().clone(), Arc::default());
                let schedule = FeedSchedule::new(Arc::clone(&library), endpoint, fetcher, bell);
                for due in schedule.claim(9).await.unwrap() {
                    schedule.poll(due).await.unwrap();
                }
                let state = library.feed_at(&feed).await.unwrap().unwrap().state;
                state.fault.is_some_and(|fault| fault.contains("is not a public address"))
            }
            Self::Pictures => {
                // The hub has no users, so its feeds may be on private addresses. This one is not.
                let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
                let pictures = Pictures::new(peer.endpoint().clone(), fetcher);
                let error = pictures.load(&PUBLIC.parse().unwrap(), private).await.unwrap_err();
                error.to_string().contains("is not a public address")
            }
            Self::FullTexts => {
                let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
                let full_texts = FullTexts::new(peer.endpoint().clone(), fetcher);
                let error = full_texts.load(&PUBLIC.parse().unwrap(), private).await.unwrap_err();
                matches!(error, FullTextError::Refused(_))
            }
            Self::Sources => {
                let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
                let fetcher = fetcher.given(address(PUBLIC).unwrap());
                let asked = fetcher.document(address(private).unwrap(), "*/*").await;
                matches!(asked, Err(FetchError::Private { .. }))
            }
        }
    }
}

/// Returns a remote whose public address has led to a private one.
async fn learnt(peer: &Peer, private: &str) -> Remote {
    let remote = peer.remote(PUBLIC).await;
    let changes = Some(private.to_owned());
    let remote = Remote { state: RemoteState { changes, ..remote.state }, ..remote };
    peer.store_remote(&remote).await;
    remote
}

async fn push(peer: &Peer, remote: &Remote) -> SyncError {
    let push = Direction { pull: false, push: true };
    peer.session.sync(remote, push, &NoProgress, false).await.unwrap_err()
}

fn terms() -> SubscriptionOptions {
    SubscriptionOptions {
        every: Duration::from_secs(900),
        plain: false,
        announced: true,
        title: None,
    }
}

#[tokio::test]
async fn private_address_named_by_a_public_publisher_is_refused() {
    let site = Site::start(|_| document("application/atom+xml", "<feed/>")).await;
    let peer = Peer::new("desk").await;
    let publisher = peer.remote(PUBLIC).await;
    for private in spellings(&site) {
        let named = peer.session.subscribe(&notes(), &private, terms(), Some(&publisher)).await;
        assert!(is_private(&named.unwrap_err()), "{private}");
    }
    let remotes = peer.endpoint().store().remotes(None).await.unwrap();
    assert_eq!(remotes, std::slice::from_ref(&publisher));
    // A person may name it, and so may a publisher of this network.
    let given = peer.session.subscribe(&notes(), &site.url("/a"), terms(), None).await.unwrap();
    assert!(given.subscription.as_ref().unwrap().reaches_private);
    let named = peer.session.subscribe(&notes(), &site.url("/b"), terms(), Some(&given)).await;
    assert!(named.unwrap().subscription.unwrap().reaches_private);
    assert_eq!(site.asked().len(), 0);
}

#[tokio::test]
async fn a_subscription_that_was_public_stays_so_wherever_its_name_points_later() {
    let site = Site::start(|_| document("application/atom+xml", "<feed/>")).await;
    let peer = Peer::new("desk").await;
    let subscribed = peer.session.subscribe(&notes(), PUBLIC, terms(), None).await.unwrap();
    let subscription = subscribed.subscription.unwrap();
    assert!(!subscription.reaches_private);
    for private in spellings(&site) {
        // The name was public when it was given.
        let remote = peer.remote(&private).await;
        let subscription = Some(Subscription { due: None, ..subscription.clone() });
        let remote = Remote { subscription, ..remote };
        peer.store_remote(&remote).await;
        let error =
            peer.session.sync(&remote, Direction::BOTH, &NoProgress, false).await.unwrap_err();
        assert!(is_private(&error), "{private}: {error}");
    }
    assert_eq!(site.asked().len(), 0);
}
