use super::*;

fn fault(text: &str) -> (usize, String) {
    let error = check(text, 8).unwrap_err();
    (error.offset, error.message)
}

#[test]
fn the_grammar_of_json_is_accepted() {
    for text in [
        "0",
        " -1.5e+10 ",
        "\"\"",
        "[]",
        "{}",
        "[ ]",
        "{ }",
        "[1,[2,{}],{\"a\":[null,true,false]}]",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00\"",
        "{\"a\":{\"a\":1},\"b\":{\"a\":1}}",
    ] {
        assert_eq!(check(text, 8), Ok(vec![]), "{text}");
    }
}

#[test]
fn text_that_is_not_json_is_refused_with_its_offset() {
    for (text, offset) in [
        ("", 0),
        ("[1,]", 3),
        ("[1 2]", 3),
        ("{\"a\":1,}", 7),
        ("{\"a\" 1}", 5),
        ("{a:1}", 1),
        ("{'a':1}", 1),
        ("01", 1),
        ("1.", 2),
        ("-", 1),
        ("1e", 2),
        ("NaN", 0),
        ("-Infinity", 1),
        ("nul", 0),
        ("nulls", 4),
        ("\"a", 0),
        ("\"\n\"", 1),
        ("\"\\x\"", 2),
        ("\"\\u12g4\"", 2),
        ("1 1", 2),
        ("[1}", 2),
        ("/* */ 1", 0),
    ] {
        assert_eq!(fault(text).0, offset, "{text}: {}", fault(text).1);
    }
}

#[test]
fn messages_say_what_was_expected_and_what_was_found() {
    for (text, message) in [
        ("01", "a number has no leading zero"),
        ("-012", "a number has no leading zero"),
        ("1.", "expected a digit, found the end of the document"),
        ("-x", "expected a digit, found 'x'"),
        ("1e+", "expected a digit, found the end of the document"),
        ("nul", "expected a value, found 'n'"),
        ("nulls", "expected a value, found 's'"),
        ("{a:1}", "expected a member name in double quotes, found 'a'"),
        ("{\"a\" 1}", "expected ':', found '1'"),
        ("\"a", "this string has no end"),
        ("\"\n\"", "expected an escaped control character, found '\\n'"),
        ("\"\\x\"", "expected one of \" \\ / b f n r t u after '\\', found 'x'"),
        ("\"\\u12g4\"", "'\\u' needs four hexadecimal digits"),
    ] {
        assert_eq!(fault(text).1, message, "{text}");
    }
}

/// The error is at the first control character, for strings of any length, whether or not they are terminated.
#[test]
fn controls_are_found_in_long_strings() {
    let plain = "\u{e4}plain ".repeat(20);
    for (text, offset) in [
        (format!("\"{plain}\n{plain}\u{1}\""), plain.len() + 1),
        (format!("\"{plain}\\n{plain}\n"), 2 * plain.len() + 3),
        (format!("\"{plain}\u{1f}"), plain.len() + 1),
        (format!("\"{plain}"), 0),
    ] {
        assert_eq!(fault(&text).0, offset, "{text}");
    }
    assert_eq!(check(&format!("\"{plain}\u{7f}\""), 8), Ok(vec![]));
}

#[test]
fn the_grammar_alone_is_checked_alike() {
    for (text, is_right) in [
        ("{\"a\":1,\"a\":\"\\ud83d\"}", true),
        ("[{\"a\":{}}]", true),
        ("{\"a\":1,}", false),
        ("[[[", false),
    ] {
        let found = check_grammar(text, 8);
        assert_eq!((found.is_ok(), found.err()), (is_right, check(text, 8).err()), "{text}");
    }
    assert!(check_grammar("[[]]", 1).is_err());
}

#[test]
fn depth_is_bounded_and_costs_no_stack() {
    assert!(check("[[[[[[[[]]]]]]]]", 8).is_ok());
    assert_eq!(fault("[[[[[[[[[]]]]]]]]]"), (8, "nested deeper than 8 levels".into()));
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    assert!(check(&deep, usize::MAX).is_ok());
}

#[test]
fn duplicate_names_are_found_however_they_are_spelt() {
    assert_eq!(check("{\"a\":1,\"\\u0061\":2}", 8), Ok(vec![(7, Flaw::DuplicateName)]));
    assert!(Flaw::DuplicateName.message().contains("already has a member"));
    assert!(Flaw::LoneSurrogate.message().contains("surrogate"));
    assert_eq!(
        check("[{\"b\":{\"c\":1,\"c\":1},\"b\":1}]", 8),
        Ok(vec![(13, Flaw::DuplicateName), (20, Flaw::DuplicateName)])
    );
}

#[test]
fn lone_surrogates_are_found() {
    for text in ["\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83d\\u0041\"", "\"\\ud83dx\""] {
        assert_eq!(check(text, 8), Ok(vec![(1, Flaw::LoneSurrogate)]), "{text}");
    }
}

#[test]
fn typographic_quotes_are_named() {
    let (offset, message) = fault("{\n\u{201c}title\u{201d}: 1}");
    assert_eq!(offset, 2);
    assert!(message.starts_with("typographic quotation mark \u{201c}"), "{message}");
}
