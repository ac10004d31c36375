//! Rules of cleaning: which elements, attributes and addresses stay, by purpose.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use ammonia::{Builder, Url, UrlRelative};

use super::Purpose;

/// Removes unsafe content from a document that is within limits. Returns the safe HTML and its number of
/// pictures.
pub(super) fn apply(html: &str, purpose: &Purpose) -> (String, usize) {
    match purpose {
        Purpose::Item => (ITEMS.clean(html).to_string(), 0),
        Purpose::Newsreader => (NEWSREADERS.clean(html).to_string(), 0),
        Purpose::Article { base, pictures } => readable(html, base.clone(), *pictures),
    }
}

/// Returns the safe HTML of an article, and its number of pictures.
fn readable(html: &str, base: Option<Url>, with_pictures: bool) -> (String, usize) {
    let pictures = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&pictures);
    let mut builder = cleaner();
    builder
        // Elements that name a part of a page must belong to this page only.
        .rm_tags(["area", "map", "nav"])
        .add_tag_attributes("img", ["src", "width", "height"])
        .set_tag_attribute_value("img", "loading", "lazy")
        .attribute_filter(move |element, attribute, value| {
            if (element, attribute) == ("img", "src") {
                counted.fetch_add(1, Ordering::Relaxed);
            }
            let is_kept = with_pictures || element != "img" || matches!(attribute, "alt" | "title");
            is_kept.then_some(Cow::Borrowed(value))
        });
    if let Some(base) = base {
        builder.url_relative(UrlRelative::RewriteWithBase(base));
    }
    let clean = builder.clean(html).to_string();
    (below_the_title(clean), pictures.load(Ordering::Relaxed))
}

/// Lowers headings by one level, below the title of the article. Cleaned HTML has tags in one spelling.
fn below_the_title(mut html: String) -> String {
    for level in (1..6).rev() {
        for tag in ["<h", "</h"] {
            html = html.replace(&format!("{tag}{level}"), &format!("{tag}{}", level + 1));
        }
    }
    html
}

static ITEMS: LazyLock<Builder<'static>> = LazyLock::new(cleaner);

static NEWSREADERS: LazyLock<Builder<'static>> = LazyLock::new(|| {
    let mut builder = Builder::default();
    builder
        .add_tags(["audio", "video", "source"])
        .add_tag_attributes("audio", ["src", "controls"])
        .add_tag_attributes("video", ["src", "controls", "poster", "width", "height"])
        .add_tag_attributes("source", ["src", "type"])
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer"));
    builder
});

fn cleaner() -> Builder<'static> {
    let mut builder = Builder::default();
    builder
        // Loading a picture would reveal the reader to its server, so its description is shown instead.
        .tag_attributes(HashMap::from([
            ("a", HashSet::from(["href", "hreflang"])),
            ("img", HashSet::from(["alt"])),
            ("ol", HashSet::from(["start"])),
            ("td", HashSet::from(["colspan", "rowspan"])),
            ("th", HashSet::from(["colspan", "rowspan", "scope"])),
        ]))
        .generic_attributes(HashSet::from(["dir", "lang", "title"]))
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(UrlRelative::Deny)
        .link_rel(Some("noopener noreferrer nofollow"));
    builder
}
