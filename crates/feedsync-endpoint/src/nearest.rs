//! Suggestions for misspelled names.

/// Returns the name that is nearest to a text, or `None` if no name is near. A name without its section is
/// near. So is a name with a few letters more, fewer or in another order.
pub fn nearest<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let plain = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    // A very long text would make the comparison slow.
    let written = plain(written.get(..written.len().min(64)).unwrap_or_default());
    let far = |name: &str| {
        let name = plain(name);
        let part = name.rsplit('.').next().unwrap_or(&name);
        let is_part = part == written;
        // The name of a section is the beginning of too many names.
        let is_beginning = written.len() >= 3 && part.starts_with(&written);
        if is_part || is_beginning { 0 } else { distance(&written, &name) }
    };
    let near = names.into_iter().map(|name| (far(name), name)).min_by_key(|(far, _)| *far);
    near.filter(|(far, name)| *far <= name.len() / 3).map(|(_, name)| name)
}

/// Number of letters to insert, remove, replace or swap with the next one, to make one text of the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<_>, Vec<_>) = (one.chars().collect(), other.chars().collect());
    // Three rows of the table of distances between the beginnings of both.
    let mut last: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.iter().enumerate() {
        let mut next = vec![at + 1];
        for (column, wanted) in other.iter().enumerate() {
            let replaced = row[column] + usize::from(letter != wanted);
            let mut least = replaced.min(row[column + 1] + 1).min(next[column] + 1);
            if at > 0 && column > 0 && *letter == other[column - 1] && one[at - 1] == *wanted {
                least = least.min(last[column - 1] + 1);
            }
            next.push(least);
        }
        last = std::mem::replace(&mut row, next);
    }
    row[other.len()]
}

/// Returns `; did you mean NAME?` for the nearest name, or an empty text if no name is near.
pub fn did_you_mean<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    nearest(written, names).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_letters_that_differ() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "abc", 0),
            ("abc", "acb", 1),
            ("abcd", "badc", 2),
            ("kitten", "sitting", 3),
            ("ä", "a", 1),
        ] {
            assert_eq!(distance(one, other), expected, "{one} {other}");
            assert_eq!(distance(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn nearest_name_is_one_that_somebody_may_have_meant() {
        let names = ["keep.age", "keep.count", "keep_stale_edits", "public", "expires"];
        for (written, meant) in [
            ("keep.ages", Some("keep.age")),
            ("keepage", Some("keep.age")),
            ("age", Some("keep.age")),
            ("pub", Some("public")),
            ("pubilc", Some("public")),
            ("Keep-Stale-Edits", Some("keep_stale_edits")),
            ("expire", Some("expires")),
            ("colour", None),
            ("keep.", None),
            ("", None),
            ("x", None),
            (&*"ü".repeat(500), None),
        ] {
            assert_eq!(nearest(written, names), meant, "{written}");
        }
        assert_eq!(did_you_mean("pub", names), "; did you mean public?");
        assert_eq!(did_you_mean("colour", names), "");
    }
}
