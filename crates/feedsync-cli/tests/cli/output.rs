//! What holds for all commands: help, exit codes, pipes, colours.

use std::io::Read as _;
use std::process::Stdio;

use crate::support::Place;

#[test]
fn the_command_line_is_checked_before_anything_is_done() {
    let place = Place::new();
    for wrong in [&["nothing"][..], &["list", "--wrong"], &["--data"], &["create"]] {
        assert_eq!(place.run(wrong).code, 2, "{wrong:?}");
    }
    assert_eq!(place.run(&["--version"]).code, 0);
    let help = place.run(&["--help"]);
    assert_eq!(help.code, 0);
    for code in ["Exit codes:", "  4  the network"] {
        assert!(help.out.contains(code), "{}", help.out);
    }
    let documented = include_str!("../../../../docs/cli.md");
    for code in 0..=5 {
        assert!(help.out.contains(&format!("\n  {code}  ")), "{code}");
        assert!(documented.contains(&format!("| {code} |")), "{code}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_fault() {
    let place = Place::new();
    let desk = place.desk("desk");
    let entry =
        |number| format!("<item><guid>{number}</guid><title>{}</title></item>", "x".repeat(500));
    let items: String = (0..2_000).map(entry).collect();
    place.write("feed.rss", &format!("<rss version=\"2.0\"><channel>{items}</channel></rss>"));
    desk.ok(&["import", "notes", "feed.rss"]);
    for arguments in [&["ls", "notes", "--json"][..], &["export", "notes"]] {
        let mut all = vec!["--data", "desk"];
        all.extend(arguments);
        let mut command = place.command(&all);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
    }
}

#[test]
fn colours_are_for_terminals_and_can_be_forced() {
    let place = Place::new();
    let desk = place.desk("desk");
    assert!(!desk.ok(&["list"]).contains('\x1b'));
    let with = |name: &str| {
        let output = place.command(&["--data", "desk", "list"]).env(name, "1").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(with("CLICOLOR_FORCE").contains('\x1b'));
    assert!(!with("NO_COLOR").contains('\x1b'));
}

#[test]
fn what_others_wrote_cannot_speak_to_the_terminal() {
    let place = Place::new();
    let desk = place.desk("desk");
    let run = place.run_with(
        &["--data", "desk", "add", "notes", "--file", "-"],
        "{\"title\":\"\\u001b]0;owned\\u0007\",\"content\":\"a\\u001b[2Jb\"}",
    );
    assert_eq!(run.code, 0, "{}", run.err);
    let id = run.out.trim_end();
    for arguments in [&["ls", "notes"][..], &["show", "notes", id]] {
        let shown = desk.ok(arguments);
        assert!(!shown.contains(['\x1b', '\x07']), "{shown:?}");
    }
    assert_eq!(desk.json(&["ls", "notes"])[0]["content"], "a\u{1b}[2Jb");
}

#[test]
fn completions_and_manual_pages_are_printed() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = place.run(&["completions", shell]);
        assert!(script.code == 0 && script.out.contains("conflicts"), "{shell}");
    }
    let page = place.run(&["man"]);
    assert!(page.code == 0 && page.out.contains(".TH feedsync 1"), "{}", page.out);
    let page = place.run(&["man", "remote", "list"]);
    assert!(page.code == 0 && page.out.contains("List the remotes"), "{}", page.out);
    place.run(&["man", "nothing"]).fails(2, "there is no command nothing");
}
