//! Every command prints JSON with `--json`, or refuses with the reason, as docs/json.md says.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::TestDirectory;

const REFERENCE: &str = include_str!("../../../../docs/json.md");

/// Commands and their arguments, in an order that works for an endpoint with the collection `notes`.
const LINES: &[(&str, &str)] = &[
    ("collection create", "other"),
    ("add", "notes --title Milk --id milk"),
    ("add", "notes --copy milk"),
    ("edit", "notes milk --title Oats"),
    ("rm", "notes milk"),
    ("undelete", "notes milk"),
    ("undelete --discarded", "notes"),
    ("ls", "notes"),
    ("ls --discarded", "notes"),
    ("show", "notes milk"),
    ("diff", "notes milk"),
    ("history", "notes milk"),
    ("conflicts", "notes"),
    ("resolve --all", "latest --yes notes"),
    ("status", ""),
    ("import", "notes feed.atom"),
    ("collection list", ""),
    ("collection rename", "other links"),
    ("collection set", "notes drafts=true"),
    ("collection settings", "notes"),
    ("collection publish", "notes --directory www --url https://example.org/"),
    ("collection drop", "links --yes"),
    ("collection undrop", ""),
    ("collection undrop", "links"),
    ("user add", "anna --administrator --no-password"),
    ("user add", "otto --no-password"),
    ("user list", ""),
    ("user disable", "otto"),
    ("user enable", "otto"),
    ("user promote", "otto"),
    ("user demote", "otto"),
    ("user restrict", "otto"),
    ("user unrestrict", "otto"),
    ("user token create", "--user otto"),
    ("user token list", ""),
    ("collection grant", "notes otto editor"),
    ("collection grants", ""),
    ("collection revoke", "notes otto"),
    ("user remove", "otto --yes"),
    ("remote subscribe", "notes https://example.org/feed"),
    ("remote list", ""),
    ("remote unsubscribe", "notes 1"),
    ("remote subscribe", "notes https://example.org/other"),
    ("remote remove", "notes https://example.org/other"),
    ("remote logins", ""),
    ("log create", "notes"),
    ("log verify", "notes"),
    ("log append", "notes lines.jsonl"),
    ("log pull", "notes copy.jsonl"),
    ("reader subscribe", "https://example.org/feed"),
    ("reader mark", "https://example.org/feed --read urn:x:1"),
    ("reader star", "https://example.org/feed urn:x:1"),
    ("reader tag", "https://example.org/feed urn:x:1 later"),
    ("reader list", ""),
    ("reader articles", ""),
    ("reader unsubscribe", "https://example.org/feed"),
    ("reader relocate", "https://example.org/feed https://example.org/new"),
    ("reader import", "list.opml"),
    ("file add", "new.atom --title Milk --id milk"),
    ("file edit", "new.atom milk --title Oats"),
    ("file rm", "new.atom milk"),
    ("file undelete", "new.atom milk"),
    ("file ls", "new.atom"),
    ("file show", "new.atom milk"),
    ("file conflicts", "new.atom"),
    ("file history", "new.atom milk"),
    ("file merge", "new.atom new.atom -o merged.atom"),
    ("file validate", "new.atom"),
    ("vault create", "vault --unencrypted --url https://hub.example.org/couch"),
    ("vault link", "vault --unencrypted --url https://hub.example.org/couch"),
    ("vault mirror", "vault mirrored"),
    ("database list", ""),
    ("database set", "vault --history 60d"),
    ("database history", "vault"),
    ("database at", "vault --time 0s"),
    ("database restore", "vault --at 0s --dry-run"),
    ("database undrop", ""),
    ("database drop", "vault --yes"),
    ("store backup", "backup.db"),
    ("store doctor", ""),
    ("store purge", "notes"),
    ("store audit", ""),
    ("store migrate", "--to sqlite:moved"),
];

/// Commands whose output is no JSON, with arguments.
const REFUSED: &[(&str, &str)] = &[
    ("export", "notes"),
    ("log tail", "notes"),
    ("reader export", ""),
    ("file convert", "new.atom --to rss"),
    ("completions", "bash"),
    ("man", "sync"),
];

/// Commands of the reference that this test does not run: they need a server, a gateway, a terminal, a conflict or a
/// fresh directory.
const NOT_RUN: &[&str] = &[
    "resolve",
    "sync",
    "remote discover",
    "remote login",
    "remote logout",
    "database replicate",
    "log compact",
    "log snapshot",
    "reader sync",
    "file resolve",
    "store init",
    "store restore",
    "user password",
    "user token revoke",
    "vault trust-help",
    "serve",
    "gateway",
    "gateway status",
    "gateway open",
    "gateway subscribe",
    "gateway pause",
    "gateway resume",
    "gateway follow",
    "gateway unsubscribe",
    "gateway outbox",
    "gateway cancel",
    "gateway errors",
    "gateway retry",
    "gateway clear",
    "gateway refresh",
    "gateway offline",
    "gateway online",
    "gateway auto",
    "gateway ca show",
    "gateway ca create",
    "gateway ca trust-help",
    "gateway ca remove",
];

/// Names of commands in the reference, and whether they refuse.
fn documented() -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
    let (mut printed, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for line in REFERENCE.lines() {
        let Some((names, outcome)) =
            line.strip_prefix("| `").and_then(|line| line.split_once("` |"))
        else {
            continue;
        };
        let into = match outcome.contains("`--json` is refused") {
            true => &mut refused,
            false => &mut printed,
        };
        into.extend(names.split("`, `"));
    }
    (printed, refused)
}

#[test]
fn every_command_prints_json_or_refuses() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    place.write("feed.atom", &desk.ok(&["export", "notes", "--to", "atom"]));
    place.write("lines.jsonl", "{\"v\":1}\n");
    place.write("list.opml", "<opml version=\"2.0\"><head/><body/></opml>");
    std::fs::create_dir(place.path("www")).unwrap();
    for (name, arguments) in LINES {
        let words = name.split(' ').chain(arguments.split(' ')).filter(|word| !word.is_empty());
        let run = desk.run(&words.chain(["--json"]).collect::<Vec<_>>());
        assert_eq!(run.code, 0, "{name}: {}", run.err);
        let value: Result<Value, _> = serde_json::from_str(&run.out);
        assert!(
            value.is_ok_and(|value| value.is_object() || value.is_array()),
            "{name}: {}",
            run.out
        );
    }
    for (name, arguments) in REFUSED {
        let words = name.split(' ').chain(arguments.split(' ')).filter(|word| !word.is_empty());
        let run = desk.run(&words.chain(["--json"]).collect::<Vec<_>>());
        run.fails(2, "--json is not possible here: the output is ");
        assert_eq!(run.out, "", "{name}");
    }
    let (printed, refused) = documented();
    let tried = LINES.iter().map(|(name, _)| *name).chain(NOT_RUN.iter().copied());
    assert_eq!(tried.collect::<BTreeSet<_>>(), printed);
    assert_eq!(REFUSED.iter().map(|(name, _)| *name).collect::<BTreeSet<_>>(), refused);
}
