//! Markup at the head of a feed that its format does not define, as pieces that are each well-formed on their own.

use feedsync_core::Format;

use crate::context::Context;
use crate::entry::DUBLIN_CORE;
use crate::json::{self, Node};
use crate::options::{Limits, Mode};
use crate::payload::{Extraction, extract};
use crate::xml::{Element, Namespace, Namespaces, Tree};

/// Maximum total size of all pieces, in bytes.
pub const MAX_HEAD_MARKUP: usize = 64 << 10;

/// Maximum number of pieces.
const MAX_PIECES: usize = 1_000;

/// Limits of a piece. They are lower than those of a document, so that the enclosing document can add nesting and
/// declarations.
const LIMITS: Limits =
    Limits { bytes: MAX_HEAD_MARKUP, depth: 64, attributes: 128, items: 0, history: 0 };

/// Namespace of feed paging and archiving (RFC 5005). It describes documents, not feeds.
const FEED_HISTORY: &str = "http://purl.org/syndication/history/1.0";

/// Atom elements that describe a feed and have no field in [`FeedDetails`](super::FeedDetails).
pub(super) const OF_ATOM: [&str; 4] = ["category", "contributor", "icon", "logo"];

/// RSS elements that describe a feed and have no field in `FeedDetails`.
pub(super) const OF_RSS: [&str; 4] = ["category", "image", "language", "rating"];

/// Local names of elements that hold a feed or an item. Some programs recognize them in any namespace.
const CONTAINERS: [&str; 6] = ["channel", "entry", "feed", "item", "items", "outline"];

/// Members of the head that FeedSync JSON and JSON Feed define.
const OF_JSON: [&str; 17] = [
    "author",
    "authors",
    "description",
    "expired",
    "feed_url",
    "home_page_url",
    "hubs",
    "id",
    "items",
    "links",
    "next_url",
    "rights",
    "sharing",
    "subtitle",
    "title",
    "updated",
    "version",
];

/// Markup at the head of a feed that its format does not define: XML elements, or members of a JSON object.
///
/// Each piece is well-formed on its own: an element declares its namespaces itself. It can therefore be written into
/// any document and does not change the markup around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadMarkup {
    format: Format,
    pieces: Vec<String>,
    /// Size of all pieces.
    bytes: usize,
}

/// Reason why a text is not valid markup for the head of a feed. Pieces are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeadMarkupError {
    /// The piece is not well-formed on its own.
    #[error("piece {piece} of the markup is not exactly {}", if *.json { "one member of a JSON \
    object" } else { "one element of XML" })]
    NotAlone {
        /// Number of the piece.
        piece: usize,
        /// Whether the piece should be JSON.
        json: bool,
    },
    /// The piece has another meaning at the head of a feed.
    #[error("piece {piece} of the markup, {name:?}, is not allowed at the head of a feed")]
    Misplaced {
        /// Number of the piece.
        piece: usize,
        /// Name of the piece.
        name: String,
    },
    /// A JSON object cannot have two members with the same name.
    #[error("piece {piece} of the markup, {name:?}, has the same name as another piece")]
    Repeated {
        /// Number of the piece.
        piece: usize,
        /// Name of the piece.
        name: String,
    },
    /// The markup exceeds the size or the number of pieces.
    #[error(
        "markup at the head of a feed can have at most {MAX_HEAD_MARKUP} bytes and {MAX_PIECES} \
         pieces"
    )]
    TooLarge,
    /// There are no pieces.
    #[error("the markup is empty")]
    Empty,
}

/// Reason why one piece is refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    NotAlone,
    Misplaced(String),
    Repeated(String),
    TooLarge,
}

impl HeadMarkup {
    /// Creates markup for a feed of the given format. The pieces are normalized as if they had been read.
    pub fn new<'p>(
        format: Format,
        pieces: impl IntoIterator<Item = &'p str>,
    ) -> Result<Self, HeadMarkupError> {
        let mut markup = Self::none(format);
        for (index, text) in pieces.into_iter().enumerate() {
            let piece = index + 1;
            markup.push(text).map_err(|unfit| match unfit {
                Unfit::NotAlone => {
                    HeadMarkupError::NotAlone { piece, json: format == Format::Json }
                }
                Unfit::Misplaced(name) => HeadMarkupError::Misplaced { piece, name },
                Unfit::Repeated(name) => HeadMarkupError::Repeated { piece, name },
                Unfit::TooLarge => HeadMarkupError::TooLarge,
            })?;
        }
        markup.some().ok_or(HeadMarkupError::Empty)
    }

    pub(super) fn none(format: Format) -> Self {
        Self { format, pieces: Vec::new(), bytes: 0 }
    }

    pub(super) fn some(self) -> Option<Self> {
        (!self.pieces.is_empty()).then_some(self)
    }

    /// Format of the feed that the markup was read from.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The pieces, in document order.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    /// Returns the pieces that the head of a feed of the given format can hold. Its own format holds all of them.
    /// Elements without a namespace belong to RSS.
    pub fn pieces_for(&self, to: Format) -> impl Iterator<Item = &str> {
        let is_json = |format| format == Format::Json;
        let is_family = is_json(self.format) == is_json(to);
        let is_own = self.format == to;
        let pieces = self.pieces.iter().map(String::as_str);
        pieces.filter(move |piece| is_family && (is_own || is_json(to) || !is_of_rss(piece)))
    }

    /// Adds a piece if it is valid and fits.
    pub(super) fn push(&mut self, text: &str) -> Result<(), Unfit> {
        if text.len() > self.space() || self.pieces.len() >= MAX_PIECES {
            return Err(Unfit::TooLarge);
        }
        let piece = match self.format {
            Format::Json => self.member(text)?,
            _ => element(self.format, text)?,
        };
        // The canonical text may be longer than the original.
        if piece.len() > self.space() {
            return Err(Unfit::TooLarge);
        }
        self.bytes += piece.len();
        self.pieces.push(piece);
        Ok(())
    }

    /// Number of bytes left for further pieces.
    pub(super) fn space(&self) -> usize {
        MAX_HEAD_MARKUP - self.bytes
    }

    fn member(&self, text: &str) -> Result<String, Unfit> {
        let object = format!("{{{text}}}");
        let is_sound = json::check(&object, LIMITS.depth).is_ok_and(|flaws| flaws.is_empty());
        let root = Node::of_checked(&object);
        let mut members = root.members();
        let (first, second) = (members.next(), members.next());
        let member = first.filter(|member| is_sound && second.is_none() && member.raw() == text);
        let member = member.ok_or(Unfit::NotAlone)?;
        if is_defined(&member.name) {
            return Err(Unfit::Misplaced(member.name.into_owned()));
        }
        let is_repeated = self
            .pieces
            .iter()
            .any(|known| Node::of_checked(&format!("{{{known}}}")).member(&member.name).is_some());
        match is_repeated {
            true => Err(Unfit::Repeated(member.name.into_owned())),
            false => Ok(text.to_owned()),
        }
    }
}

/// Whether FeedSync JSON or JSON Feed defines this member of the head.
pub(super) fn is_defined(name: &str) -> bool {
    name.starts_with("fs:") || name.starts_with("_feedsync") || OF_JSON.contains(&name)
}

/// Returns the canonical text of an element that is well-formed on its own.
fn element(format: Format, text: &str) -> Result<String, Unfit> {
    let (tree, namespaces) =
        Tree::parse(text, Mode::Strict, &LIMITS).map_err(|_| Unfit::NotAlone)?;
    let root = tree.root();
    if root.span() != (0..text.len()) {
        return Err(Unfit::NotAlone);
    }
    if !is_foreign(format, root, &namespaces) {
        return Err(Unfit::Misplaced(root.name().to_owned()));
    }
    let mut canonical = String::with_capacity(text.len());
    let extraction = Extraction { self_contained: true, ..Extraction::default() };
    extract(&mut canonical, root, &Context::default(), extraction);
    Ok(canonical)
}

/// Whether an element at the head of a feed is foreign: not defined by the format or by FeedSync, and not mistaken
/// for an item by other programs.
fn is_foreign(format: Format, root: Element<'_, '_>, namespaces: &Namespaces<'_>) -> bool {
    let local = root.local();
    let is_protocol = |element: Element<'_, '_>| {
        let namespace = element.namespace();
        matches!(namespace, Namespace::FEEDSYNC | Namespace::OWN) || namespace.is_sse()
    };
    let is_itself = match root.namespace() {
        Namespace::NONE => format == Format::Rss && OF_RSS.contains(&local),
        Namespace::ATOM => OF_ATOM.contains(&local),
        Namespace::APP
        | Namespace::ATOM03
        | Namespace::RDF
        | Namespace::RSS1
        | Namespace::RSS090
        | Namespace::RSS2 => false,
        other => match namespaces.iri(other) {
            FEED_HISTORY => false,
            // RSS uses it to name an author.
            DUBLIN_CORE => local != "creator",
            _ => !CONTAINERS.contains(&local),
        },
    };
    is_itself && !is_protocol(root) && !root.descendants().any(is_protocol)
}

/// Whether a piece is an element without a namespace, which has neither a prefix nor a default namespace.
fn is_of_rss(piece: &str) -> bool {
    let name = piece[1..].split([' ', '\t', '\r', '\n', '/', '>']).next().unwrap_or_default();
    OF_RSS.contains(&name)
        && Tree::parse(piece, Mode::Strict, &LIMITS)
            .is_ok_and(|(tree, _)| tree.root().namespace() == Namespace::NONE)
}
