//! Behaviour of all commands: help, exit codes, pipes and colours.

use std::io::Read as _;
use std::process::Stdio;

use crate::support::{Hub, Run, TestDirectory};

#[test]
fn the_command_line_is_checked_before_anything_is_done() {
    let place = TestDirectory::new();
    for wrong in [
        &["nothing"][..],
        &["collection", "list", "--wrong"],
        &["--data"],
        &["collection", "create"],
    ] {
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
fn closed_pipe_is_not_an_error() {
    let place = TestDirectory::new();
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
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    assert!(!desk.ok(&["collection", "list"]).contains('\x1b'));
    let with = |name: &str| {
        let output = place
            .command(&["--data", "desk", "collection", "list"])
            .env(name, "1")
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(with("CLICOLOR_FORCE").contains('\x1b'));
    assert!(!with("NO_COLOR").contains('\x1b'));
}

#[test]
fn content_of_items_cannot_control_the_terminal() {
    let place = TestDirectory::new();
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
    let place = TestDirectory::new();
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

/// Every command with its subcommands, as `help` lists them.
fn commands(place: &TestDirectory, of: &[String]) -> Vec<Vec<String>> {
    let mut arguments: Vec<&str> = of.iter().map(String::as_str).collect();
    arguments.push("--help");
    let help = place.run(&arguments).out;
    let mut all = vec![of.to_vec()];
    let listed = help.split_once("\nCommands:\n").map_or("", |(_, list)| list);
    for line in listed.lines().take_while(|line| !line.is_empty()) {
        let name = line.split_whitespace().next().unwrap();
        if line.starts_with("  ") && !line.starts_with("   ") && name != "help" {
            all.extend(commands(place, &[of, &[name.to_owned()]].concat()));
        }
    }
    all
}

#[test]
fn help_shows_no_password_on_a_command_line() {
    let place = TestDirectory::new();
    let all = commands(&place, &[]);
    assert!(all.len() > 60, "{all:?}");
    for command in all {
        let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
        arguments.push("--help");
        let help = place.run(&arguments).out;
        for word in help.split_whitespace() {
            let authority =
                word.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap());
            let user = authority.split_once('@').map_or("", |(user, _)| user);
            assert!(!user.contains(':'), "{command:?}: {word}");
            assert!(!word.contains("PASSWORD="), "{command:?}: {word}");
        }
        assert!(!help.contains("--password "), "{command:?}");
    }
}

#[test]
fn advice_repeats_where_the_data_is() {
    let place = TestDirectory::new();
    let desk = place.desk("desk");
    for arguments in
        [&["ls", "none"][..], &["collection", "set", "notes", "keep=1"], &["show", "notes", "x"]]
    {
        let run = desk.run(arguments);
        assert!(run.err.contains("feedsync --data desk "), "{arguments:?}: {}", run.err);
    }
    place.run(&["--data", "a b", "store", "init"]).success(&["store", "init"]);
    let run = place.run(&["--data", "a b", "ls", "none"]);
    assert!(run.err.contains("feedsync --data 'a b' collection list"), "{}", run.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_called_a_full_disk() {
    let place = TestDirectory::new();
    place.desk("desk");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output =
        place.command(&["--data", "desk", "collection", "list"]).stdout(full).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("the disk is full: make room"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_below_the_store_is_called_a_full_disk() {
    let place = TestDirectory::new();
    let probe = ["-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"];
    let mounted = std::process::Command::new("unshare").args(probe).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("no disk can be made here: left out");
        return;
    }
    let text = "x".repeat(60_000);
    let entry = |number: u32| format!("<entry><id>urn:{number}</id><title>{text}</title></entry>");
    let entries: String = (0..150).map(entry).collect();
    let feed = format!("<feed xmlns=\"http://www.w3.org/2005/Atom\">{entries}</feed>");
    place.write("large.atom", &feed);
    let script = "mkdir small && mount -t tmpfs -o size=4m tmpfs small && chmod 700 small \
                  && \"$0\" --data small init && \"$0\" --data small create notes \
                  && \"$0\" --data small import notes large.atom";
    let program = env!("CARGO_BIN_EXE_feedsync");
    let mut command = std::process::Command::new("unshare");
    command.args(["-rm", "sh", "-c", script, program]).current_dir(place.path(""));
    let output = command.env("HOME", place.path("")).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("the disk is full: make room"), "{said}");
}

/// With `FEEDSYNC_LOG=debug` an operator sees each step of a synchronisation, under the span that names it.
#[test]
fn debug_log_shows_each_step_of_a_sync() {
    let place = TestDirectory::new();
    place.desk("hub");
    let hub = Hub::start(&place, "hub");
    let desk = place.desk("desk");
    desk.add("Milk", "two litres");
    let sync = |filter: &str| {
        let url = hub.notes();
        let mut command = place.command(&["--data", "desk", "sync", "notes", &url]);
        let run = Run::of(command.env("FEEDSYNC_LOG", filter).output().unwrap());
        assert_eq!(run.code, 0, "{}", run.err);
        run.err
    };
    let log = sync("debug");
    for step in
        ["the kind of the remote is known", "read a page", "sending changes", "synchronised"]
    {
        let line = log.lines().find(|line| line.contains(step));
        let line = line.unwrap_or_else(|| panic!("{step}: {log}"));
        assert!(line.contains("sync{") && line.contains("notes"), "{line}");
    }
    assert!(!log.contains("hyper"), "{log}");
    assert!(!sync("warn").contains("synchronised"));
    let refused =
        place.command(&["collection", "list"]).env("FEEDSYNC_LOG", "=[").output().unwrap();
    let refused = Run::of(refused);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("FEEDSYNC_LOG"), "{}", refused.err);
}
