//! `feedsync gateway`: it says where it is, passes on what it may, and stops when it is told to.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

use crate::support::Place;

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
    let place = Place::new();
    let arguments =
        ["gateway", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0", "--mount", &mount];
    let mut gateway = place.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    let url = BufReader::new(gateway.stdout.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .find_map(|line| Some(line.strip_prefix("listening on ")?.to_owned()))
        .expect("the gateway says where it listens");
    let address = url.trim_start_matches("http://").trim_end_matches('/');
    let answer = get(address, "/notes/1");
    assert!(answer.ends_with("\r\n\r\nGET /deep/1 HTTP/1.1"), "{answer}");
    let refused = get(address, "/https/example.org/");
    assert!(
        refused.starts_with("HTTP/1.1 403 ") && refused.contains("--allow example.org"),
        "{refused}"
    );
    let told = Command::new("kill").args(["-TERM", &gateway.id().to_string()]).status().unwrap();
    assert!(told.success());
    assert!(gateway.wait().unwrap().success());
}

#[test]
fn what_cannot_be_reached_by_name_is_told() {
    let place = Place::new();
    for (arguments, word) in [
        (["--mount", "http=http://example.org/"], "not a name for a mount"),
        (["--mount", "notes"], "NAME=URL"),
        (["--allow", "http://example.org/"], "not a host"),
        (["--allow-origin", "example.org"], "not an origin"),
        (["--listen", "localhost"], "invalid socket address"),
    ] {
        place.run(&["gateway", arguments[0], arguments[1]]).fails(2, word);
    }
    let twice = ["gateway", "--mount", "a=http://example.org/", "--mount", "a=http://example.com/"];
    place.run(&twice).fails(2, "mounted twice");
}
