//! Logins of a session: sent only to its hub, stored for their owner only, and never shown.

use std::path::{Path, PathBuf};

use feedsync_client::{Direction, LoginFile, LoginFileError, Session};
use feedsync_fetch::{FetchError, Fetcher, Login, LoginOrigin, Logins, Policy, Private, address};
use feedsync_test::site::{Asked, Site, answer, document};

use crate::world::{Peer, notes};

const TOKEN: &str = "t0ken-of-anna";

fn logins(site: &Site, login: Login) -> Logins {
    let mut logins = Logins::default();
    logins.keep(LoginOrigin::of(&address(&site.base).unwrap()).unwrap(), login);
    logins
}

fn with_token(site: &Site) -> Fetcher {
    let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
    fetcher.with_logins(logins(site, Login::token(TOKEN).unwrap())).unwrap()
}

fn shown(asked: &Asked) -> Option<&str> {
    asked.headers.get("authorization").map(String::as_str)
}

async fn read(fetcher: &Fetcher, url: &str) -> Result<(), FetchError> {
    fetcher.document(address(url)?, "*/*").await.map(drop)
}

#[tokio::test]
async fn plain_http_beyond_this_machine_gets_no_login() {
    for far in ["http://hub.example/", "http://10.0.0.1:4287/", "http://localhost.example/"] {
        let error = LoginOrigin::of(&address(far).unwrap()).unwrap_err();
        assert!(matches!(error, FetchError::Insecure { .. }), "{error}");
        let place = place("far");
        let kept = format!("{{\"{far}\":{{\"secret\":\"x\"}}}}");
        std::fs::write(place.join(LoginFile::NAME), kept).unwrap();
        narrow(&place);
        let error = LoginFile::within(&place).read().unwrap_err();
        assert!(matches!(error, LoginFileError::Faulty { .. }), "{error}");
    }
    // No request is sent to this machine on behalf of strangers.
    let site = Site::start(|_| document("text/plain", "x")).await;
    let kept = logins(&site, Login::token(TOKEN).unwrap());
    let strict = Fetcher::new(Policy::new(Private::Refused)).unwrap().with_logins(kept).unwrap();
    let error = read(&strict, &site.url("/x")).await.unwrap_err();
    assert!(matches!(error, FetchError::Private { .. }), "{error}");
    assert_eq!(site.asked().len(), 0);
}

#[tokio::test]
async fn no_error_shows_the_login_even_if_the_server_repeats_it() {
    let site = Site::start(|asked| {
        let repeated = format!("{{\"detail\":\"who is {}?\"}}", shown(asked).unwrap_or_default());
        answer(401, &[("Content-Type", "application/problem+json")], repeated)
    })
    .await;
    let basic = logins(&site, Login::password("anna", "secret").unwrap());
    let basic = Fetcher::new(Policy::new(Private::Allowed)).unwrap().with_logins(basic).unwrap();
    for fetcher in [with_token(&site), basic] {
        let error = read(&fetcher, &site.url("/x")).await.unwrap_err();
        let told = format!("{error} {error:?} {fetcher:?}");
        assert!(told.contains("who is"), "{told}");
        for secret in [TOKEN, "secret", "YW5uYTpzZWNyZXQ="] {
            assert!(!told.contains(secret), "{told}");
        }
        // The stored failure does not contain it either.
        let peer = Peer::new("anna").await;
        let session = Session::new(peer.endpoint().clone(), fetcher);
        let remote = peer.remote(&site.url("/x")).await;
        session
            .sync(&remote, Direction::BOTH, &feedsync_client::NoProgress, false)
            .await
            .unwrap_err();
        let failure = peer.remembered(&remote.url).await.failure.unwrap();
        assert!(failure.contains("who is") && !failure.contains("ecret"), "{failure}");
        assert!(!failure.contains(TOKEN) && !failure.contains("YW5u"), "{failure}");
    }
}

#[tokio::test]
async fn a_session_signs_all_that_it_asks_of_its_hub() {
    let hub = crate::world::Hub::new("hub").await;
    hub.peer.add("theirs").await;
    let address = hub.address;
    let site = Site::start(move |_| {
        vec![feedsync_test::site::Act::Pass { to: address, bytes: usize::MAX }]
    })
    .await;
    let peer = Peer::new("anna").await;
    peer.add("mine").await;
    let session = Session::new(peer.endpoint().clone(), with_token(&site));
    let remote = peer.remote(&site.url("/collections/notes")).await;
    session.sync(&remote, Direction::BOTH, &feedsync_client::NoProgress, false).await.unwrap();
    assert_eq!(hub.peer.endpoint().collection(&notes()).await.unwrap().live, 2);
    assert!(site.asked().iter().any(|asked| asked.method == "POST"));
    for asked in site.asked() {
        assert_eq!(shown(&asked), Some("Bearer t0ken-of-anna"), "{asked:?}");
    }
}

#[tokio::test]
async fn logins_are_kept_for_their_owner_only() {
    let new = place("kept").join("new");
    let file = LoginFile::within(&new);
    assert_eq!(file.read().unwrap(), Logins::default());
    let origin = |text: &str| LoginOrigin::of(&address(text).unwrap()).unwrap();
    let keep = |port: u16| {
        let login = Login::token(format!("{TOKEN}{port}")).unwrap();
        file.change(|logins| logins.keep(origin(&format!("http://127.0.0.1:{port}")), login))
    };
    std::thread::scope(|scope| {
        let keepers: Vec<_> = (1..=8).map(|port| scope.spawn(move || keep(port))).collect();
        keepers.into_iter().for_each(|keeper| keeper.join().unwrap().unwrap());
    });
    assert_eq!(file.read().unwrap().iter().count(), 8);
    let path = new.join(LoginFile::NAME);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&new), 0o700);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let error = file.read().unwrap_err();
        assert!(matches!(error, LoginFileError::Open { .. }), "{error}");
        assert!(keep(9).is_err());
        narrow(&new);
    }
    std::fs::write(&path, format!("{{\n\"https://a.example\": \"{TOKEN}\"}}")).unwrap();
    let error = file.read().unwrap_err();
    assert!(matches!(error, LoginFileError::Faulty { line: 2, .. }), "{error}");
    assert!(!format!("{error} {error:?}").contains(TOKEN), "{error}");
}

/// Returns an empty directory for this test.
fn place(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("logins").join(name);
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).unwrap();
    place
}

/// Restricts the file to its owner.
fn narrow(directory: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let narrow = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(directory.join(LoginFile::NAME), narrow).unwrap();
    }
}
