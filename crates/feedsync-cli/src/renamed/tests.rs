use clap::{CommandFactory as _, Parser as _};

use super::*;
use crate::arguments::Cli;

fn rewritten(line: &str) -> (String, Option<String>) {
    let arguments = line.split(' ').map(OsString::from).collect();
    let today = today(&Cli::command(), arguments);
    let words: Vec<_> =
        today.arguments.iter().map(|word| word.to_str().unwrap().to_owned()).collect();
    (words.join(" "), today.renamed.map(Renamed::note))
}

#[test]
fn old_names_are_no_commands_and_new_names_are() {
    let mut cli = Cli::command();
    cli.build();
    let find = |words: &[&str]| {
        words.iter().try_fold(&cli, |command, word| command.find_subcommand(word)).is_some()
    };
    for renamed in RENAMED {
        assert!(!find(renamed.old), "{:?}", renamed.old);
        let new: Vec<_> =
            renamed.new.iter().copied().filter(|word| !word.starts_with("--")).collect();
        assert!(find(&new), "{:?}", renamed.new);
    }
}

#[test]
fn old_names_are_replaced_wherever_options_stand() {
    for (old, new) in [
        ("feedsync create notes", "feedsync collection create notes"),
        ("feedsync --data x --json list", "feedsync --data x --json collection list"),
        ("feedsync --data=x drop notes -y", "feedsync --data=x collection drop notes -y"),
        ("feedsync --store init init", "feedsync --store init store init"),
        ("feedsync token --json list", "feedsync user token --json list"),
        ("feedsync move feeds a --top", "feedsync edit --only-move feeds a --top"),
        ("feedsync copy notes 4f2a", "feedsync add --copy=4f2a notes"),
        ("feedsync copy --json notes -- -4f", "feedsync add --copy=-4f --json notes --"),
        ("feedsync copy notes", "feedsync add notes"),
        ("feedsync recover notes x", "feedsync undelete --discarded notes x"),
        ("feedsync log --json sync a b", "feedsync log --json pull a b"),
        (
            "feedsync gateway --control 127.0.0.1:7 drop 3",
            "feedsync gateway --control 127.0.0.1:7 cancel 3",
        ),
        ("feedsync help create", "feedsync help collection create"),
        ("feedsync help recover", "feedsync help undelete"),
        ("feedsync man log sync", "feedsync man log pull"),
    ] {
        let (line, note) = rewritten(old);
        assert_eq!(line, new);
        assert!(note.is_some(), "{old}");
    }
}

#[test]
fn names_of_today_and_values_stay() {
    for line in [
        "feedsync",
        "feedsync --data",
        "feedsync --data create ls notes",
        "feedsync ls set",
        "feedsync sync token",
        "feedsync add notes --title create",
        "feedsync collection create list",
        "feedsync gateway subscribe https://example.org/",
        "feedsync log create drop",
        "feedsync -- create",
        "feedsync help",
    ] {
        assert_eq!(rewritten(line), (line.to_owned(), None));
    }
}

/// Arguments of the commands with old names. A command has several lines if one does not show all of it.
const LINES: &[(&str, &str)] = &[
    ("init", ""),
    ("create", "notes --title T --format rss --set public=true"),
    ("list", ""),
    ("rename", "notes shopping"),
    ("drop", "notes --yes --keep 12h"),
    ("undrop", "notes --as other"),
    ("set", "notes public=true"),
    ("settings", "notes"),
    ("publish", "notes -d www --url https://example.org/ --to rss,atom --sse --watch"),
    ("grant", "notes anna editor"),
    ("revoke", "notes anna"),
    ("grants", "notes"),
    ("move", "feeds a --under b"),
    ("move", "feeds a --top"),
    ("copy", "notes 4f2a"),
    ("recover", "notes 4f2a"),
    ("recover", "notes"),
    ("subscribe", "news https://example.org/ --every 1h --plain --unlisted"),
    ("unsubscribe", "news 2"),
    ("follow", "news --yes"),
    ("login", "https://hub.example --user anna --stdin"),
    ("logout", "https://hub.example"),
    ("logins", ""),
    ("replicate", "a b --create --continuous --from-start"),
    ("backup", "file"),
    ("restore", "--from file"),
    ("migrate", "--from sqlite:a --to sqlite:b"),
    ("doctor", ""),
    ("purge", "notes"),
    ("audit", "--user anna --collection notes --limit 7"),
    ("token create", "--user anna --label x --role reader --collection notes --expires 90d"),
    ("token list", "--user anna"),
    ("token revoke", "4f2a"),
    ("merge", "a b -o c --report json"),
    ("validate", "a b"),
    ("convert", "a --to json -o b"),
    ("file move", "a.opml x --under y --by ann"),
    ("file move", "a.opml x --top"),
    ("log sync", "a b"),
    ("reader move", "https://a.example/ https://b.example/"),
    ("gateway drop", "3 --yes --control 127.0.0.1:7"),
];

#[test]
fn command_lines_with_old_names_parse_as_those_with_new_names() {
    let of = |renamed: &Renamed, name: &str| {
        name.split(' ').take(renamed.old.len()).eq(renamed.old.iter().copied())
    };
    for renamed in RENAMED {
        assert!(LINES.iter().any(|(name, _)| of(renamed, name)), "no line for {:?}", renamed.old);
    }
    for (name, arguments) in LINES {
        let line = format!("feedsync {name} {arguments}").trim_end().to_owned();
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let renamed = RENAMED.iter().find(|renamed| of(renamed, name)).unwrap();
        let mut new: Vec<&str> = vec!["feedsync"];
        new.extend(renamed.new);
        new.extend(renamed.only);
        new.extend(name.split(' ').skip(renamed.old.len()));
        let mut rest: Vec<&str> = arguments.split(' ').filter(|word| !word.is_empty()).collect();
        if let Some(option) = renamed.second {
            rest.insert(1, option);
        }
        new.extend(rest);
        let old = Cli::read(words).unwrap_or_else(|error| panic!("{line}: {error}"));
        let new = Cli::try_parse_from(&new).unwrap_or_else(|error| panic!("{new:?}: {error}"));
        assert_eq!(format!("{old:?}"), format!("{new:?}"), "{line}");
    }
}
