//! Examples in the help of every command.

use std::iter::Peekable;
use std::str::Chars;

use clap::{Command, CommandFactory as _, Parser as _};

use crate::arguments::Cli;

/// Words of the calls of the program in a line of a shell, without redirections.
fn calls(line: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    read(&mut line.chars().peekable(), &mut calls);
    calls.retain(|call: &Vec<String>| call.first().is_some_and(|word| word == "feedsync"));
    calls
}

/// Reads commands up to the end, or to the parenthesis that closes a substitution.
fn read(line: &mut Peekable<Chars<'_>>, calls: &mut Vec<Vec<String>>) {
    let (mut call, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut is_file = false;
    let mut end_word = |word: &mut Option<String>, call: &mut Vec<String>| {
        if let Some(word) = word.take()
            && !std::mem::take(&mut is_file)
        {
            match word.as_str() {
                ">" | "<" => is_file = true,
                _ => call.push(word),
            }
        }
    };
    while let Some(character) = line.next() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(character),
            (_, '$') if line.next_if_eq(&'(').is_some() => {
                read(line, calls);
                word.get_or_insert_default().push_str("substituted");
            }
            (Some(_), _) => word.get_or_insert_default().push(character),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ')') => break,
            (None, '|' | '&') => {
                end_word(&mut word, &mut call);
                calls.push(std::mem::take(&mut call));
            }
            (None, ' ') => end_word(&mut word, &mut call),
            (None, _) => word.get_or_insert_default().push(character),
        }
    }
    end_word(&mut word, &mut call);
    calls.push(call);
}

/// Lines of examples in the help of a command.
fn examples(command: &Command) -> Vec<String> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let after = help.split_once("Examples:\n").map_or("", |(_, after)| after);
    let lines = after.lines().take_while(|line| line.is_empty() || line.starts_with("  "));
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// Runs a check for each command with the words of its name.
fn for_each(command: &Command, name: &str, check: &mut impl FnMut(&Command, &str)) {
    check(command, name);
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        for_each(inner, &format!("{name} {}", inner.get_name()), check);
    }
}

#[test]
fn lines_of_a_shell_are_split_into_calls() {
    let words = |line: &str| calls(line).iter().map(|call| call.join("|")).collect::<Vec<_>>();
    assert_eq!(words("feedsync ls 'a b' | jq .  # all"), ["feedsync|ls|a b"]);
    assert_eq!(
        words("id=$(feedsync add x) && feedsync show x $id < f > g"),
        ["feedsync|add|x", "feedsync|show|x|$id"]
    );
    assert_eq!(words("xdg-open \"$(feedsync gateway open)\""), ["feedsync|gateway|open"]);
    assert_eq!(words("curl http://127.0.0.1/#feedsync"), [""; 0]);
}

#[test]
fn every_command_has_an_example_of_itself() {
    let mut without = Vec::new();
    let mut count = 0;
    for_each(&Cli::command(), "feedsync", &mut |command, name| {
        let words: Vec<_> = name.split(' ').collect();
        // Global options may stand between the program and the command.
        let is_of_it = |call: &Vec<String>| {
            words.len() == 1 || call.windows(words.len() - 1).any(|part| *part == words[1..])
        };
        count += 1;
        if !examples(command).iter().flat_map(|line| calls(line)).any(|call| is_of_it(&call)) {
            without.push(name.to_owned());
        }
    });
    assert!(without.is_empty(), "commands without an example: {without:?}");
    assert!(count > 90, "{count}");
}

#[test]
fn examples_in_the_help_parse() {
    let mut faults = Vec::new();
    for_each(&Cli::command(), "feedsync", &mut |command, name| {
        for call in examples(command).iter().flat_map(|line| calls(line)) {
            if let Err(error) = Cli::try_parse_from(&call) {
                faults.push(format!("{name}: {}: {error}", call.join(" ")));
            }
        }
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
