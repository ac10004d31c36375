use std::fmt::Write as _;
use std::path::Path;

use clap::CommandFactory as _;

use super::*;

/// Every help as it is printed, in one file, so that no flag and no word changes unnoticed.
/// `UPDATE_HELP=1 cargo test -p feedsync-cli` writes it anew.
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
