//! Unmodified drivers of CouchDB, from their registries, with databases at the root of an address of the hub.
//!
//! Each driver has a directory in `drivers/` with scripts that make the calls of its documentation and print the Test
//! Anything Protocol. A script can stop and start the hub. Two drivers contain tests of their own, which run as they are.

mod support;

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use support::{Hub, TestDirectory, packages};

const ADMINISTRATOR: &str = "anna";
const USER: &str = "bert";
const PASSWORD: &str = "secret-password";

/// Lets strangers register as users of databases.
const REGISTRATION: [&str; 2] = ["--couch-users", "anyone"];

/// A hub with databases at the root of one address, which it keeps when it starts again.
struct CouchHub {
    place: TestDirectory,
    address: String,
    settings: Vec<&'static str>,
    process: Option<Hub>,
}

impl CouchHub {
    /// Starts a hub without users, where every program of this machine has full access.
    fn without_users() -> Self {
        Self::new(TestDirectory::new(), &[])
    }

    /// Starts a hub with an administrator and a user.
    fn with_users(settings: &[&'static str]) -> Self {
        let place = TestDirectory::new();
        place.bare("hub");
        for (user, role) in [(ADMINISTRATOR, &["--administrator"][..]), (USER, &[])] {
            let mut add = vec!["--data", "hub", "user", "add", user, "--password-stdin"];
            add.extend(role);
            let added = place.run_with(&add, PASSWORD);
            assert_eq!(added.code, 0, "{}", added.err);
        }
        Self::new(place, settings)
    }

    fn new(place: TestDirectory, settings: &[&'static str]) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let settings = settings.to_vec();
        let mut hub = Self { place, address: free.to_string(), settings, process: None };
        hub.start();
        hub
    }

    fn start(&mut self) {
        let hub = Hub::start_with(&self.place, "hub", |command| {
            command.args(["--couch-listen", &self.address]).args(&self.settings);
        });
        self.process = Some(hub);
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Arguments of the scripts: the address, the name of the administrator and of the user, and their password.
    fn arguments(&self) -> [String; 4] {
        [self.url(), ADMINISTRATOR.to_owned(), USER.to_owned(), PASSWORD.to_owned()]
    }

    /// Runs a script, and stops and starts the hub as it asks. All its checks must hold; returns their number.
    fn run(mut self, command: &mut Command) -> usize {
        command.env("no_proxy", "127.0.0.1").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut script = command.spawn().unwrap();
        let mut input = script.stdin.take().unwrap();
        let mut held = 0;
        for line in BufReader::new(script.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            println!("{line}");
            match &*line {
                "# stop" => self.process = None,
                "# start" => self.start(),
                _ => {
                    held += usize::from(line.starts_with("ok "));
                    continue;
                }
            }
            writeln!(input).unwrap();
        }
        assert!(script.wait().unwrap().success(), "not all calls work as expected");
        held
    }
}

fn drivers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers")
}

/// Command of a script of a driver for Node; `None` if the packages cannot be installed.
fn node(driver: &str) -> Option<Command> {
    let directory = drivers().join(driver);
    let modules = packages::node(&format!("driver-{driver}"), &directory.join("package.json"))?;
    let mut command = Command::new("node");
    command.arg(directory.join("calls.mjs")).env("MODULES", modules);
    Some(command)
}

/// Command of a script in Python, which leaves no files beside the script.
fn script(python: &Path, script: &str) -> Command {
    let mut command = Command::new(python);
    command.arg("-B").arg(drivers().join(script));
    command
}

#[test]
fn python_couchdb_works_as_with_couchdb() {
    let Some(python) = packages::python("driver-couchdb", &["CouchDB==1.2"]) else { return };
    let hub = CouchHub::with_users(&REGISTRATION);
    let arguments = hub.arguments();
    let held = hub.run(script(&python, "couchdb/calls.py").args(arguments));
    assert!(held >= 90, "{held} calls work, and there were more");

    // Its own tests send no login.
    let hub = CouchHub::without_users();
    let url = format!("{}/", hub.url());
    let held = hub.run(script(&python, "couchdb/suite.py").env("COUCHDB_URL", url));
    assert!(held >= 169, "{held} tests hold, and there were more");
}

#[test]
fn aiocouch_works_as_with_couchdb() {
    let wanted = ["aiocouch==4.0.1", "pytest==9.2.0", "pytest-asyncio==1.5.0"];
    let Some(python) = packages::python("driver-aiocouch", &wanted) else { return };
    let Some(source) = packages::python_source(&python, wanted[0]) else { return };
    let hub = CouchHub::with_users(&[]);
    let arguments = hub.arguments();
    let held = hub.run(script(&python, "aiocouch/calls.py").args(arguments));
    assert!(held >= 38, "{held} calls work, and there were more");

    // Its own tests wait for a quarter of a second each and use the same database, so each part has a hub of its own.
    let parts = [
        &["test_database.py", "test_privileges.py", "test_remote.py"][..],
        &["test_document.py", "test_exception.py", "test_server.py"],
        &[
            "test_attachment.py",
            "test_bulk.py",
            "test_changes.py",
            "test_connection.py",
            "test_view.py",
        ],
    ];
    let run = |files: &[&str]| {
        let hub = CouchHub::with_users(&REGISTRATION);
        let mut suite = script(&python, "aiocouch/suite.py");
        suite
            .arg(&source)
            .args(files)
            .env("COUCHDB_HOST", hub.url())
            .env("COUCHDB_USER", ADMINISTRATOR)
            .env("COUCHDB_PASS", PASSWORD);
        hub.run(&mut suite)
    };
    let held: usize = thread::scope(|scope| {
        let running = parts.map(|files| scope.spawn(move || run(files)));
        running.into_iter().map(|part| part.join().unwrap()).sum()
    });
    assert!(held >= 145, "{held} tests hold, and there were more");
}

/// Number of checks that hold of a driver for Node; `None` if it cannot be installed.
fn held_in_node(driver: &str, settings: &[&'static str]) -> Option<usize> {
    let mut command = node(driver)?;
    let hub = CouchHub::with_users(settings);
    let arguments = hub.arguments();
    Some(hub.run(command.args(arguments)))
}

#[test]
fn nano_works_as_with_couchdb() {
    let Some(held) = held_in_node("nano", &[]) else { return };
    assert!(held >= 78, "{held} calls work, and there were more");
}

#[test]
fn applications_with_rxdb_sync_through_a_hub() {
    let Some(held) = held_in_node("rxdb", &[]) else { return };
    assert!(held >= 17, "{held} scenarios hold, and there were more");
}

#[test]
fn pouchdb_authentication_registers_and_signs_in_users() {
    let Some(held) = held_in_node("authentication", &REGISTRATION) else { return };
    assert!(held >= 32, "{held} calls work, and there were more");
}
