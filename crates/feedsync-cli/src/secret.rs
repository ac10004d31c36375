//! Passwords and tokens that the user types without echo, or gives on standard input. They are never
//! arguments, which every user of the machine could read.

use std::io::{self, IsTerminal as _, Read as _};

use console::Term;

use crate::failure::Failure;

/// Maximum size of a secret, in bytes.
const MAX_BYTES: u64 = 4_096;

/// Reads a secret from the first line of standard input, or asks for it on the terminal.
pub(crate) fn ask(question: &str, from_input: bool, option: &str) -> Result<String, Failure> {
    let secret = if from_input { first_line()? } else { typed(question, option)? };
    if secret.is_empty() {
        return Err(Failure::usage("nothing was given"));
    }
    Ok(secret)
}

/// Reads a new secret. It is typed twice, since it is not shown.
pub(crate) fn ask_new(question: &str, from_input: bool, option: &str) -> Result<String, Failure> {
    let secret = ask(question, from_input, option)?;
    if !from_input && typed("Once more: ", option)? != secret {
        return Err(Failure::refused("the two entries differ"));
    }
    Ok(secret)
}

fn first_line() -> Result<String, Failure> {
    let failed = |error: io::Error| Failure::file("standard input", &error);
    let mut bytes = Vec::new();
    io::stdin().lock().take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::usage(format!("more than {MAX_BYTES} bytes on standard input")));
    }
    let text =
        String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not UTF-8"))?;
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn typed(question: &str, option: &str) -> Result<String, Failure> {
    let terminal = Term::stderr();
    if !io::stdin().is_terminal() || !terminal.is_term() {
        return Err(Failure::usage("there is no terminal to ask on")
            .hint(format!("give it on standard input: {option}")));
    }
    let asked = terminal.write_str(question).and_then(|()| terminal.read_secure_line());
    asked.map_err(|error| Failure::file("the terminal", &error))
}
