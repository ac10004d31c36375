//! The help of every command.

use std::fmt::Write as _;
use std::path::Path;

use clap::CommandFactory as _;
use feedsync_gateway::store::Quota;

use crate::arguments::Cli;
use crate::values::size;

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

/// Whether a default is a number of bytes or seconds that a person would write with a larger unit.
fn is_bare(default: &str) -> bool {
    let digits = default.strip_suffix(" s").unwrap_or(default).trim_matches('"');
    digits.parse::<u64>().is_ok_and(|number| number >= 10_000)
}

#[test]
fn defaults_are_written_with_units() {
    fn check(command: &clap::Command, count: &mut usize) {
        for argument in command.get_arguments() {
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            let written = help.split_once("[default: ").and_then(|(_, rest)| rest.split_once(']'));
            let values = argument.get_default_values().iter().filter_map(|value| value.to_str());
            for default in values.chain(written.map(|(default, _)| default)) {
                *count += 1;
                assert!(
                    !is_bare(default),
                    "{} {}: {default}",
                    command.get_name(),
                    argument.get_id()
                );
            }
        }
        command.get_subcommands().for_each(|inner| check(inner, count));
    }
    for bare in ["2147483648", "31536000 s", "\"10000\""] {
        assert!(is_bare(bare), "{bare}");
    }
    let mut count = 0;
    check(&Cli::command(), &mut count);
    assert!(count > 60, "{count}");
}

#[test]
fn default_quota_of_a_gateway_is_the_one_of_the_library() {
    let cli = Cli::command();
    let gateway = cli.find_subcommand("gateway").unwrap();
    let quota = gateway.get_arguments().find(|argument| argument.get_id() == "quota").unwrap();
    let default = quota.get_default_values()[0].to_str().unwrap();
    assert_eq!(size(default), Ok(Quota::default().0));
}

/// Adds the commands without commands of their own, and those that run without one, by their whole names.
fn add_commands(command: &clap::Command, name: &str, names: &mut Vec<String>) {
    for inner in command.get_subcommands() {
        let name = format!("{name} {}", inner.get_name()).trim_start().to_owned();
        if !inner.is_subcommand_required_set() {
            names.push(name.clone());
        }
        add_commands(inner, &name, names);
    }
}

#[test]
fn json_of_every_command_is_documented() {
    let reference = include_str!("../../../../../docs/json.md");
    let rows: Vec<_> = reference.lines().filter(|line| line.starts_with("| `")).collect();
    let mut names = Vec::new();
    add_commands(&Cli::command(), "", &mut names);
    assert!(names.len() > 80, "{names:?}");
    names.retain(|name| {
        let cell = format!("`{name}`");
        !rows.iter().any(|row| row.split(" | ").next().unwrap().contains(&cell))
    });
    assert!(names.is_empty(), "docs/json.md has no row for {names:?}");
}
