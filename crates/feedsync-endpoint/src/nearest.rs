//! Suggestions for misspelled names.

/// Returns the name that is nearest to a text, or `None` if no name is near. A name without its section is
/// near. So is a name with a few letters more, fewer or in another order.
pub fn nearest<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let plain = |text: &str| text.to_ascii_lowercase().replace('-', "_");
    // A very long text would make the comparison slow.
    let written = plain(written.get(..written.len().min(64)).unwrap_or_default());
    let distance = |name: &str| {
        let name = plain(name);
        let part = name.rsplit('.').next().unwrap_or(&name);
        let is_part = part == written;
        // The name of a section is the beginning of too many names.
        let is_beginning = written.len() >= 3 && part.starts_with(&written);
        if is_part || is_beginning { 0 } else { strsim::damerau_levenshtein(&written, &name) }
    };
    let near = names.into_iter().map(|name| (distance(name), name)).min_by_key(|(far, _)| *far);
    near.filter(|(far, name)| *far <= name.len() / 3).map(|(_, name)| name)
}

/// Returns `; did you mean NAME?` for the nearest name, or an empty text if no name is near.
pub fn did_you_mean<'n>(written: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    nearest(written, names).map(|name| format!("; did you mean {name}?")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

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
