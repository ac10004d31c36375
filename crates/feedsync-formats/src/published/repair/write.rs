//! Rewrites a document from its pieces, as well-formed as possible.

use std::collections::HashSet;

use super::names::{respelt_element, respelt_tag};
use super::prefixes::Prefixes;
use super::soup::{Piece, Tag};
use crate::xml::reference;

/// HTML elements without content, which occur in text that was not escaped.
const VOID: [&str; 6] = ["br", "hr", "img", "input", "wbr", "embed"];

/// Elements of an article or a feed that contain text or nothing, but no other such element.
const LEAVES: [&str; 24] = [
    "title",
    "link",
    "description",
    "guid",
    "pubdate",
    "category",
    "comments",
    "enclosure",
    "id",
    "updated",
    "published",
    "rights",
    "generator",
    "logo",
    "icon",
    "subtitle",
    "language",
    "ttl",
    "copyright",
    "lastbuilddate",
    "managingeditor",
    "webmaster",
    "docs",
    "cloud",
];

/// Other elements of an article or a feed.
const CONTAINERS: [&str; 8] = [
    "author",
    "contributor",
    "source",
    "content",
    "summary",
    "image",
    "media:group",
    "media:content",
];

/// Maximum number of open elements. Start tags beyond it are removed.
const MAX_OPEN_ELEMENTS: usize = 200;

/// Maximum length of a reference, in bytes.
const MAX_REFERENCE_BYTES: usize = 64;

/// Maximum number of attributes of an element. Further ones are removed.
const MAX_ATTRIBUTES: usize = 128;

/// A document that was written.
pub(super) struct Written<'a> {
    pub(super) text: String,
    /// Offset after the name of the root.
    pub(super) root_name_end: usize,
    pub(super) prefixes: Prefixes<'a>,
}

/// Writes a document with one root element.
pub(super) struct Writer<'a> {
    is_balanced: bool,
    /// Whether names in capitals are changed to the spelling of the formats.
    respells: bool,
    is_respelt: bool,
    out: String,
    root: Option<&'a str>,
    root_name_end: usize,
    open: Vec<Open<'a>>,
    prefixes: Prefixes<'a>,
}

/// An open element.
struct Open<'a> {
    name: &'a str,
    /// Offset of its start tag in the output.
    start: usize,
    is_article: bool,
}

impl<'a> Writer<'a> {
    /// Creates a writer. `is_balanced` closes open elements, and `respells` corrects the spelling of names.
    pub(super) fn new(is_balanced: bool, respells: bool) -> Self {
        Self {
            is_balanced,
            respells,
            is_respelt: false,
            out: String::new(),
            root: None,
            root_name_end: 0,
            open: Vec::new(),
            prefixes: Prefixes::default(),
        }
    }

    /// Writes a piece. Returns whether the root element continues.
    pub(super) fn piece(&mut self, piece: &Piece<'a>) -> bool {
        match piece {
            Piece::Text(text) => push_text(&mut self.out, text),
            Piece::CData(text) => self.out.extend(["<![CDATA[", text, "]]>"]),
            Piece::Other | Piece::CutOff => {}
            Piece::Start(tag) if self.respells => {
                let mut tag = tag.clone();
                self.is_respelt |= respelt_tag(&mut tag);
                return self.start(&tag);
            }
            Piece::Start(tag) => return self.start(tag),
            Piece::End(name) if self.respells => {
                let spelt = respelt_element(name);
                self.is_respelt |= spelt.is_some();
                return self.end(spelt.unwrap_or(name));
            }
            Piece::End(name) => return self.end(name),
        }
        true
    }

    /// Returns the document if it has a root. If the writer respells names, it must have changed one. An article that
    /// was not closed is left out, since the missing part is unknown.
    pub(super) fn finish(mut self) -> Option<Written<'a>> {
        self.root.filter(|_| self.is_respelt || !self.respells)?;
        if self.is_balanced {
            if let Some(place) = self.open.iter().position(|open| open.is_article) {
                self.out.truncate(self.open[place].start);
                self.open.truncate(place);
            }
            self.close_down_to(0);
        }
        let Self { out: text, root_name_end, prefixes, .. } = self;
        Some(Written { text, root_name_end, prefixes })
    }

    fn start(&mut self, tag: &Tag<'a>) -> bool {
        let is_article = self.is_article(tag.name);
        let mut is_empty = tag.is_empty;
        if self.is_balanced {
            if is_article {
                if let Some(place) = self.open.iter().position(|open| open.is_article) {
                    self.close_down_to(place);
                }
            } else if is_field(tag.name) {
                let last = self.open.len().saturating_sub(1);
                let mut places = self.of_article();
                let is_ended =
                    |place: &usize| ends(self.open[*place].name, tag.name, *place == last);
                let leaf = places.find(is_ended);
                if let Some(place) = leaf {
                    self.close_down_to(place);
                }
            }
            if self.open.len() >= MAX_OPEN_ELEMENTS {
                return true;
            }
            is_empty |= is_one_of(&VOID, tag.name);
        }
        let start = self.out.len();
        self.write(tag, is_empty);
        self.root.get_or_insert(tag.name);
        if is_empty {
            return !self.open.is_empty() || !self.is_balanced;
        }
        if self.is_balanced {
            self.open.push(Open { name: tag.name, start, is_article });
        }
        true
    }

    fn end(&mut self, name: &'a str) -> bool {
        if !self.is_balanced {
            self.out.extend(["</", name, ">"]);
            return self.root != Some(name);
        }
        let is_outer = |open: &Open<'_>| open.is_article || ["channel", "rss"].contains(&open.name);
        let inner = self.open.iter().rposition(|open| open.is_article).unwrap_or(0);
        let found = |is: &dyn Fn(&str) -> bool| {
            let place = self.open.iter().rposition(|open| is(open.name))?;
            // An end tag inside an article cannot close an element outside it, except another article, `channel`,
            // `rss` and the root.
            (place >= inner || place == 0 || is_outer(&self.open[place])).then_some(place)
        };
        let place =
            found(&|open| open == name).or_else(|| found(&|open| open.eq_ignore_ascii_case(name)));
        if let Some(place) = place {
            self.close_down_to(place);
        }
        !self.open.is_empty()
    }

    /// Closes the elements from that index on.
    fn close_down_to(&mut self, place: usize) {
        while self.open.len() > place {
            let Some(open) = self.open.pop() else { return };
            self.out.extend(["</", open.name, ">"]);
        }
    }

    /// Returns the indexes of the open elements inside the current article, or inside the feed.
    fn of_article(&self) -> std::ops::Range<usize> {
        let first = self.open.iter().rposition(|open| open.is_article);
        first.map_or(1, |place| place + 1)..self.open.len()
    }

    fn is_article(&self, name: &str) -> bool {
        let is_in_conflict = self.open.last().is_some_and(|open| local(open.name) == "conflicts");
        self.root.is_some() && !is_in_conflict && is_one_of(&["item", "entry"], local(name))
    }

    fn write(&mut self, tag: &Tag<'a>, is_empty: bool) {
        self.out.extend(["<", tag.name]);
        self.prefixes.using(tag.name);
        let is_root = self.root.is_none();
        if is_root {
            self.root_name_end = self.out.len();
        }
        let mut names = HashSet::new();
        for (name, value) in tag.attributes.iter().take(MAX_ATTRIBUTES) {
            if !names.insert(*name) {
                continue;
            }
            if let Some(prefix) = name.strip_prefix("xmlns:") {
                if value.is_empty() || matches!(prefix, "xml" | "xmlns") {
                    continue;
                }
                self.prefixes.declaring(prefix, value, is_root);
            }
            self.prefixes.using(name);
            self.out.extend([" ", name, "=\""]);
            push_value(&mut self.out, value);
            self.out.push('"');
        }
        self.out.push_str(if is_empty { "/>" } else { ">" });
    }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn is_one_of(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether the element belongs to a module and is not markup of a text.
fn is_of_module(name: &str) -> bool {
    let prefix = name.split_once(':').map(|(prefix, _)| prefix);
    prefix.is_some_and(|prefix| {
        !is_one_of(&["xhtml", "html", "h", "svg", "math", "sx", "fs"], prefix)
    })
}

fn is_leaf(name: &str) -> bool {
    is_one_of(&LEAVES, name)
        || (is_of_module(name) && !is_one_of(&CONTAINERS, name) && !is_nested(name))
}

/// Whether the element may contain elements of its own module, as `itunes:owner` does.
fn is_nested(name: &str) -> bool {
    is_one_of(&["owner", "category", "group", "community", "where", "point"], local(name))
}

/// Whether an open element ends where a field starts, since it cannot contain that field.
fn ends(open: &str, field: &str, is_innermost: bool) -> bool {
    let prefix = |name: &str| name.split_once(':').map(|(prefix, _)| prefix.to_owned());
    // Content may start with markup, and only then with elements that look like fields.
    let is_content = is_innermost && is_one_of(&["content", "summary"], open);
    is_leaf(open)
        || (is_of_module(open) && prefix(open) != prefix(field))
        || (is_content && is_one_of(&LEAVES, field))
}

fn is_field(name: &str) -> bool {
    is_one_of(&LEAVES, name) || is_one_of(&CONTAINERS, name) || is_of_module(name)
}

/// Appends text and escapes characters that start neither a reference nor a tag.
fn push_text(out: &mut String, text: &str) {
    push(out, text, &[("<", "&lt;"), ("]]>", "]]&gt;")]);
}

/// Appends an attribute value for double quotes.
pub(super) fn push_value(out: &mut String, value: &str) {
    push(out, value, &[("<", "&lt;"), ("\"", "&quot;")]);
}

fn push(out: &mut String, text: &str, escapes: &[(&str, &str)]) {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '"', ']']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('&') {
            rest = push_reference(out, rest);
            continue;
        }
        let found = escapes.iter().find(|(sign, _)| rest.starts_with(sign));
        let (length, written) =
            found.map_or((1, &rest[..1]), |(sign, escaped)| (sign.len(), *escaped));
        out.push_str(written);
        rest = &rest[length..];
    }
    out.push_str(rest);
}

/// Appends a reference and returns the text after it. A reference to a character that XML does not have is removed.
fn push_reference<'a>(out: &mut String, text: &'a str) -> &'a str {
    let near = &text[..text.floor_char_boundary(MAX_REFERENCE_BYTES)];
    if let Ok((length, _)) = reference(near) {
        out.push_str(&text[..length]);
        return &text[length..];
    }
    let number = text.strip_prefix("&#").unwrap_or_default();
    let digits = number.bytes().take_while(u8::is_ascii_alphanumeric).take(32).count();
    if digits > 0 && number[digits..].starts_with(';') {
        return &number[digits + 1..];
    }
    out.push_str("&amp;");
    &text[1..]
}
