//! A vault as plain files: a hub, a device, and a mirror that runs beside them or is killed.

mod support;

#[path = "support/pouchdb.rs"]
mod pouchdb;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use support::{Hub, TestDirectory, TestEndpoint, until};

/// A process that is killed when it is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Creates a vault that is not encrypted; returns the token of a device.
fn create(desk: &TestEndpoint<'_>, url: &str) -> String {
    let created = ["vault", "create", "notes", "--unencrypted", "--url", url];
    desk.json(&created)["token"].as_str().unwrap().to_owned()
}

/// Paths and contents of all files, hidden ones included.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut found, mut directories) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(inner) = directories.pop() {
        for entry in fs::read_dir(inner).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let name = path.strip_prefix(directory).unwrap().to_str().unwrap().to_owned();
            found.insert(name, fs::read(path).unwrap());
        }
    }
    found
}

/// Checks that two directories have the same files.
fn same(one: &BTreeMap<String, Vec<u8>>, other: &BTreeMap<String, Vec<u8>>) {
    let differs = |path: &&String| one.get(*path) != other.get(*path);
    let paths: Vec<_> = one.keys().chain(other.keys()).filter(differs).collect();
    assert!(paths.is_empty(), "{paths:?}");
}

#[test]
fn a_device_and_a_directory_have_the_same_notes() {
    pouchdb::modules();
    let place = TestDirectory::new();
    let desk = place.bare("hub");
    let hub = Hub::start(&place, "hub");
    let couch = format!("{}/couch", hub.url);
    let token = create(&desk, &couch);
    let arguments = ["--data", "hub", "--json", "vault", "mirror", "notes", "files", "--watch"];
    let mut command = place.command(&arguments);
    let log = fs::File::create(place.path("mirror.log")).unwrap();
    let mirror = Killed(command.stdout(log).stderr(Stdio::inherit()).spawn().unwrap());
    let run = Command::new("node")
        .arg(pouchdb::scenarios().join("mirrored.mjs"))
        .env("POUCHDB_MODULES", pouchdb::modules())
        .env("VAULT_URL", format!("{couch}/notes"))
        .env("VAULT_TOKEN", &token)
        .env("VAULT_FILES", place.path("files"))
        .output()
        .expect("node is installed");
    let said = String::from_utf8_lossy(&run.stdout);
    println!("{said}{}", String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{}", place.read("mirror.log"));
    assert_eq!(said.lines().filter(|line| line.starts_with("ok ")).count(), 4);

    // Another process cannot mirror the same directory meanwhile.
    let second = desk.run(&["vault", "mirror", "notes", "files"]);
    second.fails(1, "another process mirrors ");
    #[cfg(unix)]
    stops_when_asked(mirror);
    let lines = place.read("mirror.log");
    let reports: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |group: &str, kind: &str| -> usize {
        reports.iter().map(|report| report[group][kind].as_array().unwrap().len()).sum()
    };
    assert_eq!((count("files", "deleted"), count("notes", "deleted")), (1, 1), "{lines}");
    let idle = desk.json(&["vault", "mirror", "notes", "files"]);
    assert_eq!(idle["mirrored"], 7, "{idle}");
    assert_eq!(idle["conflicts"], Value::Array(Vec::new()));
    drop(hub);
}

/// A mirror that watches ends by itself when the system asks it to.
#[cfg(unix)]
fn stops_when_asked(mut mirror: Killed) {
    let id = mirror.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let status = until("the end of the mirror", || {
        mirror.0.try_wait().unwrap().ok_or_else(|| "it runs".to_owned())
    });
    assert_eq!(status.code(), Some(0));
}

/// Mirrors a directory until it is done, and kills the process ever later.
fn mirror_with_kills(place: &TestDirectory, directory: &str) -> usize {
    let mut kills = 0;
    loop {
        let mut command = place.command(&["--data", "desk", "vault", "mirror", "notes", directory]);
        let errors = fs::File::create(place.path("errors")).unwrap();
        command.arg("--unencrypted").stdout(Stdio::null()).stderr(errors);
        let mut process = Killed(command.spawn().unwrap());
        thread::sleep(Duration::from_millis(40 + 25 * kills as u64));
        if let Some(status) = process.0.try_wait().unwrap() {
            assert_eq!(status.code(), Some(0), "{}", place.read("errors"));
            return kills;
        }
        drop(process);
        kills += 1;
    }
}

#[test]
fn killed_mirrors_lose_and_repeat_nothing() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    create(&desk, "https://hub.example.org/couch");
    let one = place.path("one");
    let write = |number: usize, version: usize| {
        let directory = one.join(format!("Ordner {}", number % 7));
        fs::create_dir_all(&directory).unwrap();
        let ending = if number.is_multiple_of(3) { "bin" } else { "md" };
        let text = format!("Notiz {number} in Fassung {version} 🎉\r\n").repeat(1 + number % 40);
        fs::write(directory.join(format!("Ünïcode {number}.{ending}")), text).unwrap();
    };
    (0..400).for_each(|number| write(number, 1));
    let before = files(&one);
    let mut kills = mirror_with_kills(&place, "one");
    kills += mirror_with_kills(&place, "two");
    same(&files(&one), &before);
    same(&files(&place.path("two")), &before);

    // Edits in both directories, of different notes.
    (0..150).for_each(|number| write(number, 2));
    for (path, content) in before.iter().filter(|(path, _)| path.contains(" 3")) {
        let edited = [content.as_slice(), b"more"].concat();
        let path = place.path("two").join(path);
        if fs::read(one.join(path.strip_prefix(place.path("two")).unwrap())).unwrap() == *content {
            fs::write(path, edited).unwrap();
        }
    }
    for directory in ["one", "two", "one"] {
        kills += mirror_with_kills(&place, directory);
    }
    let after = files(&one);
    same(&files(&place.path("two")), &after);
    assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>());
    let edited = |end: &[u8]| after.values().filter(|content| content.ends_with(end)).count();
    let text = |content: &Vec<u8>| String::from_utf8_lossy(content).contains("Fassung 2");
    assert_eq!(after.values().filter(|content| text(content)).count(), 150);
    assert!(edited(b"more") > 50, "{}", edited(b"more"));
    assert!(kills > 10, "only {kills} processes were killed");
}
