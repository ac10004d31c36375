//! Unavailable servers and truncated responses: the error is reported soon.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::support::{Run, TestDirectory, has};

/// Starts a server that announces 1,000 bytes and sends only the first of them; returns its address.
fn cutting_off() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let head = BufReader::new(&stream).lines().map_while(Result::ok);
            let path = head.take_while(|line| !line.is_empty()).next().unwrap_or_default();
            let covers = if path.contains("/snapshot") { "Log-Covers: \"1.a-9\"\r\n" } else { "" };
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nETag: \"1.a-1000\"\r\nLog-Generation: 1.a\r\n{covers}\
                 Content-Type: application/x-ndjson\r\nContent-Length: 1000\r\n\r\n{{\"v\":1,"
            );
        }
    });
    address
}

/// Runs a command that must fail within the time limit.
fn fails_within(place: &TestDirectory, bound: Duration, arguments: &[&str]) -> Run {
    let begin = Instant::now();
    let mut all = vec!["--data", "desk"];
    all.extend(arguments);
    let run = place.run(&all);
    let took = begin.elapsed();
    assert!(took < bound, "{arguments:?} takes {took:?}: {}", run.err);
    assert_eq!(run.code, 4, "{arguments:?}: {}", run.err);
    run
}

const SOON: Duration = Duration::from_secs(8);

#[test]
fn answer_that_ends_early_is_reported_soon() {
    let place = TestDirectory::new();
    place.desk("desk");
    let host = cutting_off();
    let log = format!("http://{host}/logs/reading");
    for command in
        [&["log", "snapshot", &log][..], &["reader", "sync", &log], &["log", "tail", &log]]
    {
        let run = fails_within(&place, SOON, command);
        let said = format!("{log}: the response of {host} ended after 7 of 1000 bytes");
        assert!(run.err.contains(&said), "{}", run.err);
    }
}

#[test]
fn server_that_is_away_is_reported_soon() {
    let place = TestDirectory::new();
    place.desk("desk");
    place.write("line", "{}\n");
    let host = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().to_string()
    };
    let log = format!("http://{host}/logs/reading");
    for command in [
        &["log", "snapshot", &log][..],
        &["log", "append", &log, "line"],
        &["log", "create", &log],
        &["log", "pull", &log, "copy"],
        &["reader", "sync", &log],
    ] {
        let run = fails_within(&place, SOON, command);
        let said = format!("{log}: cannot connect to {host}: connection refused\n");
        assert!(run.err.contains(&said), "{}", run.err);
        // Standard error is not a terminal here, so the retries are not listed.
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn retries_are_shown_on_a_terminal() {
    if !has("script") {
        return;
    }
    let place = TestDirectory::new();
    place.desk("desk");
    let program = env!("CARGO_BIN_EXE_feedsync");
    let command = format!("{program} --data desk reader sync http://127.0.0.1:1/logs/reading");
    let mut terminal = std::process::Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &command, "/dev/null"]);
    let run = Run::of(terminal.current_dir(place.path("")).output().unwrap());
    assert_eq!(run.code, 4, "{run:?}");
    let shown = "cannot connect to 127.0.0.1:1: connection refused; trying again";
    assert!(run.out.contains(shown), "{}", run.out);
}
