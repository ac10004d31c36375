//! The commands `user`, `user token`, `collection grant`, `collection revoke`, `collection grants` and `store audit`.

use crate::support::{Run, TestDirectory, TestEndpoint, has};

const PASSWORD: &str = "correct horse";

fn with(place: &TestDirectory, arguments: &[&str], input: &str) -> Run {
    let mut all = vec!["--data", "desk"];
    all.extend(arguments);
    place.run_with(&all, input)
}

/// Creates an administrator and another user, both with passwords.
fn people<'p>(place: &'p TestDirectory) -> TestEndpoint<'p> {
    let desk = place.desk("desk");
    for arguments in [
        &["user", "add", "anna", "--administrator", "--password-stdin"][..],
        &["user", "add", "otto", "--password-stdin"],
    ] {
        let run = with(place, arguments, &format!("{PASSWORD}\n"));
        assert_eq!(run.code, 0, "{}", run.err);
    }
    desk
}

#[test]
fn users_are_added_listed_disabled_and_removed() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    assert_eq!(desk.json(&["user", "list"]), serde_json::json!([]));
    assert!(desk.ok(&["user", "list"]).contains("no users"));
    let first = &["user", "add", "otto", "--no-password"];
    desk.run(first).fails(1, "make the first user an administrator");
    let run = with(&place, &["user", "add", "Anna", "--password-stdin"], PASSWORD);
    run.fails(2, "Anna");
    let place = TestDirectory::new();
    let desk = people(&place);
    with(&place, &["user", "add", "otto", "--password-stdin"], PASSWORD).fails(1, "already a user");
    desk.ok(&["user", "add", "robot", "--no-password"]);
    let users = desk.json(&["user", "list"]);
    let names: Vec<_> = users.as_array().unwrap().iter().map(|user| &user["name"]).collect();
    assert_eq!(names, ["anna", "otto", "robot"]);
    assert_eq!((&users[0]["administrator"], &users[0]["password"]), (&true.into(), &true.into()));
    assert_eq!((&users[2]["administrator"], &users[2]["password"]), (&false.into(), &false.into()));
    desk.run(&["user", "disable", "anna"]).fails(1, "last administrator");
    desk.run(&["user", "demote", "anna"]).fails(1, "last administrator");
    desk.ok(&["user", "disable", "otto"]);
    assert_eq!(desk.json(&["user", "list"])[1]["disabled"], true);
    desk.ok(&["user", "enable", "otto"]);
    assert_eq!(desk.json(&["user", "list"])[1]["disabled"], false);
    desk.ok(&["user", "promote", "otto"]);
    desk.ok(&["user", "demote", "anna"]);
    desk.ok(&["user", "remove", "robot"]);
    desk.ok(&["user", "token", "create", "--user", "anna"]);
    desk.run(&["user", "remove", "anna"]).fails(2, "anna loses 0 roles and 1 token");
    desk.ok(&["user", "remove", "anna", "--yes"]);
    desk.run(&["user", "remove", "anna"]).fails(3, "there is no user anna");
    assert_eq!(desk.json(&["user", "list"])[0]["administrator"], true);
}

#[test]
fn a_password_comes_from_standard_input_and_is_kept_nowhere() {
    let place = TestDirectory::new();
    let desk = people(&place);
    with(&place, &["user", "password", "otto", "--password-stdin"], "short")
        .fails(1, "8 characters");
    with(&place, &["user", "password", "otto", "--password-stdin"], "")
        .fails(2, "nothing was given");
    with(&place, &["user", "password", "nobody", "--password-stdin"], PASSWORD).fails(3, "nobody");
    desk.run(&["user", "password", "otto"]).fails(2, "no terminal");
    desk.run(&["user", "add", "emil"]).fails(2, "no terminal");
    desk.run(&["user", "password", "otto", PASSWORD]).fails(2, "unexpected argument");
    // The input is larger than a pipe buffer: the arguments are refused before standard input is read.
    let megabyte = "x".repeat(1 << 20);
    with(&place, &["user", "add", "Anna", "--password-stdin"], &megabyte).fails(2, "Anna");
    let other = "battery staple";
    let run = with(&place, &["user", "password", "otto", "--password-stdin"], other);
    assert_eq!(run.code, 0, "{}", run.err);
    for file in std::fs::read_dir(place.path("desk")).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        for secret in [PASSWORD, other] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret}");
        }
    }
}

#[test]
fn a_typed_password_is_not_echoed() {
    if !has("script") {
        return;
    }
    let place = TestDirectory::new();
    place.desk("desk");
    let program = env!("CARGO_BIN_EXE_feedsync");
    let add = format!("{program} --data desk user add anna --administrator");
    let typed = |second: &str| {
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &add, "/dev/null"]).current_dir(place.path("."));
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut seen = String::new();
        // Each answer is typed after its question, because the terminal echoes until then.
        for (question, answer) in [("Password for anna: ", PASSWORD), ("Once more: ", second)] {
            read_until(&mut output, &mut seen, question);
            std::thread::sleep(std::time::Duration::from_millis(300));
            std::io::Write::write_all(&mut input, format!("{answer}\n").as_bytes()).unwrap();
        }
        let mut rest = Vec::new();
        std::io::Read::read_to_end(&mut output, &mut rest).unwrap();
        seen.push_str(&String::from_utf8_lossy(&rest));
        (child.wait().unwrap().code(), seen)
    };
    let (code, seen) = typed("something else");
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("the two entries differ") && !seen.contains(PASSWORD), "{seen}");
    let (code, seen) = typed(PASSWORD);
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("added anna") && !seen.contains(PASSWORD), "{seen}");
}

fn read_until(from: &mut impl std::io::Read, seen: &mut String, wanted: &str) {
    let mut byte = [0];
    while !seen.ends_with(wanted) {
        assert_eq!(from.read(&mut byte).unwrap(), 1, "{seen}");
        seen.push(char::from(byte[0]));
    }
}

#[test]
fn a_token_is_shown_once_and_revoked_by_its_id() {
    let place = TestDirectory::new();
    let desk = people(&place);
    desk.run(&["user", "token", "create"]).fails(2, "--user");
    desk.run(&["user", "token", "create", "--user", "emil"]).fails(3, "no user emil");
    let make = ["user", "token", "create", "--user", "otto"];
    let limited = [
        &make[..],
        &["--label", "phone", "--role", "reader", "--collection", "notes", "--expires", "90d"],
    ]
    .concat();
    let token = desk.ok(&limited);
    assert!(token.starts_with("fsy_") && token.lines().count() == 1, "{token}");
    let second = desk.json(&make);
    assert_ne!(second["token"], token.trim_end());
    desk.run(&[&make[..], &["--role", "administrator"]].concat()).fails(2, "not a role");
    desk.run(&[&make[..], &["--expires", "soon"]].concat()).fails(2, "not a period");
    desk.run(&[&make[..], &["--collection", "none"]].concat()).fails(3, "no collection none");
    let listed = desk.ok(&["user", "token", "list"]);
    assert!(!listed.contains("fsy_") && listed.contains("reader in notes"), "{listed}");
    let tokens = desk.json(&["user", "token", "list", "--user", "otto"]);
    assert_eq!(tokens.as_array().unwrap().len(), 2);
    assert_eq!((&tokens[0]["label"], &tokens[0]["role"]), (&"phone".into(), &"reader".into()));
    assert_eq!((&tokens[0]["collection"], &tokens[0]["expired"]), (&"notes".into(), &false.into()));
    assert!(tokens[0]["expires"].is_string() && tokens[1]["expires"].is_null());
    let id = tokens[0]["id"].as_str().unwrap();
    desk.run(&["user", "token", "revoke", &id[..3]]).fails(2, "at least 4");
    desk.ok(&["user", "token", "revoke", &id[..8]]);
    desk.run(&["user", "token", "revoke", id]).fails(3, "there is no token");
    assert_eq!(desk.json(&["user", "token", "list"]), serde_json::json!([tokens[1]]));
}

#[test]
fn roles_are_granted_listed_and_revoked() {
    let place = TestDirectory::new();
    let desk = people(&place);
    desk.ok(&["collection", "create", "photos"]);
    assert!(desk.ok(&["collection", "grants"]).contains("nobody has a role"));
    desk.ok(&["collection", "grant", "notes", "otto", "reader"]);
    desk.ok(&["collection", "grant", "photos", "otto", "owner"]);
    desk.ok(&["collection", "grant", "notes", "otto", "editor"]);
    desk.run(&["collection", "grant", "notes", "otto", "boss"]).fails(2, "not a role");
    desk.run(&["collection", "grant", "notes", "emil", "reader"]).fails(3, "no user emil");
    desk.run(&["collection", "grant", "none", "otto", "reader"]).fails(3, "no collection none");
    let grant = |collection: &str, role: &str| serde_json::json!({ "collection": collection, "user": "otto", "role": role });
    let all = desk.json(&["collection", "grants"]);
    assert_eq!(all, serde_json::json!([grant("notes", "editor"), grant("photos", "owner")]));
    desk.ok(&["collection", "revoke", "notes", "otto"]);
    desk.run(&["collection", "revoke", "notes", "otto"]).fails(3, "has no role");
    assert_eq!(
        desk.json(&["collection", "grants", "photos"]),
        serde_json::json!([grant("photos", "owner")])
    );
    assert_eq!(desk.json(&["collection", "grants", "notes"]), serde_json::json!([]));
    desk.run(&["collection", "grants", "none"]).fails(3, "no collection none");
}

#[test]
fn record_lists_actions_newest_first() {
    let place = TestDirectory::new();
    let desk = people(&place);
    let token = desk.ok(&["user", "token", "create", "--user", "otto", "--label", "phone"]);
    desk.ok(&["collection", "grant", "notes", "otto", "editor"]);
    let id = desk.add("Milk", "two litres");
    desk.ok(&["collection", "set", "notes", "public=true"]);
    desk.ok(&["collection", "rename", "notes", "shopping"]);
    let log = desk.json(&["store", "audit"]);
    let actions: Vec<_> = log.as_array().unwrap().iter().map(|act| act["action"].clone()).collect();
    assert_eq!(&actions[..2], ["set", "set"]);
    assert_eq!(&actions[3..], ["grant", "issue token", "add user", "add user", "create"]);
    assert_eq!((&log[2]["item"], &log[2]["collection"]), (&id.into(), &"notes".into()));
    assert!(log.as_array().unwrap().iter().all(|act| act["address"] == "local"));
    let told = desk.ok(&["store", "audit", "--limit", "1000"]);
    assert!(!told.contains(token.trim_end()) && !told.contains(PASSWORD), "{told}");
    assert_eq!(desk.json(&["store", "audit", "--limit", "2"]).as_array().unwrap().len(), 2);
    assert_eq!(desk.json(&["store", "audit", "--limit", "0"]), serde_json::json!([]));
    assert_eq!(desk.json(&["store", "audit", "--user", "otto"]), serde_json::json!([]));
    // The record shows the name that the collection had at that time.
    let of_notes = desk.json(&["store", "audit", "--collection", "notes"]);
    assert_eq!(of_notes.as_array().unwrap().len(), 5, "{of_notes}");
}

#[test]
fn fever_password_is_printed_once_and_listed_as_a_token() {
    let place = TestDirectory::new();
    let desk = people(&place);
    let create = ["user", "token", "create", "--user", "otto", "--fever"];
    let password = desk.ok(&create);
    let groups: Vec<_> = password.trim_end().split('-').collect();
    assert!(groups.len() == 4 && groups.iter().all(|group| group.len() == 6), "{password}");
    assert_ne!(desk.ok(&create), password);
    let tokens = desk.json(&["user", "token", "list", "--user", "otto"]);
    assert_eq!(tokens.as_array().unwrap().len(), 2);
    assert_eq!(tokens[0]["label"], "Fever");
    assert!(!tokens.to_string().contains(password.trim_end()));
    desk.run(&[&create[..], &["--role", "reader"]].concat()).fails(2, "--role");
}
