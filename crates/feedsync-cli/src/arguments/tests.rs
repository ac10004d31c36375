use std::fmt::Write as _;
use std::path::Path;

use clap::CommandFactory as _;

use super::*;

/// Compares the help of every command with one reviewed file, so that no change of a flag or a word goes
/// unnoticed. `UPDATE_HELP=1 cargo test -p feedsync-cli` writes the file again.
#[test]
fn the_help_is_as_it_was_reviewed() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help.txt");
    let mut text = String::new();
    let mut command = Cli::command().term_width(100);
    command.build();
    describe(&mut command, "feedsync", &mut text);
    if std::env::var_os("UPDATE_HELP").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let reviewed = std::fs::read_to_string(&file).unwrap();
    let differs = text.lines().zip(reviewed.lines()).find(|(now, then)| now != then);
    assert!(
        text == reviewed,
        "the help differs from tests/help.txt, first at {differs:?}; UPDATE_HELP=1 writes it anew"
    );
}

fn describe(command: &mut clap::Command, name: &str, text: &mut String) {
    let help = command.render_long_help().to_string();
    writeln!(text, "==== {name} --help\n\n{}\n", help.trim_end()).unwrap();
    let names: Vec<_> =
        command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    for inner in names.iter().filter(|inner| *inner != "help") {
        let command = command.find_subcommand_mut(inner).unwrap();
        describe(command, &format!("{name} {inner}"), text);
    }
}

#[test]
fn the_table_of_commands_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn global_options_stand_before_or_after_the_command() {
    for line in [
        ["feedsync", "--json", "--data", "/x", "--endpoint", "desk", "list"],
        ["feedsync", "list", "--json", "--data", "/x", "--endpoint", "desk"],
    ] {
        let cli = Cli::try_parse_from(line).unwrap();
        assert!(cli.global.json);
        assert_eq!(cli.global.data.as_deref(), Some(Path::new("/x")));
        assert_eq!(cli.global.endpoint.unwrap().as_str(), "desk");
    }
}

#[test]
fn every_command_shows_examples() {
    fn check(command: &clap::Command) {
        for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
            if inner.has_subcommands() {
                check(inner);
            } else {
                let help = inner.get_after_help().map(ToString::to_string).unwrap_or_default();
                let call = format!("feedsync {}", command_name(command, inner));
                assert!(help.contains(&call), "{call}");
            }
        }
    }
    fn command_name(outer: &clap::Command, inner: &clap::Command) -> String {
        match outer.get_name() {
            "feedsync" => inner.get_name().to_owned(),
            outer => format!("{outer} {}", inner.get_name()),
        }
    }
    check(&Cli::command());
}

/// Command line that asks a running gateway, with all required arguments.
fn asking_a_gateway(command: &clap::Command) -> Vec<String> {
    // `retry` needs a number unless an option names the errors.
    let is_needed =
        |argument: &&clap::Arg| argument.is_required_set() || command.get_name() == "retry";
    let needed = command.get_positionals().filter(is_needed).map(|_| "7".to_owned());
    std::iter::once(command.get_name().to_owned()).chain(needed).collect()
}

#[test]
fn options_of_a_gateways_commands_stand_before_or_after_the_command() {
    let mut cli = Cli::command();
    cli.build();
    let gateway = cli.find_subcommand("gateway").unwrap();
    let commands = gateway.get_subcommands().filter(|inner| inner.get_name() != "help");
    let common = ["--data", "/x", "--json", "--control", "127.0.0.1:7"].map(str::to_owned);
    for command in commands {
        let asked = asking_a_gateway(command);
        let before = [&common[..], &asked].concat();
        let between = [&common[..2], &asked, &common[2..]].concat();
        let after = [&asked[..], &common].concat();
        for line in [before, between, after] {
            let line = [&["feedsync".to_owned(), "gateway".to_owned()], &line[..]].concat();
            let matches = Cli::command().try_get_matches_from(&line).unwrap();
            let (_, gateway) = matches.subcommand().unwrap();
            let (name, own) = gateway.subcommand().unwrap();
            assert_eq!(name, command.get_name());
            let control = own.get_one::<SocketAddr>("control").map(ToString::to_string);
            assert_eq!(control.as_deref(), Some("127.0.0.1:7"), "{line:?}");
            let cli = Cli::try_parse_from(&line).unwrap();
            assert!(cli.global.json);
            assert_eq!(cli.global.data.as_deref(), Some(Path::new("/x")), "{line:?}");
        }
        let line = [&["feedsync".to_owned(), "gateway".to_owned()], &asked[..]].concat();
        let matches = Cli::command().try_get_matches_from(line).unwrap();
        let own = matches.subcommand().unwrap().1.subcommand().unwrap().1;
        let control = own.get_one::<SocketAddr>("control");
        assert_eq!(control, None, "the gateway has written its address down");
    }
}

#[test]
fn options_that_run_a_gateway_are_refused_before_a_command() {
    for (option, value) in [
        ("--listen", Some("127.0.0.1:0")),
        ("--quota", Some("7")),
        ("--strict", None),
        ("--allow", Some("*")),
        ("--mount", Some("notes=http://example.org/")),
        ("--newsreader", Some("google=http://example.org/")),
        ("--allow-origin", Some("https://app.example.org")),
    ] {
        let line = ["feedsync", "gateway", option].into_iter().chain(value);
        assert!(Cli::try_parse_from(line.clone()).is_ok(), "{option}");
        let error = Cli::try_parse_from(line.chain(["status"])).unwrap_err();
        assert_eq!(error.kind(), clap::error::ErrorKind::ArgumentConflict);
        let text = error.to_string();
        assert!(text.contains(option) && text.contains("'status'"), "{text}");
    }
}
