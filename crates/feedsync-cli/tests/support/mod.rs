//! The compiled program, separate data directories, and hubs.

#![allow(dead_code)] // each test binary uses a part of this

pub(crate) mod application;
pub(crate) mod browser;
pub(crate) mod certificates;
#[cfg(unix)]
pub(crate) mod database;
pub(crate) mod newsroom;
pub(crate) mod origin;
pub(crate) mod packages;
pub(crate) mod portal;
#[cfg(unix)]
pub(crate) mod web;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Working directory of the programs, which contains the data directories by name.
pub(crate) struct TestDirectory(TempDir);

impl TestDirectory {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Command of the program in this directory, isolated from the data of the user.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.within(&[], arguments)
    }

    /// Command of the program, started by another command.
    pub(crate) fn within(&self, other: &[&str], arguments: &[&str]) -> Command {
        let words = [other, &[env!("CARGO_BIN_EXE_feedsync")], arguments].concat();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .current_dir(self.0.path())
            .env("HOME", self.0.path())
            .env_remove("XDG_DATA_HOME")
            .env_remove("FEEDSYNC_DATA")
            .env_remove("FEEDSYNC_CONFIG")
            .env_remove("FEEDSYNC_STORE")
            .env_remove("FEEDSYNC_BY")
            .env_remove("PGPASSWORD")
            .env_remove("PGPASSFILE")
            .env("FEEDSYNC_LOG_LEVEL", "warn")
            .env_remove("FEEDSYNC_LOG")
            .env_remove("VISUAL")
            .env_remove("EDITOR")
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        Run::of(self.command(arguments).output().unwrap())
    }

    /// Runs the program with data on standard input. A program that refuses its arguments may end before it
    /// reads any of it.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Run {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let written = child.stdin.take().unwrap().write_all(input.as_bytes());
        let run = Run::of(child.wait_with_output().unwrap());
        match written {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
            written => written.unwrap(),
        }
        run
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Creates an endpoint in the data directory of that name, with an empty collection `notes`.
    pub(crate) fn desk(&self, name: &'static str) -> TestEndpoint<'_> {
        let desk = TestEndpoint { place: self, name };
        desk.ok(&["store", "init", "--endpoint", name]);
        desk.ok(&["collection", "create", "notes"]);
        desk
    }

    /// Creates an endpoint without collections.
    pub(crate) fn bare(&self, name: &'static str) -> TestEndpoint<'_> {
        let desk = TestEndpoint { place: self, name };
        desk.ok(&["store", "init", "--endpoint", name]);
        desk
    }
}

/// An endpoint in a data directory.
pub(crate) struct TestEndpoint<'p> {
    place: &'p TestDirectory,
    pub(crate) name: &'static str,
}

impl<'p> TestEndpoint<'p> {
    /// The endpoint of an existing data directory.
    pub(crate) fn of(place: &'p TestDirectory, name: &'static str) -> Self {
        Self { place, name }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        let mut all = vec!["--data", self.name];
        all.extend(arguments);
        self.place.run(&all)
    }

    /// Runs a command that must succeed; returns its output.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        self.run(arguments).success(arguments)
    }

    /// Runs a command that must succeed; returns its JSON output.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let mut all = vec!["--json"];
        all.extend(arguments);
        let text = self.ok(&all);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    pub(crate) fn add(&self, title: &str, content: &str) -> String {
        let id = self.ok(&["add", "notes", "--title", title, "--content", content]);
        id.trim_end().to_owned()
    }

    /// Values of a field in all versions of the only item in conflict, sorted.
    pub(crate) fn in_conflict(&self, collection: &str, field: &str) -> Vec<String> {
        let conflicts = self.json(&["conflicts", collection]);
        let [item] = &conflicts.as_array().unwrap()[..] else { panic!("{conflicts}") };
        let versions = item["conflicts"].as_array().unwrap().iter().chain([&item["winner"]]);
        let mut values: Vec<_> =
            versions.map(|version| version[field].as_str().unwrap().to_owned()).collect();
        values.sort_unstable();
        values
    }

    /// Titles and contents of all items and their conflicts, sorted.
    pub(crate) fn state(&self) -> Vec<String> {
        let items = self.json(&["ls", "notes", "--all"]);
        let mut state: Vec<_> = items.as_array().unwrap().iter().map(Self::shown).collect();
        let conflicts = self.json(&["conflicts", "notes"]);
        for item in conflicts.as_array().unwrap() {
            for conflict in item["conflicts"].as_array().unwrap() {
                state.push(format!("{} conflict {}", item["id"], Self::shown(conflict)));
            }
        }
        state.sort();
        state
    }

    fn shown(version: &Value) -> String {
        let of = |name: &str| version[name].to_string();
        let names = ["id", "title", "content", "updates", "deleted", "when", "by", "sequence"];
        names.map(of).join(" ")
    }

    /// Imports the items of another endpoint, without a network.
    pub(crate) fn hears(&self, other: &TestEndpoint<'_>) {
        let feed = format!("{}.atom", other.name);
        other.ok(&["export", "notes", "--to", "atom", "--output", &feed]);
        self.ok(&["import", "notes", &feed]);
    }
}

/// Result of a command.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Run {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code().expect("an exit code"),
            out: text(output.stdout),
            err: text(output.stderr),
        }
    }

    pub(crate) fn success(self, arguments: &[&str]) -> String {
        assert_eq!(self.code, 0, "{arguments:?}: {}{}", self.out, self.err);
        self.out
    }

    /// Checks the exit code, and that standard error contains the text.
    pub(crate) fn fails(&self, code: i32, said: &str) {
        assert_eq!(self.code, code, "{self:?}");
        assert!(self.err.contains(said), "{said:?} in {}", self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
    }
}

/// A running hub, which is stopped when it is dropped.
pub(crate) struct Hub {
    child: Child,
    pub(crate) url: String,
}

impl Hub {
    pub(crate) fn start(place: &TestDirectory, data: &str) -> Self {
        Self::start_with(place, data, |_| {})
    }

    /// Starts a hub on a store outside its data directory.
    pub(crate) fn start_on(place: &TestDirectory, data: &str, store: &str) -> Self {
        Self::start_with(place, data, |command| {
            command.args(["--store", store]);
        })
    }

    /// Starts a hub with a modified command line.
    pub(crate) fn start_with(
        place: &TestDirectory,
        data: &str,
        change: impl FnOnce(&mut Command),
    ) -> Self {
        Self::start_at(place, data, "127.0.0.1:0", change)
    }

    /// Kills the hub, calls `meanwhile`, and starts the hub again at the same address.
    pub(crate) fn again(&mut self, place: &TestDirectory, data: &str, meanwhile: impl FnOnce()) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        meanwhile();
        *self = Self::start_at(place, data, self.url.trim_start_matches("http://"), |_| {});
    }

    fn start_at(
        place: &TestDirectory,
        data: &str,
        address: &str,
        change: impl FnOnce(&mut Command),
    ) -> Self {
        let mut command = place.command(&["--data", data, "serve", "--listen", address]);
        change(&mut command);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let url = lines
            .find_map(|line| Some(line.strip_prefix("listening on ")?.trim_end_matches('/').into()))
            .expect("the hub says where it listens");
        // It prints more, and ends if it cannot.
        thread::spawn(move || lines.for_each(drop));
        Self { child, url }
    }

    /// Number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn notes(&self) -> String {
        format!("{}/collections/notes", self.url)
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a program is installed. A missing program fails the test, unless the environment allows skipping
/// it: a test that passes without its peer proves nothing.
pub(crate) fn has(program: &str) -> bool {
    let found = std::env::var_os("PATH").is_some_and(|path| {
        std::env::split_paths(&path).any(|directory: PathBuf| directory.join(program).exists())
    });
    found || lacks(program)
}

/// Fails the test that needs a program, or reports it as skipped if the environment allows that; always
/// `false`.
pub(crate) fn lacks(program: &str) -> bool {
    let may_skip = std::env::var("FEEDSYNC_MISSING").is_ok_and(|value| value == "skip");
    assert!(may_skip, "{program} is not installed; FEEDSYNC_MISSING=skip skips what needs it");
    eprintln!("{program} is not installed: skipped");
    false
}

/// Runs a program that must succeed; returns its output.
pub(crate) fn output(program: &str, arguments: &[&str], directory: &Path) -> String {
    let output = Command::new(program).args(arguments).current_dir(directory).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// Maximum time for any condition to become true.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Repeats a check until it succeeds; returns its value.
pub(crate) fn until<T>(what: &str, mut ask: impl FnMut() -> Result<T, String>) -> T {
    let begin = Instant::now();
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(instead) => assert!(begin.elapsed() < TIMEOUT, "{what}: {instead}"),
        }
        thread::sleep(Duration::from_millis(50));
    }
}
