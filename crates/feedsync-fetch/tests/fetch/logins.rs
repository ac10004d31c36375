//! Logins: sent only to their origin, and never after a redirect to another one.

use feedsync_fetch::{
    FetchError, Fetcher, Login, LoginOrigin, Logins, Policy, Private, Request, address,
};
use feedsync_test::site::{Asked, Site, document, redirect};

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

fn count(site: &Site) -> usize {
    site.asked().iter().filter(|asked| shown(asked).is_some()).count()
}

async fn read(fetcher: &Fetcher, url: &str) -> Result<(), FetchError> {
    fetcher.document(address(url)?, "*/*").await.map(drop)
}

#[tokio::test]
async fn a_token_is_sent_as_bearer_and_a_password_as_basic() {
    let site = Site::start(|_| document("text/plain", "x")).await;
    read(&with_token(&site), &site.url("/x")).await.unwrap();
    let basic = logins(&site, Login::password("anna", "secret").unwrap());
    let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap().with_logins(basic).unwrap();
    read(&fetcher, &site.url("/x")).await.unwrap();
    let named = site.url("/x").replace("http://", "http://otto:own@");
    read(&fetcher, &named).await.unwrap();
    let sent: Vec<_> = site.asked().iter().map(|asked| shown(asked).unwrap().to_owned()).collect();
    // Credentials in the address itself take precedence.
    assert_eq!(sent, ["Bearer t0ken-of-anna", "Basic YW5uYTpzZWNyZXQ=", "Basic b3R0bzpvd24="]);
}

#[tokio::test]
async fn a_redirect_to_another_origin_drops_the_login_for_good() {
    let site = Site::start(|_| document("text/plain", "mine")).await;
    let back = site.url("/back");
    let other = Site::start(move |asked| match asked.target.as_str() {
        "/return" => redirect(302, &back),
        _ => document("text/plain", "other"),
    })
    .await;
    let (away, around) = (other.url("/x"), other.url("/return"));
    let hub = Site::start(move |asked| match asked.target.as_str() {
        "/here" => redirect(302, "/there"),
        "/away" => redirect(307, &away),
        "/around" => redirect(302, &around),
        _ => document("text/plain", "x"),
    })
    .await;
    let fetcher = with_token(&hub);
    read(&fetcher, &hub.url("/here")).await.unwrap();
    assert_eq!(count(&hub), 2);
    read(&fetcher, &hub.url("/away")).await.unwrap();
    assert_eq!((other.asked().len(), count(&other)), (1, 0));
    // A client that is redirected to the origin of the login does not get content that only its owner may
    // see.
    read(&with_token(&site), &hub.url("/around")).await.unwrap();
    assert_eq!((site.asked().len(), count(&site)), (1, 0));
    let post = Request::post(address(&hub.url("/away")).unwrap(), "text/plain", "mine");
    assert!(matches!(fetcher.fetch(post).await, Err(FetchError::Redirect { .. })));
    assert_eq!(other.asked().len(), 2);
}

#[tokio::test]
async fn link_of_a_stranger_is_read_without_the_login() {
    let site = Site::start(|_| document("text/plain", "x")).await;
    let fetcher = with_token(&site);
    let given = address("http://127.0.0.1:1/feed").unwrap();
    read(&fetcher.given(given), &site.url("/x")).await.unwrap();
    assert_eq!(count(&site), 0);
    read(&fetcher.given(address(&site.base).unwrap()), &site.url("/x")).await.unwrap();
    assert_eq!(count(&site), 1);
}
