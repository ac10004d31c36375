//! A gateway process, which is started, killed as by `kill -9`, and restarted at the same addresses.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::application::{Answer, Application};
use super::until;
use crate::support::TestDirectory;

pub(crate) struct Gateway<'p> {
    place: &'p TestDirectory,
    child: Option<Child>,
    /// Address for applications; `control` is the address for commands.
    pub(crate) address: String,
    control: String,
    /// Options that make an origin reachable.
    reach: Vec<String>,
    is_on_a_small_disk: bool,
}

/// Mounts a small disk for the data directory, visible only to this process. It holds a file that can be
/// removed.
const SMALL_DISK: &str = "mkdir -p gateway && mount -t tmpfs -o size=6m tmpfs gateway \
     && head -c 3000000 /dev/zero >gateway/ballast && exec \"$0\" \"$@\"";

impl<'p> Gateway<'p> {
    pub(crate) fn start(place: &'p TestDirectory, allow: &str) -> Self {
        Self::reaching(place, &["--allow", allow])
    }

    /// Starts a gateway that serves an origin below a name: `NAME=URL`.
    pub(crate) fn mounting(place: &'p TestDirectory, mount: &str) -> Self {
        Self::reaching(place, &["--mount", mount])
    }

    /// Starts a gateway that intercepts https. For origins it trusts the authority in `ca.pem` alone.
    pub(crate) fn intercepting(place: &'p TestDirectory, allow: &str) -> Self {
        Self::reaching(place, &["--allow", allow, "--intercept"])
    }

    /// Starts a gateway with the default configuration.
    pub(crate) fn unconfigured(place: &'p TestDirectory) -> Self {
        Self::reaching(place, &[])
    }

    fn reaching(place: &'p TestDirectory, reach: &[&str]) -> Self {
        let reach = reach.iter().map(|&option| option.to_owned()).collect();
        let free = || "127.0.0.1:0".to_owned();
        let (address, control) = (free(), free());
        let mut gateway =
            Self { place, child: None, address, control, reach, is_on_a_small_disk: false };
        gateway.wake();
        gateway
    }

    /// Starts a gateway with little disk space; `None` if the user may not mount a disk.
    pub(crate) fn on_a_small_disk(place: &'p TestDirectory, allow: &str) -> Option<Self> {
        let arguments = ["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"];
        let mounted = Command::new("unshare").args(arguments).output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            eprintln!("no disk can be made here: left out");
            return None;
        }
        let free = || "127.0.0.1:0".to_owned();
        let (address, control) = (free(), free());
        let reach = vec!["--allow".to_owned(), allow.to_owned()];
        let mut gateway =
            Self { place, child: None, address, control, reach, is_on_a_small_disk: true };
        gateway.wake();
        Some(gateway)
    }

    /// Path of a file in the data directory as the gateway process sees it, which also works on the small
    /// disk.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let process = self.child.as_ref().expect("a gateway that runs").id();
        let path = self.place.path("gateway").join(name);
        Path::new(&format!("/proc/{process}/root")).join(path.strip_prefix("/").unwrap())
    }

    /// Starts the gateway again, at the same addresses.
    pub(crate) fn wake(&mut self) {
        assert!(self.child.is_none());
        let arguments = ["--data", "gateway", "gateway", "--listen", &self.address, "--control"];
        let log = File::options().create(true).append(true).open(self.place.path("gateway.log"));
        let mut command = match self.is_on_a_small_disk {
            false => self.place.command(&arguments),
            true => self.place.within(&["unshare", "-rm", "sh", "-c", SMALL_DISK], &arguments),
        };
        if self.reach.iter().any(|option| option == "--intercept") {
            command.env("SSL_CERT_FILE", self.place.path("ca.pem"));
        }
        let mut child = command
            .arg(&self.control)
            .args(&self.reach)
            .stdout(Stdio::piped())
            .stderr(log.unwrap())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = |before: &str| {
            let line = lines
                .by_ref()
                .map_while(Result::ok)
                .find_map(|line| Some(line.strip_prefix(before)?.trim_end_matches('/').to_owned()));
            line.unwrap_or_else(|| panic!("{before}: nothing\n{}", self.place.read("gateway.log")))
        };
        self.address = told("listening on http://");
        self.control = told("controlled on http://");
        self.child = Some(child);
    }

    /// Kills the process.
    pub(crate) fn kill(&mut self) {
        let mut child = self.child.take().expect("a gateway that runs");
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "it ended by itself: {ended:?}\n{}", self.log());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn log(&self) -> String {
        self.place.read("gateway.log")
    }

    /// Sends a request to the control port; returns the JSON of the response, or null without one.
    pub(crate) fn told(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let token = std::fs::read_to_string(self.path("gateway/control.token")).unwrap();
        let token = format!("Authorization: Bearer {}", token.trim());
        let headers = [&*token, "Content-Type: application/json"];
        let url = format!("http://{}{path}", self.control);
        let body = body.map(|body| body.to_string().into_bytes());
        let asked = Application::direct().ask(method, &url, &headers, body.as_deref());
        let Answer { status, body, .. } = asked.expect("the control port answers");
        let text = String::from_utf8(body).unwrap();
        assert!((200..300).contains(&status), "{method} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Subscribes to a feed and its linked entries, and waits until everything is fetched.
    pub(crate) fn subscribe(&self, feed: &str, authorization: Option<&str>) {
        self.subscribe_with(feed, &["edit"], authorization);
    }

    /// Subscribes to a feed and to what it links to with these relations, and waits until everything is fetched.
    pub(crate) fn subscribe_with(&self, feed: &str, follows: &[&str], authorization: Option<&str>) {
        let header = |value: &str| json!({ "name": "Authorization", "value": value });
        let headers: Vec<Value> = authorization.map(header).into_iter().collect();
        let wanted = json!({ "feed": feed, "follows": follows, "headers": headers });
        self.told("POST", "/subscriptions", Some(&wanted));
        until("all is fetched", || {
            let told = self.told("GET", "/subscriptions", None);
            let stands = |state: &str| told[0]["state"] == state;
            assert!(!stands("PAUSED"), "{told} {}", self.errors());
            stands("WAITING").then_some(()).ok_or_else(|| told.to_string())
        });
    }

    /// Waits until the outbox is empty, and checks that no edit was refused.
    pub(crate) fn drained(&self) {
        assert_eq!(self.left(), [] as [Value; 0], "{}", self.log());
    }

    /// Waits until the outbox is empty; returns the errors of refused edits.
    pub(crate) fn left(&self) -> Vec<Value> {
        until("all edits leave", || {
            let outbox = self.told("GET", "/outbox", None);
            (outbox == json!([])).then_some(()).ok_or_else(|| outbox.to_string())
        });
        let mut errors = self.errors().as_array().unwrap().clone();
        errors.retain(|error| error["isEdit"] == true);
        errors
    }

    /// Errors of failed requests and refused edits.
    pub(crate) fn errors(&self) -> Value {
        self.told("GET", "/errors", None)
    }

    /// Number of queued edits.
    pub(crate) fn waiting(&self) -> usize {
        self.told("GET", "/outbox", None).as_array().unwrap().len()
    }
}

impl Drop for Gateway<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
