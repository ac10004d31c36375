//! Operation of a hub as a service: settings, signals, encryption, the log and the systemd unit.

mod support;

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use support::{TestDirectory, TestEndpoint, has, output};

/// A hub process whose output and log are captured.
struct Service {
    child: Child,
    url: String,
}

impl Service {
    fn start(place: &TestDirectory, arguments: &[&str]) -> Self {
        let mut all = vec!["--data", "hub", "serve", "--listen", "127.0.0.1:0"];
        all.extend(arguments);
        let mut command = place.command(&all);
        let log = std::fs::File::create(place.path("log")).unwrap();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix("listening on ")?.trim_end_matches('/').into()))
            .unwrap_or_else(|| panic!("the hub does not listen: {}", place.read("log")));
        Self { child, url }
    }

    fn signal(&self, name: &str) {
        output("kill", &["-s", name, &self.child.id().to_string()], Path::new("/"));
    }

    /// Waits until the process has ended; returns its exit code.
    fn ended(mut self) -> Option<i32> {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("the hub does not end");
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_log_has_a_json_line_for_each_request_and_no_secret() {
    let place = TestDirectory::new();
    place.desk("hub");
    let arguments = ["--log-format", "json", "--log-level", "info"];
    let service = Service::start(&place, &arguments);
    let url = format!("{}/collections/notes?token=s3cret", service.url);
    let head = ["-s", "-D", "-", "-o", "feed", "-H", "Authorization: Bearer s3cret", &url];
    let head = output("curl", &head, &place.path(""));
    let id = head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap().to_owned();
    service.signal("TERM");
    assert_eq!(service.ended(), Some(0));
    let log = place.read("log");
    assert!(!log.contains("s3cret"), "{log}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let line = lines.iter().find(|line| line["id"] == *id).expect("a line of the request");
    assert_eq!(line["method"], "GET");
    assert_eq!(line["route"], "/collections/{collection}");
    assert_eq!(line["address"], "127.0.0.1");
    assert!(line["status"].is_number() && line["milliseconds"].is_number(), "{line}");
    assert!(line["bytes"].is_number(), "{line}");
}

#[test]
fn settings_come_from_file_environment_and_flags_and_faults_are_named() {
    let place = TestDirectory::new();
    place.desk("hub");
    place.write("hub/feedsync.toml", "[limits]\nbody_items = 11\npage_items = 12\nuploads = 13\n");
    let mut command =
        place.command(&["--data", "hub", "serve", "--print-config", "--limits-page-items", "22"]);
    command.env("FEEDSYNC_LIMITS_PAGE_ITEMS", "21").env("FEEDSYNC_LIMITS_UPLOADS", "23");
    let printed = String::from_utf8(command.output().unwrap().stdout).unwrap();
    for line in ["body_items = 11", "page_items = 22", "uploads = 23", "level = \"warn\""] {
        assert!(printed.lines().any(|other| other == line), "{line}: {printed}");
    }
    let hub = TestEndpoint::of(&place, "hub");
    place.write("hub/feedsync.toml", "[limits]\nbody_item = 11\n");
    hub.run(&["serve"]).fails(2, "feedsync.toml:2: unknown setting \"limits.body_item\"");
    place.write("other.toml", "listen = \"nowhere\"\n");
    hub.run(&["serve", "--config", "other.toml"]).fails(2, "other.toml:1: listen must be a list");
    hub.run(&["serve", "--config", "absent.toml"]).fails(3, "absent.toml");
    place.write("hub/feedsync.toml", "");
    let refused = hub.run(&["serve", "--store", "postgres://a:s3cret@b/c"]);
    refused.fails(2, "--store holds a password");
    assert!(!refused.err.contains("s3cret"), "{}", refused.err);
    hub.run(&["serve", "--tls-certificate", "none.pem", "--tls-key", "none.key"])
        .fails(5, "none.pem");
}

/// Creates a self-signed certificate for `localhost` and `127.0.0.1`, with its key.
fn sign(place: &TestDirectory, name: &str) {
    let (certificate, key) = (format!("{name}.pem"), format!("{name}.key"));
    let arguments = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-keyout",
        &key,
        "-out",
        &certificate,
    ];
    output("openssl", &arguments, &place.path(""));
}

#[test]
fn curl_reads_over_https_and_a_renewed_certificate_is_read_on_sighup() {
    if !has("openssl") {
        return;
    }
    let place = TestDirectory::new();
    place.desk("hub");
    sign(&place, "one");
    sign(&place, "two");
    let copy = |name: &str| {
        for end in ["pem", "key"] {
            std::fs::copy(place.path(&format!("{name}.{end}")), place.path(&format!("hub.{end}")))
                .unwrap();
        }
    };
    copy("one");
    let arguments = ["--tls-certificate", "hub.pem", "--tls-key", "hub.key", "--log-level", "info"];
    let service = Service::start(&place, &arguments);
    assert!(service.url.starts_with("https://127.0.0.1:"), "{}", service.url);
    let health = format!("{}/healthz", service.url);
    let reads = |certificate: &str| {
        let mut curl = Command::new("curl");
        curl.args(["-sf", "--cacert", certificate, &health]).current_dir(place.path(""));
        curl.output().unwrap().stdout == b"{\"status\":\"ok\"}\n"
    };
    assert!(reads("one.pem") && !reads("two.pem"));
    // A half-written certificate file changes nothing.
    std::fs::write(place.path("hub.pem"), "-----BEGIN").unwrap();
    service.signal("HUP");
    await_log(&place, "certificate unchanged");
    assert!(reads("one.pem"));
    copy("two");
    service.signal("HUP");
    await_log(&place, "certificate reloaded");
    assert!(reads("two.pem") && !reads("one.pem"));
}

fn await_log(place: &TestDirectory, said: &str) {
    let began = Instant::now();
    while !place.read("log").contains(said) {
        assert!(began.elapsed() < Duration::from_secs(10), "{said}: {}", place.read("log"));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn responses_in_progress_are_completed_when_the_hub_stops() {
    let place = TestDirectory::new();
    let hub = place.desk("hub");
    for number in 0..20 {
        hub.add(&format!("note {number}"), &"text ".repeat(20_000));
    }
    let service = Service::start(&place, &[]);
    let url = format!("{}/collections/notes/complete.json", service.url);
    let slow = ["-s", "-f", "--limit-rate", "1M", &url];
    let mut curl = Command::new("curl").args(slow).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = curl.stdout.take().unwrap();
    let mut text = vec![0; 1];
    out.read_exact(&mut text).unwrap();
    service.signal("TERM");
    out.read_to_end(&mut text).unwrap();
    assert!(curl.wait().unwrap().success(), "the answer was whole");
    let feed: Value = serde_json::from_slice(&text).unwrap();
    assert!(feed.is_object());
    assert_eq!(service.ended(), Some(0));
}

#[test]
fn systemd_finds_no_fault_in_the_unit() {
    if !has("systemd-analyze") {
        return;
    }
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/feedsync.service");
    let unit = std::fs::read_to_string(unit).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/feedsync "));
    let place = TestDirectory::new();
    // The program is not installed here, and systemd checks that it exists.
    let program = env!("CARGO_BIN_EXE_feedsync");
    place.write("feedsync.service", &unit.replace("/usr/bin/feedsync", program));
    let verify = |name: &str| {
        let arguments = ["verify", "--man=no", name];
        Command::new("systemd-analyze")
            .args(arguments)
            .current_dir(place.path(""))
            .output()
            .unwrap()
    };
    let verified = verify("feedsync.service");
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success(), "{said}");
    assert!(!said.contains("feedsync.service"), "{said}");
    // This shows that the check can fail.
    place.write("wrong.service", "[Service]\nExecStart=/nowhere/feedsync\nProtectSytem=strict\n");
    let wrong = verify("wrong.service");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("ProtectSytem"), "{wrong:?}");
    let security = ["security", "--offline=yes", "--threshold=20", "feedsync.service"];
    output("systemd-analyze", &security, &place.path(""));
}
