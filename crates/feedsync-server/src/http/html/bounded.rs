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

/// Maximum number of elements that are open at once. Formatting elements count twice, since they are repeated.
pub(super) const MAX_DEPTH: usize = 256;

/// Maximum number of attributes of an element.
pub(super) const MAX_ATTRIBUTES: usize = 64;

/// Limit on elements that a parser creates: this number for each tag, plus a constant.
const CREATED_PER_TAG: usize = 4;
const CREATED_BESIDES: usize = 4_096;

/// Bytes of attributes that copies of elements may add.
const MAX_COPIED_BYTES: usize = 256 << 10;

/// Steps of the tree builder for a whole document.
pub(super) const MAX_STEPS: u64 = 64_000_000;

/// Maximum number of steps of searches among the children of an element. They grow with the square of a
/// document's size.
pub(super) const MAX_SEARCHED: u64 = 4_000_000;

/// Maximum size of the name of an element or attribute, in bytes; longer names count as unknown.
const MAX_NAME: usize = 64;

/// Elements that have no content.
const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
    "track", "wbr",
];

/// Elements whose content is not shown.
const REMOVED: [&str; 2] = ["script", "style"];

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

/// Result for a document.
#[derive(Debug)]
pub(super) struct Bounded {
    /// The document within limits; `None` if it takes too much work.
    pub(super) html: Option<String>,
    /// Steps of the tree builder.
    #[cfg_attr(not(test), allow(dead_code, reason = "tests compare the work of documents"))]
    pub(super) steps: u64,
    /// Steps of searches in a real tree.
    #[cfg_attr(not(test), allow(dead_code, reason = "tests compare the work of documents"))]
    pub(super) searched: u64,
    /// Elements that the tree builder created.
    #[cfg_attr(not(test), allow(dead_code, reason = "tests compare the work of documents"))]
    pub(super) created: usize,
}

/// Brings a document within the limits.
pub(super) fn bounded(html: &str) -> Bounded {
    let mut writer = Writer::new(html.len());
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
    Bounded { html, steps, searched, created }
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
    tag: Option<OpenTag>,
    /// Whether the content of a removed element is being read.
    is_removing: bool,
    /// Start tags that were left out because they were too deep, by name: their end tags are left out, too.
    left_out: HashMap<String, usize>,
    /// Tags that were passed on.
    tags: usize,
    /// Elements that the tree builder held when they were last counted, and had created by then.
    counted: (usize, usize),
    /// Bytes of attributes that were passed on.
    attribute_bytes: usize,
    is_spent: bool,
}

impl Writer {
    fn new(bytes: usize) -> Self {
        let context = Skeleton::element(QualName::new(None, ns!(html), local_name!("div")));
        let options = TreeBuilderOpts::default();
        Self {
            tree: TreeBuilder::new_for_fragment(Skeleton::new(), context, None, options),
            html: String::with_capacity(bytes + bytes / 8),
            tag: None,
            is_removing: false,
            left_out: HashMap::new(),
            tags: 0,
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
        if REMOVED.contains(&&*name) {
            self.is_removing = true;
            return;
        }
        if self.is_spent || name.is_empty() || UNWRAPPED.contains(&&*name) {
            return;
        }
        if !VOID.contains(&&*name) && self.is_full() {
            *self.left_out.entry(name).or_default() += 1;
            return;
        }
        self.html.push('<');
        self.html.push_str(&name);
        for (name, value) in &attributes {
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
        if REMOVED.contains(&&*name) {
            self.is_removing = false;
            return;
        }
        if self.is_spent || name.is_empty() || UNWRAPPED.contains(&&*name) {
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
        if self.is_spent || self.is_removing {
            return;
        }
        for part in text.split('\0').filter(|part| !part.is_empty()) {
            escape(&mut self.html, part, false);
            self.build(Token::CharacterTokens(StrTendril::from(part)));
        }
    }

    /// Passes a token to the tree builder, and checks the limits on its work.
    fn build(&mut self, token: Token) {
        let _ = self.tree.process_token(token, 1);
        let tree = &self.tree.sink;
        self.is_spent = tree.steps.get() > MAX_STEPS
            || tree.searched.get() > MAX_SEARCHED
            || tree.created.get() > CREATED_PER_TAG * self.tags + CREATED_BESIDES
            || tree.attribute_bytes.get() > self.attribute_bytes + MAX_COPIED_BYTES;
    }

    /// Whether no more elements may be open. They are counted only when the limit may have been reached: a
    /// created element is held twice at most.
    fn is_full(&mut self) -> bool {
        let created = self.tree.sink.created.get();
        let (held, before) = self.counted;
        if held + 2 * (created - before) < MAX_DEPTH {
            return false;
        }
        let count = HeldElements::default();
        self.tree.trace_handles(&count);
        self.counted = (count.0.get(), created);
        self.counted.0 >= MAX_DEPTH
    }
}

/// Name of an element or attribute, in the lower case that the tokenizer gives it; empty if no name that matters has
/// such characters.
fn known_name(name: &[u8]) -> String {
    let is_known = name.len() <= MAX_NAME
        && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte));
    if is_known { String::from_utf8_lossy(name).into_owned() } else { String::new() }
}

fn escape(html: &mut String, text: &str, in_attribute: bool) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '"' if in_attribute => html.push_str("&quot;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            // A tokenizer would turn it into a line feed.
            '\r' => html.push_str("&#13;"),
            _ => html.push(character),
        }
    }
}
