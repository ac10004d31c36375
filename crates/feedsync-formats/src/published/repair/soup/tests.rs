use super::*;

/// Formats a piece as a line with its type and its content.
fn shown(piece: &Piece<'_>) -> String {
    match piece {
        Piece::Text(text) => format!("text {text}"),
        Piece::CData(text) => format!("section {text}"),
        Piece::Other => "other".to_owned(),
        Piece::CutOff => "cut off".to_owned(),
        Piece::End(name) => format!("end {name}"),
        Piece::Start(tag) => {
            let attributes = tag.attributes.iter().map(|(name, value)| format!(" {name}={value}"));
            let end = if tag.is_empty { " /" } else { "" };
            format!("start {}{}{end}", tag.name, attributes.collect::<String>())
        }
    }
}

/// Returns the pieces of a text, each with its source text.
fn pieces(text: &str) -> Vec<(&str, String)> {
    let mut soup = Soup::new(text, 0);
    let mut found = Vec::new();
    loop {
        let start = soup.at();
        let Some(piece) = soup.next() else { break };
        found.push((&text[start..soup.at()], shown(&piece)));
    }
    assert_eq!(soup.at(), text.len(), "{text}");
    found
}

#[track_caller]
fn assert_pieces(text: &str, expected: &[(&str, &str)]) {
    let found = pieces(text);
    let found: Vec<_> = found.iter().map(|(part, piece)| (*part, &**piece)).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn characters_end_at_markup_and_a_less_than_sign_outside_a_tag_is_a_character() {
    assert_pieces("", &[]);
    assert_pieces("a&b;", &[("a&b;", "text a&b;")]);
    assert_pieces("a<b>c", &[("a", "text a"), ("<b>", "start b"), ("c", "text c")]);
    assert_pieces("<", &[("<", "text <")]);
    assert_pieces("< b", &[("< b", "text < b")]);
    assert_pieces("<<b>", &[("<", "text <"), ("<b>", "start b")]);
    assert_pieces("<3<b>", &[("<3", "text <3"), ("<b>", "start b")]);
    assert_pieces("</ b>c", &[("</ b>c", "text </ b>c")]);
    assert_pieces("</<b>", &[("</", "text </"), ("<b>", "start b")]);
}

#[test]
fn instructions_comments_and_declarations_go_up_to_their_ends() {
    for text in [
        "<?x?>",
        "<?x y='>'?>",
        // The end delimiter may not overlap the start delimiter.
        "<?>y?>",
        "<!---->",
        "<!--a-->",
        "<!-->a-->",
        "<!-- <b> ]]> ?> -->",
        "<!x>",
        "<!DOCTYPE rss>",
        "<!DOCTYPE rss [<!ENTITY a 'b'>]>",
        "<!DOCTYPE rss[]>",
    ] {
        let two = format!("a{text}b{text}c");
        let expected =
            [("a", "text a"), (text, "other"), ("b", "text b"), (text, "other"), ("c", "text c")];
        assert_pieces(&two, &expected);
        let cut = &two[..two.len() - 2];
        let rest = &text[..text.len() - 1];
        let expected = [expected[0], expected[1], expected[2], (rest, "cut off")];
        assert_pieces(cut, &expected);
    }
}

#[test]
fn sections_end_at_their_mark_or_with_their_element() {
    assert_pieces(
        "a<![CDATA[b]]>c<![CDATA[]]>",
        &[
            ("a", "text a"),
            ("<![CDATA[b]]>", "section b"),
            ("c", "text c"),
            ("<![CDATA[]]>", "section "),
        ],
    );
    assert_pieces("<![CDATA[a]]", &[("<![CDATA[a]]", "cut off")]);
    assert_pieces("<![CDATA[a<b>]]]>", &[("<![CDATA[a<b>]]]>", "section a<b>]")]);
    // The first section is not closed. It ends with its element, before the next section starts.
    assert_pieces(
        "<a><![CDATA[x</b></a><b><![CDATA[y]]></b>",
        &[
            ("<a>", "start a"),
            ("<![CDATA[x</b>", "section x</b>"),
            ("</a>", "end a"),
            ("<b>", "start b"),
            ("<![CDATA[y]]>", "section y"),
            ("</b>", "end b"),
        ],
    );
    // An end tag after the start of another section belongs to that section.
    assert_pieces(
        "<a><![CDATA[x<![CDATA[y</a>]]>z",
        &[
            ("<a>", "start a"),
            ("<![CDATA[x<![CDATA[y</a>]]>", "section x<![CDATA[y</a>"),
            ("z", "text z"),
        ],
    );
}

#[test]
fn end_tags_have_a_name_and_end_before_the_next_tag() {
    assert_pieces("x</a>y", &[("x", "text x"), ("</a>", "end a"), ("y", "text y")]);
    assert_pieces("</p:a b='c' >y", &[("</p:a b='c' >", "end p:a"), ("y", "text y")]);
    assert_pieces("</a<b>", &[("</a", "end a"), ("<b>", "start b")]);
    assert_pieces("</a </b>", &[("</a ", "end a"), ("</b>", "end b")]);
    assert_pieces("x</a", &[("x", "text x"), ("</a", "cut off")]);
    assert_pieces("x</a ", &[("x", "text x"), ("</a ", "cut off")]);
}

#[test]
fn start_tags_have_their_attributes() {
    for (text, expected) in [
        ("<a>", "start a"),
        ("<p:a\n>", "start p:a"),
        ("<a/>", "start a /"),
        ("<a / >", "start a"),
        ("<a b>", "start a b="),
        ("<a b />", "start a b= /"),
        ("<a b=''>", "start a b="),
        ("<a b='c' d=\"e\"f='g'/>", "start a b=c d=e f=g /"),
        ("<a b='\"' c=\"'\">", "start a b=\" c='"),
        ("<a b = 'c'\td\n=\r\"e\">", "start a b=c d=e"),
        ("<a b=c d=e>", "start a b=c d=e"),
        ("<a b=c/d>", "start a b=c/d"),
        ("<a b=c/>", "start a b=c /"),
        ("<a b=/>", "start a b= /"),
        ("<a b=>", "start a b="),
        ("<a =b>", "start a b="),
        ("<a 3b=c>", "start a b=c"),
        ("<a \u{2603}=b c='d'>", "start a b= c=d"),
        ("<a \"b\">", "start a b="),
        ("<a b='c>d'>", "start a b=c>d"),
        ("<a b='c<d' e='f'>", "start a b=c<d e=f"),
        ("<a b='c<d>' e='f'>", "start a b=c<d> e=f"),
        ("<a b='\u{e9}' \u{e9}='c'>", "start a b=\u{e9} \u{e9}=c"),
    ] {
        assert_pieces(&format!("x{text}y"), &[("x", "text x"), (text, expected), ("y", "text y")]);
    }
}

#[test]
fn start_tags_without_their_end_are_tags_where_they_have_a_value() {
    // The quote is missing, but the end of the tag is present.
    assert_pieces(
        "<a b='c>d<e>",
        &[("<a b='c>", "start a b=c"), ("d", "text d"), ("<e>", "start e")],
    );
    // Both are missing.
    assert_pieces("<a b='c<d>", &[("<a b='c", "start a b=c"), ("<d>", "start d")]);
    assert_pieces("<a b='c' <d>", &[("<a b='c' ", "start a b=c"), ("<d>", "start d")]);
    assert_pieces("<a b=c<d>", &[("<a b=c", "start a b=c"), ("<d>", "start d")]);
    assert_pieces("<a b c<d>", &[("<a b c", "text <a b c"), ("<d>", "start d")]);
    assert_pieces("<a<d>", &[("<a", "text <a"), ("<d>", "start d")]);
    for cut in ["<a", "<a ", "<a b", "<a b=", "<a b=c", "<a b='c", "<a b='c'", "<a b='c'/"] {
        assert_pieces(&format!("x{cut}"), &[("x", "text x"), (cut, "cut off")]);
    }
}

#[test]
fn values_with_a_tag_in_them_have_a_maximum_length_behind_it() {
    let document = |length: usize| format!("<a b='c<{}'>", "d".repeat(length));
    let longest = document(MAX_VALUE_BYTES - 2);
    assert_eq!(pieces(&longest).len(), 1);
    assert!(pieces(&longest)[0].1.ends_with("dd"));
    let longer = document(MAX_VALUE_BYTES - 1);
    assert_eq!(pieces(&longer)[0], ("<a b='c", "start a b=c".to_owned()));
}

#[test]
fn the_end_tag_of_an_element_without_markup_is_found_from_an_offset_on() {
    let text = "</script><b></c></scr</SCRIPT >d";
    let mut soup = Soup::new(text, 9);
    assert_eq!(soup.at(), 9);
    assert!(soup.skip_to_end_of("script"));
    assert_eq!((soup.at(), soup.next()), (21, Some(Piece::End("SCRIPT"))));
    assert!(!soup.skip_to_end_of("script"));
    assert_eq!((soup.at(), soup.next()), (31, Some(Piece::Text("d"))));
    assert!(!Soup::new("<b></scrip", 0).skip_to_end_of("script"));
    assert!(Soup::new("<b></script", 0).skip_to_end_of("script"));
}
