//! Comparison of two texts, in which the words that only one of them has are marked.

use std::time::Instant;

use similar::{Algorithm, ChangeTag, TextDiff};

/// A run of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Whether the other side lacks it.
    pub marked: bool,
    /// The words.
    pub text: String,
}

/// One side.
pub type Side = Vec<Piece>;

/// Compares two texts. After the deadline the marked pieces may be larger than needed, never
/// smaller.
pub fn sides(left: &str, right: &str, deadline: Instant) -> (Side, Side) {
    let mut configuration = TextDiff::configure();
    let diff = configuration.algorithm(Algorithm::Myers).deadline(deadline).diff_words(left, right);
    let (mut left, mut right) = (Side::new(), Side::new());
    for change in diff.iter_all_changes() {
        let word = change.value();
        match change.tag() {
            ChangeTag::Equal => {
                push(&mut left, false, word);
                push(&mut right, false, word);
            }
            ChangeTag::Delete => push(&mut left, true, word),
            ChangeTag::Insert => push(&mut right, true, word),
        }
    }
    (joined(left), joined(right))
}

fn push(side: &mut Side, marked: bool, word: &str) {
    match side.last_mut() {
        Some(last) if last.marked == marked => last.text.push_str(word),
        _ => side.push(Piece { marked, text: word.to_owned() }),
    }
}

/// Also marks the space between two marked words, to mark whole phrases.
fn joined(side: Side) -> Side {
    let mut joined = Side::new();
    let mut pieces = side.into_iter().peekable();
    while let Some(piece) = pieces.next() {
        let after = joined.last().is_some_and(|last: &Piece| last.marked);
        let before = pieces.peek().is_some_and(|next| next.marked);
        let line_end = piece.text.contains('\n');
        let blank = !line_end && piece.text.trim().is_empty();
        push(&mut joined, piece.marked || (after && before && blank), &piece.text);
    }
    joined
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn drawn(side: &Side) -> String {
        let piece = |piece: &Piece| match piece.marked {
            true => format!("[{}]", piece.text),
            false => piece.text.clone(),
        };
        side.iter().map(piece).collect()
    }

    #[test]
    fn words_that_differ_are_marked_on_their_side() {
        let far = Instant::now() + Duration::from_secs(60);
        let (left, right) = sides("buy two litres of milk", "buy three cans of oat milk", far);
        assert_eq!(drawn(&left), "buy [two litres] of milk");
        assert_eq!(drawn(&right), "buy [three cans] of [oat ]milk");
        let (left, right) = sides("same", "same", far);
        assert_eq!((drawn(&left), drawn(&right)), ("same".to_owned(), "same".to_owned()));
        let (left, right) = sides("", "new", far);
        assert_eq!((drawn(&left), drawn(&right)), (String::new(), "[new]".to_owned()));
    }

    #[test]
    fn texts_that_have_nothing_in_common_end_at_the_deadline() {
        let words = |seed: u64| -> String {
            (0..20_000_u64).map(|n| format!("{} ", n.wrapping_mul(seed) % 9_973)).collect()
        };
        let (one, two) = (words(7_919), words(104_729));
        let began = Instant::now();
        let (left, right) = sides(&one, &two, began + Duration::from_millis(50));
        assert!(began.elapsed() < Duration::from_secs(5));
        let text = |side: &Side| side.iter().map(|piece| &*piece.text).collect::<String>();
        assert_eq!((text(&left), text(&right)), (one, two));
    }
}
