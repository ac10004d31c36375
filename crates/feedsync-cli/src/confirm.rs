//! Confirmation before something is destroyed.

use std::io::{self, BufRead as _, IsTerminal as _};

use console::Term;

use crate::failure::Failure;

/// Asks whether to go on, and fails without a terminal. `loss` describes what is lost; `yes` skips the
/// question.
pub(crate) fn confirm(loss: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let terminal = Term::stderr();
    if !io::stdin().is_terminal() || !terminal.is_term() {
        return Err(Failure::usage(format!("{loss}; there is no terminal to ask on"))
            .hint("to do it all the same: --yes"));
    }
    let failed = |error: io::Error| Failure::file("the terminal", &error);
    terminal.write_str(&format!("{loss}. Continue? [y/N] ")).map_err(failed)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(failed)?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::refused("nothing was changed")),
    }
}
