//! The command `gateway`: it prints its addresses, forwards allowed requests, and stops on request.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use crate::support::TestDirectory;

/// A running gateway, which is stopped when it is dropped.
struct Gateway {
    child: Child,
    /// Address for applications; `control` is the address for commands.
    address: String,
    control: String,
}

impl Gateway {
    fn start(place: &TestDirectory, data: &str, arguments: &[&str]) -> Self {
        let free = "127.0.0.1:0";
        let ports = ["--data", data, "gateway", "--listen", free, "--control", free];
        let mut command = place.command(&ports);
        let mut child = command.args(arguments).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut told = |before: &str| {
            let line = lines
                .find_map(|line| Some(line.strip_prefix(before)?.trim_end_matches('/').to_owned()));
            line.expect("the gateway says where it listens")
        };
        let (address, control) = (told("listening on http://"), told("controlled on http://"));
        Self { child, address, control }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[cfg(unix)]
#[test]
fn a_gateway_passes_on_until_it_is_stopped() {
    let origin = TcpListener::bind("127.0.0.1:0").unwrap();
    let mount = format!("notes=http://{}/deep/", origin.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = origin.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        let body = line.trim_end();
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    });
    let place = TestDirectory::new();
    let mut gateway = Gateway::start(&place, "gw", &["--mount", &mount]);
    let answer = get(&gateway.address, "/notes/1");
    assert!(answer.ends_with("\r\n\r\nGET /deep/1 HTTP/1.1"), "{answer}");
    let refused = get(&gateway.address, "/https/example.org/");
    assert!(
        refused.starts_with("HTTP/1.1 403 ") && refused.contains("--allow example.org"),
        "{refused}"
    );
    let told =
        Command::new("kill").args(["-TERM", &gateway.child.id().to_string()]).status().unwrap();
    assert!(told.success());
    assert!(gateway.child.wait().unwrap().success());
}

/// Starts a Miniflux server that answers every request with one unread article; returns its address.
fn miniflux() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(&stream).lines().map_while(Result::ok);
            lines.take_while(|line| !line.is_empty()).for_each(drop);
            let body =
                r#"{"total":1,"entries":[{"id":7,"feed_id":1,"status":"unread","starred":false}]}"#;
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    address
}

#[test]
fn outbox_counts_the_changes_of_newsreaders_that_wait() {
    let place = TestDirectory::new();
    let server = miniflux();
    let option = format!("miniflux={server}");
    let gateway = Gateway::start(&place, "gw", &["--newsreader", &option]);
    let ask = |method: &str, path: &str, body: &str| {
        let mut stream = TcpStream::connect(&gateway.address).unwrap();
        write!(
            stream,
            "{method} /miniflux/v1/{path} HTTP/1.1\r\nHost: {}\r\nX-Auth-Token: secret\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            gateway.address,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let outbox = |arguments: &[&str]| {
        let run = place.run(&[&["--data", "gw", "gateway", "outbox"], arguments].concat());
        assert_eq!(run.code, 0, "{run:?}");
        run.out
    };
    let listed = ask("GET", "entries?status=unread", "");
    assert!(listed.contains("\"id\":7"), "{listed}");
    assert_eq!(outbox(&[]), "no edit is queued\n");
    assert_eq!(place.run(&["--data", "gw", "gateway", "offline"]).code, 0);
    let taken = ask("PUT", "entries", r#"{"entry_ids":[7],"status":"read"}"#);
    assert!(taken.starts_with("HTTP/1.1 204 "), "{taken}");
    let said = outbox(&[]);
    assert!(
        said.starts_with(&format!("1 change of newsreaders (miniflux) for {server}")),
        "{said}"
    );
    assert!(said.ends_with(" wait until the gateway uses the network again\n"), "{said}");
    let json: serde_json::Value = serde_json::from_str(&outbox(&["--json"])).unwrap();
    assert_eq!(json["edits"], serde_json::json!([]));
    let waiting = &json["newsreaders"][0];
    assert_eq!((&waiting["newsreader"], &waiting["changes"]), (&"miniflux".into(), &1.into()));
}

#[test]
fn invalid_options_are_refused_with_the_reason() {
    let place = TestDirectory::new();
    for (arguments, word) in [
        (["--mount", "http=http://example.org/"], "not a mount name"),
        (["--mount", "notes"], "NAME=URL"),
        (["--allow", "http://example.org/"], "not a host"),
        (["--allow-origin", "example.org"], "not an origin"),
        (["--listen", "localhost"], "such as 127.0.0.1:8080"),
    ] {
        place.run(&["gateway", arguments[0], arguments[1]]).fails(2, word);
    }
    let twice = ["gateway", "--mount", "a=http://example.org/", "--mount", "a=http://example.com/"];
    place.run(&twice).fails(2, "mounted twice");
}

#[test]
fn gateway_commands_exit_with_the_code_of_their_result() {
    let place = TestDirectory::new();
    let run = |data: &str, arguments: &[&str]| {
        place.run(&[&["--data", data, "gateway"], arguments].concat())
    };
    let feed = "http://feeds.example.org/news";
    let asked: [&[&str]; 18] = [
        &["status"],
        &["open"],
        &["subscribe", feed],
        &["follow", feed, "edit"],
        &["follow", feed, "edit", "--stop"],
        &["pause", feed],
        &["resume", feed],
        &["outbox"],
        &["errors"],
        &["offline"],
        &["refresh"],
        &["auto"],
        &["online"],
        &["unsubscribe", feed],
        &["cancel", "7"],
        &["retry", "7"],
        &["retry", "--waiting", "7"],
        &["clear", "7"],
    ];
    for arguments in asked {
        run("gw", arguments).fails(3, "no gateway has run with this data directory");
    }
    let gateway = Gateway::start(&place, "gw", &[]);
    run("gw", &["offline"]);
    for arguments in &asked[..14] {
        let run = run("gw", arguments);
        assert_eq!(run.code, 0, "{arguments:?}: {}", run.err);
        assert!(!run.out.is_empty(), "{arguments:?} says what it did");
    }
    for arguments in &asked[14..] {
        run("gw", arguments).fails(3, "");
    }
    // Options of every command are also allowed before the subcommand.
    let before =
        place.run(&["gateway", "--data", "gw", "--json", "--control", &gateway.control, "status"]);
    assert_eq!((before.code, before.out), (0, run("gw", &["status", "--json"]).out));
    place.run(&["gateway", "--data", "gw", "--strict", "status"]).fails(2, "--strict");
    for command in ["pause", "resume", "unsubscribe"] {
        run("gw", &[command, feed]).fails(3, "nothing subscribes to");
        run("gw", &[command, "7"]).fails(3, "");
    }
    run("gw", &["errors", "7"]).fails(3, "");
    run("gw", &["subscribe", "urn:example:news"]).fails(1, "");
    run("gw", &["subscribe", feed, "--header", "a b: c"]).fails(1, "");
    for wrong in
        [&["retry"][..], &["pause"], &["cancel", "x"], &["subscribe", feed, "--header", "a"]]
    {
        run("gw", wrong).fails(2, "");
    }
    let proxied = "http://feeds.example.org/proxied";
    let proxy = "http://feeds.example.org/proxy.xml";
    assert_eq!(run("gw", &["subscribe", proxied, "--proxy", proxy]).code, 0);
    assert!(run("gw", &["status", "--json"]).out.contains(proxy));
    run("gw", &["subscribe", proxied, "--proxy", "urn:x"]).fails(1, "");
    // Two subscriptions of one feed with different credentials are distinguished by number.
    for token in ["a", "b"] {
        let header = format!("Authorization: Bearer {token}");
        assert_eq!(run("gw", &["subscribe", feed, "--header", &header]).code, 0);
    }
    run("gw", &["pause", feed]).fails(2, "more than once");
    // A gateway with another data directory.
    let other = Gateway::start(&place, "other", &[]);
    let control = other.control.clone();
    let there = ["status", "--control", &control];
    run("gw", &there).fails(1, "another data directory");
    drop(other);
    run("gw", &there).fails(4, "no gateway responds");
    drop(gateway);
    for arguments in asked {
        run("gw", arguments).fails(4, "no gateway responds");
    }
    let token = place.path("gw").join("gateway/control.token");
    std::fs::remove_file(&token).unwrap();
    std::fs::create_dir(&token).unwrap();
    run("gw", &["status"]).fails(5, "control.token");
}

#[test]
fn trust_help_prints_the_absolute_path_of_the_certificate_for_a_shell() {
    let place = TestDirectory::new();
    let run = |arguments: &[&str]| {
        let run = place.run(&[&["--data", "my data"], arguments].concat());
        run.success(arguments)
    };
    run(&["gateway", "ca", "create"]);
    let help = run(&["gateway", "ca", "trust-help"]);
    let path = place.path("my data/gateway/authority/certificate.pem");
    assert!(path.exists());
    let path = path.display();
    for line in [format!("curl --cacert '{path}'\n"), format!("CURL_CA_BUNDLE='{path}'\n")] {
        assert!(help.contains(&line), "{line}: {help}");
    }
    let told = run(&["gateway", "ca", "trust-help", "--json"]);
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["path"], path.to_string());
}
