//! Old names of commands, which work as the new ones do for one release.

use crate::support::TestDirectory;

/// Old name, new name, and arguments for both. Running a line twice gives the same result.
const LINES: &[(&str, &str, &str)] = &[
    ("init", "store init", ""),
    ("create", "collection create", "notes"),
    ("list", "collection list", "--json"),
    ("rename", "collection rename", "nots other"),
    ("drop", "collection drop", "nots"),
    ("undrop", "collection undrop", ""),
    ("set", "collection set", "notes public=true"),
    ("settings", "collection settings", "notes"),
    ("publish", "collection publish", "nots --directory www --url https://example.org/"),
    ("grant", "collection grant", "notes anna editor"),
    ("revoke", "collection revoke", "notes anna"),
    ("grants", "collection grants", ""),
    ("move", "edit", "notes milk --under oats"),
    ("move", "edit --only-move", "notes milk"),
    ("move", "edit --only-move", "notes milk --top --title x"),
    ("recover", "undelete --discarded", "notes"),
    ("subscribe", "remote subscribe", "notes feed.xml"),
    ("unsubscribe", "remote unsubscribe", "notes 7"),
    ("follow", "remote discover", "notes"),
    ("login", "remote login", "https://anna@hub.example"),
    ("logout", "remote logout", "https://hub.example"),
    ("logins", "remote logins", "--json"),
    ("replicate", "database replicate", "a b"),
    ("backup", "store backup", "missing/file"),
    ("restore", "store restore", "--from missing"),
    ("migrate", "store migrate", "--to sqlite:desk"),
    ("doctor", "store doctor", "--json"),
    ("purge", "store purge", "notes"),
    ("audit", "store audit", "--json"),
    ("token list", "user token list", ""),
    ("token create", "user token create", "--user anna"),
    ("token revoke", "user token revoke", "4f2a"),
    ("merge", "file merge", "feed.atom feed.atom -o merged.atom --json"),
    ("validate", "file validate", "feed.atom"),
    ("convert", "file convert", "feed.atom --to json"),
    ("file move", "file edit", "feed.atom milk --top"),
    ("log sync", "log pull", "nots copy"),
    ("reader move", "reader relocate", "a.example https://b.example/x"),
    ("gateway drop", "gateway cancel", "7 --yes"),
    ("copy", "add --copy=oats", "notes"),
];

#[test]
fn old_names_do_what_the_new_ones_do_and_a_note_names_them() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    desk.ok(&["add", "notes", "--title", "Milk", "--id", "milk"]);
    desk.ok(&["export", "notes", "--to", "atom", "--output", "feed.atom"]);
    for (old, new, arguments) in LINES {
        let words = |name: &str| -> Vec<String> {
            let mut words: Vec<_> = name.split(' ').chain(arguments.split(' ')).collect();
            words.retain(|word| !word.is_empty());
            if name == "copy" {
                words.push("oats");
            }
            words.into_iter().map(str::to_owned).collect()
        };
        let run =
            |words: &[String]| desk.run(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let (before, after) = (run(&words(old)), run(&words(new)));
        assert_eq!((before.code, &before.out), (after.code, &after.out), "{old}: {before:?}");
        let (note, rest) = before.err.split_once('\n').unwrap();
        let (old_name, new_name) = match old.starts_with("token ") {
            true => ("token", "user token"),
            false => (*old, new.trim_end_matches(" --only-move").trim_end_matches("=oats")),
        };
        let expected = format!(
            "note: `feedsync {old_name}` is now `feedsync {new_name}`; the next release drops the \
             old name"
        );
        assert_eq!(note, expected);
        assert_eq!(rest, after.err, "{old}");
        assert!(!after.err.contains("is now"), "{new}: {}", after.err);
    }
}
