//! HTML within limits that a tree builder can process with work in proportion to its size.
//!
//! A tokenizer splits the document in linear time. Each token goes to a tree builder that keeps no tree, and
//! is written out again. So depth, copies and work are known before a real tree is built:
//!
//! - An element that would be deeper than [`MAX_DEPTH`] loses its tags and keeps its text.
//! - An element keeps [`MAX_ATTRIBUTES`] attributes.
//! - A parser repeats open formatting elements in each following block, and moves misplaced content of
//!   tables. A document that causes this too often is refused; it is shown as text.
//!
//! Whole web pages have tighter limits: their text is extracted by several passes over a tree, some of which visit
//! the descendants of each element. Parts of a page that are not shown lose their content.
//!
//! Nothing here makes HTML safe. It is cleaned afterwards.

use std::collections::HashMap;
use std::convert::Infallible;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink as _};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, LocalName, QualName, local_name, ns};
use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::skeleton::{Handle, HeldElements, Skeleton};
use super::text::{escape, known_name, spaced};

/// Maximum number of elements that are open at once. Formatting elements count twice, since they are repeated.
pub const MAX_DEPTH: usize = 256;

/// Maximum number of attributes of an element.
pub const MAX_ATTRIBUTES: usize = 64;

/// Limit on elements that a parser creates: this number for each tag, plus a constant.
const CREATED_PER_TAG: usize = 4;
const CREATED_BESIDES: usize = 4_096;

/// Bytes of attributes that copies of elements may add.
const MAX_COPIED_BYTES: usize = 256 << 10;

/// Steps of the tree builder for a whole document.
pub const MAX_STEPS: u64 = 64_000_000;

/// Maximum number of steps of searches among the children of an element. They grow with the square of a
/// document's size.
pub const MAX_SEARCHED: u64 = 4_000_000;

/// Limits of a web page: open elements, tags and texts, and bytes of markup and text without scripts.
const MAX_PAGE_DEPTH: usize = 64;
const MAX_PAGE_TOKENS: usize = 100_000;
const MAX_PAGE_MARKUP_BYTES: usize = 2 << 20;

/// Maximum length of the value of an attribute of a web page, in bytes. Longer ones are left out, such as pictures in
/// `data:` addresses.
const MAX_VALUE_BYTES: usize = 8 << 10;

/// Maximum length of the title of a web page, in bytes.
const MAX_TITLE_BYTES: usize = 1_000;

/// Elements that have no content.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Elements whose content is not shown.
const REMOVED: [&str; 2] = ["script", "style"];

/// Elements of a web page whose content is not part of its text. Of `noscript` the pictures stay, since scripts of
/// the page would load them.
const REMOVED_OF_PAGE: [&str; 6] = ["iframe", "noembed", "noscript", "textarea", "title", "xmp"];

/// Elements that lose their tags: a parser treats their content as text, or spends too many copies or too
/// much memory on them.
const UNWRAPPED: [&str; 12] = [
    "applet",
    "iframe",
    "marquee",
    "noembed",
    "noframes",
    "noscript",
    "object",
    "plaintext",
    "selectedcontent",
    "textarea",
    "title",
    "xmp",
];

/// Kind of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Content of an article or an item.
    Fragment,
    /// A whole web page.
    Page,
}

/// Result for a document.
#[derive(Debug)]
pub struct Bounded {
    /// The document within limits; `None` if it takes too much work.
    pub html: Option<String>,
    /// Title of a web page.
    pub(crate) title: String,
    /// Steps of the tree builder.
    pub steps: u64,
    /// Steps of searches in a real tree.
    pub searched: u64,
    /// Elements that the tree builder created.
    pub created: usize,
}

/// Brings the content of an article or an item within the limits.
pub fn bounded(html: &str) -> Bounded {
    bounded_as(html, Kind::Fragment)
}

/// Brings a document within the limits of its kind.
pub(crate) fn bounded_as(html: &str, kind: Kind) -> Bounded {
    let mut writer = Writer::new(html.len(), kind);
    let receive = |event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
        writer.receive(event);
        None
    };
    let mut emitter = CallbackEmitter::new(receive);
    emitter.naively_switch_states(true);
    // The writer receives all tokens; the iterator itself yields none.
    let _ = Tokenizer::new_with_emitter(html, emitter).count();
    let tree = &writer.tree.sink;
    let (steps, searched, created) = (tree.steps.get(), tree.searched.get(), tree.created.get());
    let html = (!writer.is_spent).then_some(writer.html);
    Bounded { html, title: writer.title.unwrap_or_default(), steps, searched, created }
}

/// Start tag that is being read. Its name is empty if it is left out.
#[derive(Default)]
struct OpenTag {
    name: String,
    attributes: Vec<(String, String)>,
    /// Whether the value that follows belongs to the last attribute.
    takes_value: bool,
}

/// Writer of the document within limits.
struct Writer {
    tree: TreeBuilder<Handle, Skeleton>,
    html: String,
    kind: Kind,
    tag: Option<OpenTag>,
    /// Removed element whose content is being read, and its text.
    removing: Option<(String, String)>,
    /// Text of the first title of a web page.
    title: Option<String>,
    /// Start tags that were left out because they were too deep, by name: their end tags are left out, too.
    left_out: HashMap<String, usize>,
    /// Tags that were passed on.
    tags: usize,
    /// Tags and texts that were passed on.
    tokens: usize,
    /// Elements that the tree builder held when they were last counted, and had created by then.
    counted: (usize, usize),
    /// Bytes of attributes that were passed on.
    attribute_bytes: usize,
    is_spent: bool,
}

impl Writer {
    fn new(bytes: usize, kind: Kind) -> Self {
        let context = Skeleton::element(QualName::new(None, ns!(html), local_name!("div")));
        let options = TreeBuilderOpts::default();
        Self {
            tree: TreeBuilder::new_for_fragment(Skeleton::new(), context, None, options),
            html: String::with_capacity((bytes + bytes / 8).min(MAX_PAGE_MARKUP_BYTES)),
            kind,
            tag: None,
            removing: None,
            title: None,
            left_out: HashMap::new(),
            tags: 0,
            tokens: 0,
            counted: (0, 0),
            attribute_bytes: 0,
            is_spent: false,
        }
    }

    fn receive(&mut self, event: CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.tag = Some(OpenTag { name: known_name(name), ..OpenTag::default() });
            }
            CallbackEvent::AttributeName { name } => {
                let Some(tag) = &mut self.tag else { return };
                let name = known_name(name);
                let is_new = !name.is_empty()
                    && tag.attributes.len() < MAX_ATTRIBUTES
                    && tag.attributes.iter().all(|(other, _)| *other != name);
                tag.takes_value = is_new;
                if is_new {
                    tag.attributes.push((name, String::new()));
                }
            }
            CallbackEvent::AttributeValue { value } => {
                let Some(tag) = self.tag.as_mut().filter(|tag| tag.takes_value) else { return };
                if let Some((_, text)) = tag.attributes.last_mut() {
                    text.push_str(&String::from_utf8_lossy(value));
                }
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                if let Some(tag) = self.tag.take() {
                    self.start(tag, self_closing);
                }
            }
            CallbackEvent::EndTag { name } => {
                self.tag = None;
                self.end(known_name(name));
            }
            CallbackEvent::String { value } => self.text(&String::from_utf8_lossy(value)),
            CallbackEvent::Comment { .. }
            | CallbackEvent::Doctype { .. }
            | CallbackEvent::Error(_) => {}
        }
    }

    fn start(&mut self, tag: OpenTag, self_closing: bool) {
        let OpenTag { name, attributes, .. } = tag;
        if self.is_removed(&name) {
            self.removing = Some((name, String::new()));
            return;
        }
        if self.is_spent || name.is_empty() || self.is_unwrapped(&name) {
            return;
        }
        if !VOID.contains(&&*name) && self.is_full() {
            *self.left_out.entry(name).or_default() += 1;
            return;
        }
        self.html.push('<');
        self.html.push_str(&name);
        let is_page = self.kind == Kind::Page;
        let is_kept = |value: &String| !is_page || value.len() <= MAX_VALUE_BYTES;
        for (name, value) in attributes.iter().filter(|(_, value)| is_kept(value)) {
            self.attribute_bytes += name.len() + value.len();
            self.html.push(' ');
            self.html.push_str(name);
            self.html.push_str("=\"");
            escape(&mut self.html, value, true);
            self.html.push('"');
        }
        self.html.push_str(if self_closing { "/>" } else { ">" });
        let attribute = |(name, value): (String, String)| Attribute {
            name: QualName::new(None, ns!(), LocalName::from(name)),
            value: StrTendril::from(value),
        };
        let attrs = attributes.into_iter().map(attribute).collect();
        self.tags += 1;
        self.build(Token::TagToken(Tag {
            kind: TagKind::StartTag,
            name: LocalName::from(name),
            self_closing,
            attrs,
            had_duplicate_attributes: false,
        }));
    }

    fn end(&mut self, name: String) {
        if self.is_removed(&name) {
            self.removed();
            return;
        }
        if self.is_spent || name.is_empty() || self.is_unwrapped(&name) {
            return;
        }
        if let Some(count) = self.left_out.get_mut(&name).filter(|count| **count > 0) {
            *count -= 1;
            return;
        }
        self.html.push_str("</");
        self.html.push_str(&name);
        self.html.push('>');
        self.tags += 1;
        self.build(Token::TagToken(Tag {
            kind: TagKind::EndTag,
            name: LocalName::from(name),
            self_closing: false,
            attrs: Vec::new(),
            had_duplicate_attributes: false,
        }));
    }

    fn text(&mut self, text: &str) {
        if self.is_spent {
            return;
        }
        if let Some((name, removed)) = &mut self.removing {
            if matches!(&**name, "noscript" | "title") {
                removed.push_str(text);
            }
            return;
        }
        for part in text.split('\0').filter(|part| !part.is_empty()) {
            let part = if self.kind == Kind::Page { spaced(part) } else { part.into() };
            let part = &*part;
            escape(&mut self.html, part, false);
            self.build(Token::CharacterTokens(StrTendril::from(part)));
        }
    }

    fn is_removed(&self, name: &str) -> bool {
        REMOVED.contains(&name) || (self.kind == Kind::Page && REMOVED_OF_PAGE.contains(&name))
    }

    /// Whether an element loses its tags. An extraction would compare addresses of `embed` with those of videos.
    fn is_unwrapped(&self, name: &str) -> bool {
        UNWRAPPED.contains(&name) || (self.kind == Kind::Page && name == "embed")
    }

    /// Ends a removed element.
    fn removed(&mut self) {
        let Some((name, text)) = self.removing.take() else { return };
        match &*name {
            "title" if self.title.is_none() => {
                let end = text.floor_char_boundary(MAX_TITLE_BYTES);
                self.title = Some(text[..end].to_owned());
            }
            // The tokenizer passes the content of this element on as text.
            "noscript" => {
                for Ok(token) in Tokenizer::new(&text) {
                    if let html5gum::Token::StartTag(tag) = token
                        && &**tag.name == b"img"
                    {
                        self.picture(tag);
                    }
                }
            }
            _ => {}
        }
    }

    fn picture(&mut self, tag: html5gum::StartTag<()>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let named = tag.attributes.iter().map(|(name, value)| (known_name(name), text(value)));
        let named = named.filter(|(name, _)| !name.is_empty()).take(MAX_ATTRIBUTES);
        let attributes = named.collect();
        self.start(OpenTag { name: "img".to_owned(), attributes, takes_value: false }, false);
    }

    /// Passes a token to the tree builder, and checks the limits on its work.
    fn build(&mut self, token: Token) {
        self.tokens += 1;
        let _ = self.tree.process_token(token, 1);
        let tree = &self.tree.sink;
        self.is_spent = tree.steps.get() > MAX_STEPS
            || tree.searched.get() > MAX_SEARCHED
            || tree.created.get() > CREATED_PER_TAG * self.tags + CREATED_BESIDES
            || tree.attribute_bytes.get() > self.attribute_bytes + MAX_COPIED_BYTES
            || (self.kind == Kind::Page
                && (self.tokens > MAX_PAGE_TOKENS || self.html.len() > MAX_PAGE_MARKUP_BYTES));
    }

    /// Whether no more elements may be open. They are counted only when the limit may have been reached: a
    /// created element is held twice at most.
    fn is_full(&mut self) -> bool {
        let max_depth = if self.kind == Kind::Page { MAX_PAGE_DEPTH } else { MAX_DEPTH };
        let created = self.tree.sink.created.get();
        let (held, before) = self.counted;
        if held + 2 * (created - before) < max_depth {
            return false;
        }
        let count = HeldElements::default();
        self.tree.trace_handles(&count);
        self.counted = (count.0.get(), created);
        self.counted.0 >= max_depth
    }
}
