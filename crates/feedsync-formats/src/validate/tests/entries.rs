//! Atom entry documents.

use super::{assert_only, findings};
use crate::validate::{Contents, validate};

const ID: &str = "<id>urn:x:1</id>";
const TITLE: &str = "<title>t</title>";
const UPDATED: &str = "<updated>2003-12-13T18:30:02Z</updated>";
const AUTHOR: &str = "<author><name>n</name></author>";
const CONTENT: &str = "<content>x</content>";

fn document(inside: &str) -> String {
    format!(
        "@<entry xmlns='http://www.w3.org/2005/Atom' xmlns:app='http://www.w3.org/2007/app' \
         xmlns:sx='http://feedsync.org/2007/feedsync'>{inside}</entry>"
    )
}

/// Returns a valid entry with more content. `#` marks the position of the finding.
fn with(more: &str) -> String {
    let all = format!("{ID}{TITLE}{UPDATED}{AUTHOR}{CONTENT}{more}");
    document(&all).replacen('@', "", 1).replacen('#', "@", 1)
}

/// Like `with`, with other content instead.
fn with_content(content: &str) -> String {
    let all = format!("{ID}{TITLE}{UPDATED}{AUTHOR}{content}");
    document(&all).replacen('@', "", 1).replacen('#', "@", 1)
}

fn source(inside: &str) -> String {
    format!("<source>{inside}</source>")
}

#[test]
fn valid_entries_are_without_findings() {
    let sync = "<sx:sync id='i' updates='1'><sx:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/></sx:sync>";
    for (text, takes_part) in [
        (with(""), false),
        (with(sync), true),
        (
            with(
                "<app:control><app:draft>yes</app:draft></app:control><app:edited>2003-12-13T18:30:02.5Z</app:edited>",
            ),
            false,
        ),
        (
            with(
                "<link rel='edit' href='e'/><link rel='edit-media' href='m'/><link rel='edit-media' type='image/png' href='n'/>",
            ),
            false,
        ),
        (
            with(
                "<category term='t'/><contributor><name>c</name><uri>u</uri><email>a@b</email></contributor>",
            ),
            false,
        ),
        (
            with(
                "<source><id>urn:x:f</id><title>f</title><updated>2003-12-13T18:30:02+01:00</updated></source>",
            ),
            false,
        ),
        (with("<x:y xmlns:x='urn:x'>foreign<x:z/></x:y>"), false),
        (with_content("<link href='a'/>"), false),
        (
            with_content(
                "<content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>a</div></content>",
            ),
            false,
        ),
        (with_content("<content type='image/svg+xml'><svg/></content>"), false),
        (with_content("<content type='text/plain'>a</content>"), false),
        (with_content("<content type='image/png' src='m'/><summary>s</summary>"), false),
        (with_content("<content type='image/png'>iVBO Rw==</content><summary>s</summary>"), false),
    ] {
        assert_eq!(findings(&text), [""; 0], "{text}");
        assert_eq!(validate(text.as_bytes()).contents, Ok(Contents::Entry { takes_part }));
    }
}

#[test]
fn missing_parts_of_an_entry_are_faults_of_the_entry() {
    for missing in [ID, TITLE, UPDATED, AUTHOR, CONTENT] {
        let all = [ID, TITLE, UPDATED, AUTHOR, CONTENT];
        let rest: String = all.into_iter().filter(|part| *part != missing).collect();
        assert_only(&document(&rest), "fault", "RFC 4287 4.1.2");
    }
    let source = "<source><id>urn:f</id><title/><updated>2003-12-13T18:30:02Z</updated>\
                  <author><name>n</name></author></source>";
    let text = document(&format!("{ID}{TITLE}{UPDATED}{CONTENT}{source}")).replace('@', "");
    assert_eq!(findings(&text), [""; 0]);
}

#[test]
fn faults_of_an_entry_have_place_and_clause() {
    for (text, clause) in [
        (with("#<id>urn:x:2</id>"), "RFC 4287 4.2.6"),
        (with("#<title>t</title>"), "RFC 4287 4.2.14"),
        (with("#<content>y</content>"), "RFC 4287 4.1.3"),
        (with("<summary/>#<summary/>"), "RFC 4287 4.2.13"),
        (with("#<published>yesterday</published>"), "RFC 4287 4.2.9"),
        (with("<category #scheme='s' term='t'/>"), "RFC 4287 4.2.2.2"),
        (with("#<category/>"), "RFC 4287 4.2.2.1"),
        (with("#<author><uri>u</uri></author>"), "RFC 4287 3.2.1"),
        (with("<author><name>n</name>#<email>nobody</email></author>"), "RFC 4287 3.2.3"),
        (with("<author><name>n</name>#<uri>a b</uri></author>"), "RFC 4287 3.2.2"),
        (with("<author><name>n</name>#<name>m</name></author>"), "RFC 4287 3.2.1"),
        (with("#<link rel='self'/>"), "RFC 4287 4.2.7.1"),
        (with("<link #href='a b'/>"), "RFC 4287 4.2.7.1"),
        (with("<link #rel='a b' href='c'/>"), "RFC 4287 4.2.7.2"),
        (with("<link #type='html' href='c'/>"), "RFC 4287 4.2.7.3"),
        (with("<link href='a'/>#<link rel='alternate' href='b'/>"), "RFC 4287 4.1.2"),
        (
            with("<link rel='edit' href='a'/>#<link rel='edit' type='a/b' href='b'/>"),
            "RFC 5023 11.1",
        ),
        (
            with("<link rel='edit-media' href='a'/>#<link rel='edit-media' href='b'/>"),
            "RFC 5023 11.2",
        ),
        (with("<rights #type='text/html'>r</rights>"), "RFC 4287 3.1.1"),
        (with("<rights>#<b/></rights>"), "RFC 4287 3.1.1"),
        (with("<rights type='xhtml'>#<p/></rights>"), "RFC 4287 3.1.1.3"),
        (with("#<rights type='xhtml'/>"), "RFC 4287 3.1.1.3"),
        (with("#<subtitle>s</subtitle>"), "RFC 4287 4.1.2"),
        (with("#text"), "RFC 4287 4.1.2"),
        (with("<app:control>#<app:draft>maybe</app:draft></app:control>"), "RFC 5023 13.1.1"),
        (with("<app:control/>#<app:control/>"), "RFC 5023 13.1"),
        (
            with("<app:control><app:draft>no</app:draft>#<app:draft>no</app:draft></app:control>"),
            "RFC 5023 13.1.1",
        ),
        (with("#<app:draft>no</app:draft>"), "RFC 5023 13.1.1"),
        (with("#<app:edited>2003-12-13</app:edited>"), "RFC 5023 10.2"),
        (with("#<app:workspace/>"), "RFC 5023 8.3.2"),
        (with("#<app:collection href='c'/>"), "RFC 5023 8.3.3"),
        (with("#<sx:sharing/>"), "FeedSync 2.2"),
        (with("#<sx:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/>"), "FeedSync 2.5"),
        (
            with(
                "<sx:sync #id='two words' updates='1'><sx:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/></sx:sync>",
            ),
            "FeedSync 2.4",
        ),
        (with_content("<content #type='multipart/mixed'/><summary/>"), "RFC 4287 4.1.3.1"),
        (with_content("<content #type='picture'/>"), "RFC 4287 4.1.3.1"),
        (with_content("<content type='a/b' #src='a b'/><summary/>"), "RFC 4287 4.1.3.2"),
        (with_content("#<content type='a/b' src='c'>x</content><summary/>"), "RFC 4287 4.1.3.2"),
        (with_content("<content #type='html' src='c'/><summary/>"), "RFC 4287 4.1.3.2"),
        (with_content("#<content type='a/b' src='c'/>"), "RFC 4287 4.1.2"),
        (with_content("<content>#<b/></content>"), "RFC 4287 4.1.3.3"),
        (with_content("<content type='text/plain'>#<b/></content>"), "RFC 4287 4.1.3.3"),
        (with_content("<content type='xhtml'>#<div/></content>"), "RFC 4287 4.1.3.3"),
        (
            with_content("#<content type='image/png'>not Base64!</content><summary/>"),
            "RFC 4287 4.1.3.3",
        ),
    ] {
        assert_only(&text, "fault", clause);
    }
    for (more, clause) in [
        ("#<id>urn:x:g</id>", "RFC 4287 4.2.11"),
        ("#<title>g</title>", "RFC 4287 4.2.11"),
        ("#<updated>2003-12-13T18:30:02Z</updated>", "RFC 4287 4.2.11"),
        ("#<author/>", "RFC 4287 3.2.1"),
        ("#<contributor/>", "RFC 4287 3.2.1"),
        ("#<category/>", "RFC 4287 4.2.2.1"),
        ("#<link/>", "RFC 4287 4.2.7.1"),
        ("#<icon>a b</icon>", "RFC 4287 4.2.5"),
        ("#<logo>a b</logo>", "RFC 4287 4.2.8"),
        ("<rights #type='a/b'/>", "RFC 4287 3.1.1"),
        ("<subtitle #type='a/b'/>", "RFC 4287 3.1.1"),
        ("#<entry/>", "RFC 4287 4.2.11"),
        ("#<feed/>", "RFC 4287 4.2.11"),
        ("#<content/>", "RFC 4287 4.2.11"),
        ("#<summary/>", "RFC 4287 4.2.11"),
        ("#<published/>", "RFC 4287 4.2.11"),
        ("#<source/>", "RFC 4287 4.2.11"),
    ] {
        assert_only(&with(&source(&format!("{ID}{TITLE}{UPDATED}{more}"))), "fault", clause);
    }
    let bad_id = source(&format!("#<id>1</id>{TITLE}{UPDATED}"));
    assert_only(&with(&bad_id), "fault", "RFC 4287 4.2.6");
    let bad_title = source(&format!("{ID}<title #type='a/b'/>{UPDATED}"));
    assert_only(&with(&bad_title), "fault", "RFC 4287 3.1.1");
    let bad_date = source(&format!("{ID}{TITLE}#<updated>now</updated>"));
    assert_only(&with(&bad_date), "fault", "RFC 4287 4.2.15");
    for missing in [ID, TITLE, UPDATED] {
        let rest = [ID, TITLE, UPDATED].into_iter().filter(|part| *part != missing);
        let text = with(&source(&rest.collect::<String>()).replacen('<', "#<", 1));
        assert_only(&text, "warning", "RFC 4287 4.2.11");
    }
    for (div, words) in [
        ("<div/>", "the div of content is not in the namespace of XHTML"),
        ("<p/>", "content of type xhtml holds one div of XHTML"),
    ] {
        let found = findings(&with_content(&format!("<content type='xhtml'>{div}</content>")));
        assert!(found[0].contains(words), "{found:?}");
    }
    let unknown = with("#<unknown/>");
    assert_only(&unknown, "warning", "RFC 4287 6.2");
    let bad_id = document(&format!("@<id>1</id>{TITLE}{UPDATED}{AUTHOR}{CONTENT}"));
    assert_only(&bad_id.replacen('@', "", 1), "fault", "RFC 4287 4.2.6");
}
