//! The commands `remote login`, `remote logout` and `remote logins`, and the requests to which logins are added.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::support::{Run, TestDirectory};

const TOKEN: &str = "fsy_0123456789abcdef";

/// A server that requires a login. It has a list of collections, as a hub has, and the same feed at every
/// other address.
struct Guarded {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Guarded {
    fn start() -> Self {
        Self::answering(true)
    }

    /// Starts the server. `is_hub` says whether `/collections` is a list of collections instead of the feed.
    fn answering(is_hub: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                    head.push(byte[0]);
                }
                let head = String::from_utf8_lossy(&head).into_owned();
                let known = ["Bearer fsy_0123456789abcdef", "Basic YW5uYTpjb3JyZWN0IGhvcnNl"];
                let body = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x</id><title>T</title>\
                            <updated>2026-01-01T00:00:00Z</updated><entry><id>urn:1</id><title>Kept\
                            </title><updated>2026-01-01T00:00:00Z</updated></entry></feed>";
                let is_list = is_hub && head.starts_with("GET /collections ");
                let body = if is_list { "[]" } else { body };
                let answer = if head.starts_with("GET /away") {
                    "HTTP/1.1 302 X\r\nLocation: http://localhost:1/\r\nContent-Length: 0\r\n\
                     Connection: close\r\n\r\n"
                        .to_owned()
                } else if known.iter().any(|known| head.contains(known)) {
                    format!(
                        "HTTP/1.1 200 X\r\nContent-Type: application/atom+xml\r\nContent-Length: {}\
                         \r\nConnection: close\r\n\r\n{body}",
                        body.len()
                    )
                } else {
                    "HTTP/1.1 401 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned()
                };
                written.lock().unwrap().push(head);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { url, asked }
    }

    fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

fn login(place: &TestDirectory, arguments: &[&str], secret: &str) -> Run {
    let mut all = vec!["--data", "desk", "remote", "login", "--stdin"];
    all.extend(arguments);
    place.run_with(&all, secret)
}

#[test]
fn a_login_is_tried_and_then_kept_for_its_owner_only() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let hub = Guarded::start();
    let file = place.path("desk/logins.json");
    login(&place, &[&hub.url], "fsy_wrong\n").fails(1, "does not accept the login");
    assert!(!file.exists());
    let run = login(&place, &[&hub.url], &format!("{TOKEN}\n"));
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(hub.asked.lock().unwrap()[1].starts_with("GET /collections "));
    assert!(!run.out.contains(TOKEN) && !run.err.contains(TOKEN), "{run:?}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let kept = desk.json(&["remote", "logins"]);
    assert_eq!(kept, serde_json::json!([{ "origin": hub.url, "user": null }]));
    // A password replaces the token.
    let run = login(&place, &[&hub.url, "--user", "anna"], "correct horse");
    assert_eq!(run.code, 0, "{}", run.err);
    let shown = desk.ok(&["remote", "logins"]);
    assert!(shown.contains("password of anna") && !shown.contains("horse"), "{shown}");
    desk.ok(&["remote", "logout", &format!("{}/collections/notes", hub.url)]);
    assert_eq!(desk.json(&["remote", "logins"]), serde_json::json!([]));
    desk.run(&["remote", "logout", &hub.url]).fails(3, "there is no login for");
}

#[test]
fn server_whose_root_answers_with_a_feed_is_not_taken_for_a_hub() {
    let place = TestDirectory::new();
    place.desk("desk");
    let server = Guarded::answering(false);
    login(&place, &[&server.url], TOKEN).fails(4, "does not respond like a hub");
    assert!(!place.path("desk/logins.json").exists());
    // A feed of an explicit address proves that the server accepts the login.
    let run = login(&place, &[&format!("{}/feed", server.url)], TOKEN);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(place.path("desk/logins.json").exists());
}

#[test]
fn every_command_that_reads_an_address_sends_its_login() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let hub = Guarded::start();
    let feed = format!("{}/feed", hub.url);
    let validate = ["file", "validate", &feed];
    let refused = desk.run(&validate);
    refused.fails(4, "401");
    assert!(
        refused.err.contains(&format!("feedsync --data desk remote login {}\n", hub.url)),
        "{}",
        refused.err
    );
    assert_eq!(login(&place, &[&hub.url], TOKEN).code, 0);
    desk.ok(&validate);
    desk.ok(&["import", "notes", &feed]);
    assert_eq!(desk.json(&["ls", "notes"])[0]["title"], "Kept");
    desk.ok(&["file", "convert", &feed, "--to", "json"]);
    // The document was fetched with the login; it is only not a FeedSync feed.
    desk.run(&["sync", "notes", &feed]).fails(4, "not a FeedSync feed");
    desk.ok(&["remote", "logout", &hub.url]);
    desk.run(&validate).fails(4, "401");
    // Another data directory has other logins.
    place.run(&["--data", "other", "file", "validate", &feed]).fails(4, "401");
}

#[test]
fn insecure_or_redirected_logins_are_not_stored() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let hub = Guarded::start();
    login(&place, &["http://hub.example/"], TOKEN).fails(1, "only over https");
    login(&place, &[&hub.url.replace("http://", "http://anna:secret@")], TOKEN)
        .fails(2, "a name or a password");
    login(&place, &["ftp://hub.example/"], TOKEN).fails(2, "only http and https");
    login(&place, &[&hub.url], "no token\n").fails(1, "a token can have");
    login(&place, &[&hub.url], "\n").fails(2, "nothing was given");
    assert_eq!(hub.count(), 0);
    login(&place, &["http://127.0.0.1:1"], TOKEN).fails(4, "127.0.0.1:1");
    login(&place, &[&format!("{}/away", hub.url)], TOKEN).fails(4, "localhost:1");
    desk.run(&["remote", "login", &hub.url]).fails(2, "no terminal");
    desk.run(&["remote", "login", &hub.url, TOKEN]).fails(2, "unexpected argument");
    assert_eq!(desk.json(&["remote", "logins"]), serde_json::json!([]));
}

#[test]
fn a_proxy_never_sees_a_login_of_this_machine() {
    let place = TestDirectory::new();
    place.desk("desk");
    let (hub, proxy) = (Guarded::start(), Guarded::start());
    assert_eq!(login(&place, &[&hub.url], TOKEN).code, 0);
    let feed = format!("{}/feed", hub.url);
    let mut command = place.command(&["--data", "desk", "file", "validate", &feed]);
    let output = command.env("http_proxy", &proxy.url).env_remove("no_proxy").output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((hub.count(), proxy.count()), (2, 0));
}
