mod examples;
mod help;

use std::net::SocketAddr;
use std::path::Path;

use clap::CommandFactory as _;

use super::*;

/// Maximum number of commands that `feedsync --help` lists besides `help`.
const MAX_COMMANDS: usize = 25;

#[test]
fn the_table_of_commands_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn global_options_stand_before_or_after_the_command() {
    for line in [
        ["feedsync", "--json", "--data", "/x", "--endpoint", "desk", "status"],
        ["feedsync", "status", "--json", "--data", "/x", "--endpoint", "desk"],
    ] {
        let cli = Cli::try_parse_from(line).unwrap();
        assert!(cli.global.json);
        assert_eq!(cli.global.data.as_deref(), Some(Path::new("/x")));
        assert_eq!(cli.global.endpoint.unwrap().as_str(), "desk");
    }
}

#[test]
fn the_program_lists_few_commands() {
    let mut cli = Cli::command();
    cli.build();
    let shown: Vec<_> = cli
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name())
        .collect();
    assert!(shown.contains(&"help"), "{shown:?}");
    assert!(shown.len() - 1 <= MAX_COMMANDS, "{}: {shown:?}", shown.len());
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
    // Commands of a group, such as `ca`, ask no gateway.
    let asks = |inner: &&clap::Command| inner.get_name() != "help" && !inner.has_subcommands();
    let commands = gateway.get_subcommands().filter(asks);
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
