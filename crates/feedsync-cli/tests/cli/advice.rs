//! Errors that newcomers meet. Each message says what was expected, with an example, or which command to run.

use std::net::TcpListener;

use crate::support::portal::{INTERCEPTIONS, Portal};
use crate::support::{Hub, Run, TestDirectory};

/// Checks the exit code and the texts of standard error.
fn says(run: &Run, code: i32, texts: &[&str]) {
    for text in texts {
        run.fails(code, text);
    }
}

#[test]
fn address_to_listen_on_is_shown_by_example() {
    let place = TestDirectory::new();
    place.desk("desk");
    let example = "such as 127.0.0.1:8080 or [::1]:8080";
    for wrong in ["here", "8080", "localhost:8080", "::1:8080", "127.0.0.1"] {
        let run = place.run(&["--data", "desk", "serve", "--listen", wrong]);
        says(&run, 2, &[wrong, example]);
        for option in ["--listen", "--control"] {
            says(&place.run(&["gateway", option, wrong]), 2, &[wrong, example]);
        }
    }
}

#[test]
fn networks_and_times_of_settings_are_shown_by_example() {
    let place = TestDirectory::new();
    place.desk("desk");
    let serve = |option: &str, value: &str| place.run(&["--data", "desk", "serve", option, value]);
    let networks = "such as 192.168.1.5 or fd00::1, nor a block of addresses, such as 10.0.0.0/8";
    for option in ["--private-feeds", "--trusted-proxies"] {
        says(&serve(option, "lan"), 2, &["\"lan\" is neither an address,", networks]);
    }
    says(&serve("--limits-head-time", "soon"), 2, &["\"30 days\"", "\"soon\" is not a time"]);
    let desk = place.desk("other");
    let run = desk.run(&["collection", "set", "notes", "keep.age=soon"]);
    says(&run, 1, &["such as 90d"]);
}

#[test]
fn address_without_a_scheme_is_suggested_with_one() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let meant = "https://example.org/x";
    for (code, command) in [
        (2, &["remote", "subscribe", "notes", "example.org/x"][..]),
        (3, &["sync", "notes", "example.org/x"]),
        (2, &["remote", "login", "example.org/x"]),
        (2, &["database", "replicate", "example.org/x", "notes"]),
        (2, &["gateway", "subscribe", "example.org/x"]),
        (3, &["import", "notes", "example.org/x"]),
        (3, &["file", "validate", "example.org/x"]),
        (3, &["log", "tail", "example.org/x"]),
        (3, &["reader", "sync", "example.org/x"]),
    ] {
        says(&desk.run(command), code, &[meant]);
    }
    let run = desk.run(&["reader", "subscribe", "example.org/x"]);
    says(&run, 2, &["such as https://example.org/feed"]);
}

#[test]
fn nearest_collection_item_and_user_are_suggested() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let id = desk.add("Milk", "two litres");
    place.write("password", "correct horse battery\n");
    desk.ok(&["user", "add", "anna", "--administrator", "--no-password"]);
    for command in
        [&["ls", "nots"][..], &["collection", "set", "nots", "public=true"], &["export", "nots"]]
    {
        says(&desk.run(command), 3, &["no collection nots; did you mean notes?"]);
    }
    for command in [&["show", "notes", "Mikl"][..], &["rm", "notes", "Milc"]] {
        says(&desk.run(command), 3, &[&format!("did you mean {id}?")]);
    }
    for command in [
        &["user", "disable", "ana"][..],
        &["collection", "grant", "notes", "ana", "editor"],
        &["user", "token", "create", "--user", "ana"],
    ] {
        says(&desk.run(command), 3, &["no user ana; did you mean anna?"]);
    }
    assert!(!desk.run(&["ls", "zzz"]).err.contains("did you mean"));
}

#[test]
fn refused_login_names_the_commands_to_run() {
    let place = TestDirectory::new();
    let home = place.desk("hub");
    place.write("password", "correct horse battery\n");
    home.ok(&["user", "add", "anna", "--administrator", "--no-password"]);
    let hub = Hub::start(&place, "hub");
    place.desk("desk");
    let login = |arguments: &[&str]| {
        let all = [&["--data", "desk", "remote", "login", &hub.url, "--stdin"], arguments].concat();
        place.run_with(&all, "fsy_wrong\n")
    };
    let again = format!("feedsync --data desk remote login {} --user anna", hub.url);
    says(
        &login(&["--user", "anna"]),
        1,
        &["does not accept the login", &again, "user password anna"],
    );
    says(&login(&[]), 1, &["--user NAME", "token create"]);
}

#[test]
fn portal_is_named_as_a_page_to_sign_in_at() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    let hub = Hub::start(&place, "hub");
    let portal = Portal::before(&hub);
    let (notes, log) =
        (format!("{}/collections/notes", portal.url), format!("{}/logs/lines", portal.url));
    for way in ["required", "found", "loop", "page"] {
        portal.stands_between(INTERCEPTIONS.iter().position(|(name, ..)| *name == way).unwrap());
        for command in [&["import", "notes", &notes][..], &["log", "tail", &log]] {
            let run = desk.run(command);
            says(&run, 4, &["the network may want you to sign in first: open a page in a browser"]);
        }
    }
}

/// Paths of the database of a dropped collection and of the file that describes it.
fn kept(place: &TestDirectory) -> (std::path::PathBuf, std::path::PathBuf) {
    let mut entries = std::fs::read_dir(place.path("desk/dropped")).unwrap();
    let directory = entries.next().unwrap().unwrap().path();
    (directory.join("feedsync.db"), directory.join("dropped.json"))
}

#[test]
fn dropped_copy_that_is_damaged_is_named() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.add("Milk", "two litres");
    desk.ok(&["collection", "drop", "notes", "--yes"]);
    let (store, _) = kept(&place);
    let mut bytes = std::fs::read(&store).unwrap();
    bytes[..64].fill(0x5a);
    std::fs::write(&store, bytes).unwrap();
    let run = desk.run(&["collection", "undrop", "notes"]);
    says(
        &run,
        5,
        &["desk/dropped/notes-", "the copy of notes that was kept is damaged", "restore"],
    );
    assert!(desk.run(&["ls", "notes"]).code == 3, "half a collection is left behind");
}

#[test]
fn description_of_a_dropped_copy_that_cannot_be_read_is_named_and_nothing_is_removed() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.add("Milk", "two litres");
    desk.ok(&["collection", "drop", "notes", "--yes"]);
    let (store, description) = kept(&place);
    std::fs::write(&description, "{\"name\":").unwrap();
    let directory = store.parent().unwrap();
    let export = "export NAME";
    for command in [&["collection", "undrop", "notes"][..], &["collection", "undrop"]] {
        says(&desk.run(command), 5, &["/dropped.json: it cannot be read: ", export]);
    }
    let doctor = desk.run(&["store", "doctor"]);
    assert!(doctor.code == 1 && doctor.out.contains("dropped.json"), "{doctor:?}");
    // The directory is old, but it is not removed as an unfinished copy.
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 24 * 3_600);
    std::fs::File::open(directory).unwrap().set_modified(long_ago).unwrap();
    desk.run(&["collection", "undrop", "notes"]).fails(5, export);
    let data = directory.display().to_string();
    assert!(place.run(&["--data", &data, "export", "notes"]).out.contains("Milk"));
}

#[test]
fn feed_that_a_reader_does_not_know_is_reported() {
    let place = TestDirectory::new();
    let desk = place.bare("desk");
    desk.ok(&["reader", "subscribe", "https://example.org/feed"]);
    let meant = "did you mean https://example.org/feed?";
    says(
        &desk.run(&["reader", "unsubscribe", "https://example.org/fed"]),
        3,
        &[meant, "reader list"],
    );
    // The mark is stored, since another device may subscribe to the feed.
    let mark = ["reader", "mark", "https://example.org/fed", "--up-to", "now"];
    says(&desk.run(&mark), 0, &[meant]);
    assert!(desk.ok(&["reader", "export", "--all"]).contains("https://example.org/fed\""));
    desk.ok(&["reader", "unsubscribe", "https://example.org/feed"]);
    desk.ok(&["reader", "mark", "https://example.org/feed", "--read", "urn:x:1"]);
}

#[test]
fn error_of_a_database_names_its_address_without_the_password() {
    let place = TestDirectory::new();
    let host = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = place.command(&["ls", "notes"]);
    command.env("FEEDSYNC_STORE", format!("postgres://anna:geheim@{host}/feeds"));
    let run = Run::of(command.output().unwrap());
    says(&run, 5, &[&format!("postgres://anna@{host}/feeds: ")]);
    assert!(!run.err.contains("geheim"), "{}", run.err);
}

#[test]
fn store_that_lost_its_database_is_not_begun_anew() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.add("Milk", "two litres");
    desk.ok(&["store", "backup", "backup.db"]);
    let database = place.path("desk/feedsync.db");
    for is_empty in [true, false] {
        match is_empty {
            true => std::fs::write(&database, "").unwrap(),
            false => std::fs::remove_file(&database).unwrap(),
        }
        for command in
            [&["store", "init"][..], &["ls", "notes"], &["serve", "--listen", "127.0.0.1:0"]]
        {
            says(&desk.run(command), 5, &["gone or empty", "restore --from BACKUP"]);
        }
    }
    assert!(!database.exists());
    desk.ok(&["store", "restore", "--from", "backup.db"]);
    assert_eq!(desk.json(&["ls", "notes"])[0]["title"], "Milk");
}

#[test]
fn json_that_is_no_feed_is_refused_with_the_reason() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    for text in ["{}", "[]", "{\"title\":\"x\"}", "1"] {
        place.write("x.json", text);
        let run = desk.run(&["import", "notes", "x.json"]);
        says(&run, 1, &["x.json", "not a feed: "]);
    }
}

#[test]
fn reader_of_a_hub_that_got_users_is_told_the_way_to_its_own_log() {
    let place = TestDirectory::new();
    place.bare("hub");
    let desk = place.bare("desk");
    let hub = Hub::start(&place, "hub");
    desk.ok(&["reader", "subscribe", "https://example.org/feed"]);
    desk.ok(&["reader", "sync", &format!("{}/logs/reading", hub.url)]);
    let password = "correct horse battery\n";
    let add = ["--data", "hub", "user", "add", "--password-stdin"];
    for user in [&["anna", "--administrator"][..], &["otto"]] {
        assert_eq!(place.run_with(&[&add, user].concat(), password).code, 0);
    }
    desk.ok(&["reader", "subscribe", "https://example.org/other"]);
    let log_in = format!("feedsync --data desk remote login {} --user NAME", hub.url);
    let over = format!("reader sync {}/logs/reading-NAME --begin-again", hub.url);
    says(&desk.run(&["reader", "sync"]), 4, &[&log_in, &over]);
    for name in ["otto", "anna"] {
        let log_in = ["--data", "desk", "remote", "login", &hub.url, "--user", name, "--stdin"];
        assert_eq!(place.run_with(&log_in, password).code, 0);
        let run = desk.run(&["reader", "sync"]);
        assert!(run.code != 0 && run.err.contains(&over), "{name}: {run:?}");
    }
    let own = format!("{}/logs/reading-anna", hub.url);
    assert_eq!(desk.json(&["reader", "sync", &own, "--begin-again"])["log"], own);
    assert_eq!(desk.json(&["reader", "list"]).as_array().unwrap().len(), 2);
}
