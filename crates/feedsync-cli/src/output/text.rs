//! Text from other sources, made safe for a terminal.

/// Formats text as one line. White space becomes single blanks; other control characters are replaced.
pub(crate) fn line(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words.join(" ").chars().map(shown).collect()
}

/// Formats text as several lines. Control characters other than line ends and tabs are replaced.
pub(crate) fn lines(text: &str) -> String {
    text.chars()
        .filter(|&character| character != '\r')
        .map(
            |character| if matches!(character, '\n' | '\t') { character } else { shown(character) },
        )
        .collect()
}

/// Cuts text to one line with at most this many characters.
pub(crate) fn short(text: &str, characters: usize) -> String {
    let text = line(text);
    if text.chars().count() <= characters {
        return text;
    }
    let mut short: String = text.chars().take(characters.saturating_sub(1)).collect();
    short.push('\u{2026}');
    short
}

/// Indents each line.
pub(crate) fn indented(text: &str, by: &str) -> String {
    lines(text).lines().map(|line| format!("{by}{line}\n")).collect()
}

/// Formats a count with its noun: `1 item`, `2 items`.
pub(crate) fn count(number: u64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// Replaces control characters and directional overrides, which could make a terminal show something else.
fn shown(character: char) -> char {
    let overrides = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if character.is_control() || overrides { '\u{fffd}' } else { character }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_cannot_control_the_terminal() {
        assert_eq!(line("a\x1b[31m\r\n b\u{202e}c"), "a\u{fffd}[31m b\u{fffd}c");
        assert_eq!(lines("a\x07\r\n\tb"), "a\u{fffd}\n\tb");
    }

    #[test]
    fn long_titles_are_cut_between_characters() {
        assert_eq!(short("äöüß", 4), "äöüß");
        assert_eq!(short("äöüßx", 4), "äöü\u{2026}");
    }
}
