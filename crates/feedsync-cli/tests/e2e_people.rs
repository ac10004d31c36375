//! Users of a real hub: their credentials never reach its log, and a login is all that a client needs.

mod support;

use std::process::Stdio;

use support::{Hub, TestDirectory, TestEndpoint, output};

const PASSWORD: &str = "correct horse battery";

/// Creates an endpoint with the administrator `anna`, who has a password; returns it with a token of that
/// user.
fn hub_of_anna(place: &TestDirectory) -> (TestEndpoint<'_>, String) {
    let hub = place.desk("hub");
    let add = ["--data", "hub", "user", "add", "anna", "--administrator", "--password-stdin"];
    let added = place.run_with(&add, PASSWORD);
    assert_eq!(added.code, 0, "{}", added.err);
    let token = hub.ok(&["user", "token", "create", "--user", "anna"]).trim_end().to_owned();
    assert!(token.starts_with("fsy_"), "{token}");
    (hub, token)
}

/// N12, AD33: the log contains neither accepted nor refused credentials.
#[test]
fn no_credential_reaches_the_log_at_its_most_verbose() {
    let place = TestDirectory::new();
    let (_, token) = hub_of_anna(&place);
    let log = std::fs::File::create(place.path("log")).unwrap();
    let hub = Hub::start_with(&place, "hub", |command| {
        command.env("FEEDSYNC_LOG_LEVEL", "trace").stderr(Stdio::from(log));
    });
    let basic = |password: &str| format!("anna:{password}");
    let bearer = format!("Authorization: Bearer {token}");
    let cookie = format!("Cookie: feedsync-session={token}");
    let wsse = "X-WSSE: UsernameToken Username=\"anna\", PasswordDigest=\"digest-s3cret\"";
    let notes = hub.notes();
    let in_address = format!("{notes}?access_token={token}&password=query-s3cret");
    let form = format!("user=anna&password={}&token={token}", PASSWORD.replace(' ', "+"));
    let (right, wrong, by_token) = (basic(PASSWORD), basic("wrong s3cret"), basic(&token));
    let login = format!("{}/pages/login", hub.url);
    // The form contains a value without which the hub does not check a password.
    let page = output("curl", &["-s", "-c", "cookies", &login], &place.path(""));
    let (_, rest) = page.split_once("name=\"form\" value=\"").unwrap();
    let carried = rest.split('"').next().unwrap();
    let form = format!("{form}&form={carried}");
    let wrong_form = form.replace("correct", "wrong-s3cret");
    let origin = format!("Origin: {}", hub.url);
    for (arguments, status) in [
        (&["-u", &right, &notes][..], "200"),
        (&["-u", &wrong, &notes], "401"),
        (&["-u", &by_token, &notes], "200"),
        (&["-H", &bearer, &notes], "200"),
        (&["-H", "Authorization: Bearer fsy_wrong-s3cret", &notes], "401"),
        (&["-H", &cookie, &notes], ""),
        (&["-H", wsse, "-H", "Authorization: WSSE header-s3cret", &notes], "401"),
        (&[&in_address], "401"),
        (&["-u", &right, "-X", "PUT", "-d", "body-s3cret", &notes], "415"),
        (
            &[
                "-u",
                &right,
                "-H",
                "Content-Type: application/atom+xml",
                "-d",
                "body-s3cret",
                &notes,
            ],
            "400",
        ),
        (&["-b", "cookies", "-H", &origin, "-d", &wrong_form, &login], "403"),
        (&["-b", "cookies", "-c", "session", "-H", &origin, "-d", &form, &login], "303"),
    ] {
        let mut all = vec!["-s", "-o", "answer", "-w", "%{http_code}"];
        all.extend(arguments);
        let got = output("curl", &all, &place.path(""));
        assert!(status.is_empty() || got == status, "{arguments:?}: {got}");
    }
    let session = place.read("session");
    let session = session.lines().find(|line| line.contains("feedsync-session")).unwrap();
    let session = session.split_whitespace().last().unwrap().to_owned();
    let cookie = format!("Cookie: feedsync-session={session}");
    let account = format!("{}/pages/account", hub.url);
    let all = ["-s", "-o", "answer", "-w", "%{http_code}", "-H", &cookie, &account];
    assert_eq!(output("curl", &all, &place.path("")), "200", "the session is one");
    drop(hub);
    let log = place.read("log");
    // Each request has at least one line. Libraries log at this level, too.
    assert_eq!(log.matches("route=\"/collections/{collection}\"").count(), 10, "{log}");
    let encode = |text: &str| {
        place.write("secret", text);
        output("base64", &["-w0", "secret"], &place.path(""))
    };
    for secret in [
        session,
        carried.to_owned(),
        token.clone(),
        token.trim_start_matches("fsy_").to_owned(),
        PASSWORD.to_owned(),
        PASSWORD.replace(' ', "+"),
        PASSWORD.replace(' ', "%20"),
        "s3cret".to_owned(),
        encode(&right),
        encode(&wrong),
        encode(&by_token),
    ] {
        assert!(!log.contains(&secret), "{secret} is in the log");
    }
}

#[test]
fn a_login_with_a_token_is_all_that_a_client_needs_to_sync() {
    let place = TestDirectory::new();
    let (hub, token) = hub_of_anna(&place);
    hub.add("Milk", "two litres");
    let serving = Hub::start(&place, "hub");
    let desk = place.desk("desk");
    desk.add("Bread", "rye");
    let sync = ["sync", "notes", &serving.notes()];
    let refused = desk.run(&sync);
    refused.fails(4, "401");
    let hint = format!("feedsync --data desk remote login {}", serving.url);
    assert!(refused.err.contains(&hint), "{}", refused.err);
    let login = ["--data", "desk", "remote", "login", "--stdin", &serving.url];
    place.run_with(&login, "fsy_0123456789abcdef").fails(1, "does not accept the login");
    let done = place.run_with(&login, &token);
    assert_eq!(done.code, 0, "{}", done.err);
    desk.ok(&sync);
    assert_eq!(desk.state(), hub.state());
    assert_eq!(desk.state().len(), 2);
    // The merged items are recorded under the name of the user.
    let audit = hub.json(&["store", "audit"]);
    let merged = audit
        .as_array()
        .unwrap()
        .iter()
        .any(|act| act["user"] == "anna" && act["action"] == "merge");
    assert!(merged, "{audit}");
    // A revoked token is refused.
    let tokens = hub.json(&["user", "token", "list"]);
    let id = tokens[0]["id"].as_str().unwrap_or_else(|| panic!("{tokens}")).to_owned();
    hub.ok(&["user", "token", "revoke", &id]);
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    desk.run(&sync).fails(4, "401");
}
