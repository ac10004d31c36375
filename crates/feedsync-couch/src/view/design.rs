//! The views that a design document defines.

use feedsync_formats::json::{Kind, Member, Node};
use sha2::{Digest, Sha256};

use super::reduction::Reduction;
use crate::collation::KEY_VERSION;
use crate::json::{boolean, text};
use crate::refusal::{Refusal, RefusalKind};

/// Version of the contents of views: of the [keys](KEY_VERSION), and in the last byte of positions and reductions. Stored
/// rows of another version must be computed again.
pub const VIEW_VERSION: u32 = (KEY_VERSION << 8) | 1;

/// Members of a design document that determine the rows of its views.
const MEMBERS: [&str; 3] = ["views", "options", "language"];

/// The views of a design document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesignViews {
    /// The views with a map function, in the order in which the engine returns their rows: by UTF-16 code units.
    pub views: Vec<DesignView>,
    /// Whether design documents are given to the map functions.
    pub include_design: bool,
    /// Whether documents that are given to the map functions have `_local_seq`.
    pub local_seq: bool,
    /// The members that determine the rows, each as JSON.
    members: [Option<String>; 3],
}

/// A view of a design document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesignView {
    /// Name of the view.
    pub name: String,
    /// Reduction of its rows.
    pub reduction: Option<Reduction>,
}

impl DesignViews {
    /// Parses the body of a design document. One whose language is `query` has indexes, but no views.
    pub fn read(body: Node<'_>) -> Result<Self, Refusal> {
        let members = MEMBERS.map(|name| last(body, name));
        let [views, options, language] = members;
        let option = |name| options.and_then(|options| last(options, name));
        if option("collation").is_some_and(|it| text(it).as_deref() == Some("raw")) {
            let reason = "views with the option `\"collation\":\"raw\"` are not supported";
            return Err(RefusalKind::NotImplemented.with_reason(reason));
        }
        let views = if is_javascript(language)? { read_views(views)? } else { Vec::new() };
        Ok(Self {
            views,
            include_design: option("include_design").and_then(boolean) == Some(true),
            local_seq: option("local_seq").and_then(boolean) == Some(true),
            members: members.map(|member| member.map(|member| member.raw().to_owned())),
        })
    }

    /// Returns the number and the definition of a view. CouchDB's error if there is no such view.
    pub fn find(&self, name: &str) -> Result<(usize, &DesignView), Refusal> {
        let mut views = self.views.iter().enumerate();
        let missing = || RefusalKind::NotFound.with_reason("missing_named_view");
        views.find(|(_, view)| view.name == name).ok_or_else(missing)
    }

    /// A digest of everything that determines rows and stored reductions besides the documents.
    pub fn signature(&self) -> [u8; 32] {
        let mut digest = Sha256::new();
        digest.update(VIEW_VERSION.to_be_bytes());
        for member in &self.members {
            // The length tells an absent member from an empty one, and members from each other.
            let length = member.as_ref().map_or(u64::MAX, |member| member.len() as u64);
            digest.update(length.to_be_bytes());
            digest.update(member.as_deref().unwrap_or_default());
        }
        digest.finalize().into()
    }

    /// The design document that map and reduce functions get. It has no other members, so that these functions do not
    /// depend on anything that is not in the [signature](Self::signature).
    pub fn source(&self) -> String {
        let mut out = String::from("{");
        for (name, member) in MEMBERS.iter().zip(&self.members) {
            if let Some(member) = member {
                out.push_str(if out.len() > 1 { "," } else { "" });
                out.push_str(&format!("\"{name}\":{member}"));
            }
        }
        out.push('}');
        out
    }
}

/// Whether the functions are in JavaScript; `false` for a design document of indexes.
fn is_javascript(language: Option<Node<'_>>) -> Result<bool, Refusal> {
    let Some(language) = language else { return Ok(true) };
    match language.string().as_deref() {
        Some("javascript") => Ok(true),
        Some("query") => Ok(false),
        _ => {
            let reason = format!("{} is not a supported language", language.raw());
            Err(RefusalKind::NotImplemented.with_reason(reason))
        }
    }
}

fn read_views(views: Option<Node<'_>>) -> Result<Vec<DesignView>, Refusal> {
    let Some(views) = views else { return Ok(Vec::new()) };
    if views.kind() != Kind::Object {
        return Err(invalid("`views` parameter must be an object."));
    }
    let mut all: Vec<DesignView> = Vec::new();
    let mut members: Vec<Member<'_>> = views.members().collect();
    // JavaScript orders texts by their UTF-16 code units. Of members with the same name the last one counts.
    members.sort_by(|one, other| one.name.encode_utf16().cmp(other.name.encode_utf16()));
    for (at, member) in members.iter().enumerate() {
        let is_replaced = members.get(at + 1).is_some_and(|next| next.name == member.name);
        if is_replaced || member.name == "lib" || last(member.value, "map").is_none() {
            continue;
        }
        if text(Node::root(member.quoted())).is_none() {
            return Err(invalid("the name of a view has half of a surrogate pair"));
        }
        let reduction = last(member.value, "reduce").map_or(Ok(None), Reduction::read)?;
        all.push(DesignView { name: member.name.clone().into_owned(), reduction });
    }
    Ok(all)
}

/// The last member with this name, which is the one that JavaScript takes.
fn last<'a>(object: Node<'a>, name: &str) -> Option<Node<'a>> {
    object.members().filter(|member| member.name == name).last().map(|member| member.value)
}

pub(super) fn invalid(reason: &str) -> Refusal {
    RefusalKind::InvalidDesign.with_reason(reason)
}
