//! Rules of cleaning: which elements, attributes and addresses stay, by purpose.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use ammonia::{Builder, Url, UrlRelative};
use sha2::{Digest as _, Sha256};

use super::{ArticlePictures, Purpose};
use crate::http::validators::half;

/// Maximum number of pictures of an article. Further ones are shown as their descriptions.
const MAX_PICTURES: usize = 1_000;

/// Maximum size of the address of a picture, in bytes.
const MAX_ADDRESS_BYTES: usize = 4 << 10;

/// Removes unsafe content from a document that is within limits. Returns the safe HTML and its pictures.
pub(super) fn apply(html: &str, purpose: &Purpose) -> (String, ArticlePictures) {
    match purpose {
        Purpose::Item => (ITEMS.clean(html).to_string(), ArticlePictures::new()),
        Purpose::Newsreader => (NEWSREADERS.clean(html).to_string(), ArticlePictures::new()),
        Purpose::Article { base, pictures } => readable(html, base.clone(), pictures.clone()),
    }
}

/// Returns the safe HTML of an article, and its pictures. Only if they are loaded do they keep their attributes,
/// and then their addresses lead to the hub.
fn readable(html: &str, base: Option<Url>, hub: Option<String>) -> (String, ArticlePictures) {
    let found = Arc::new(Mutex::new(ArticlePictures::new()));
    let pictures = Arc::clone(&found);
    let mut builder = cleaner();
    builder
        // Elements that name a part of a page must belong to this page only.
        .rm_tags(["area", "map", "nav"])
        .add_tag_attributes("img", ["src", "width", "height"])
        .set_tag_attribute_value("img", "loading", "lazy")
        // The filter resolves all relative addresses. Those of pictures on the hub must stay relative.
        .url_relative(UrlRelative::PassThrough)
        .attribute_filter(move |element, attribute, value| match (element, attribute) {
            ("a", "href") => resolved(value, base.as_ref()),
            ("img", "src") => {
                let mut pictures = pictures.lock().unwrap_or_else(PoisonError::into_inner);
                let name = add_picture(&mut pictures, value, base.as_ref())?;
                hub.as_ref().map(|hub| Cow::Owned(format!("{hub}{name}")))
            }
            ("img", "alt" | "title") => Some(Cow::Borrowed(value)),
            ("img", _) => hub.is_some().then_some(Cow::Borrowed(value)),
            _ => Some(Cow::Borrowed(value)),
        });
    let clean = builder.clean(html).to_string();
    let pictures = std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
    (below_the_title(clean), pictures)
}

/// Returns an absolute address as it is, and a relative one resolved against the base.
fn resolved<'a>(address: &'a str, base: Option<&Url>) -> Option<Cow<'a, str>> {
    match Url::parse(address) {
        Ok(_) => Some(Cow::Borrowed(address)),
        Err(_) => Some(Cow::Owned(base?.join(address).ok()?.into())),
    }
}

/// Adds the picture at an address to those of an article, and returns its name.
fn add_picture(
    pictures: &mut ArticlePictures,
    address: &str,
    base: Option<&Url>,
) -> Option<String> {
    let mut url = Url::options().base_url(base).parse(address).ok()?;
    // The part behind `#` is not sent to servers.
    url.set_fragment(None);
    let is_web = matches!(url.scheme(), "http" | "https");
    if !is_web || url.as_str().len() > MAX_ADDRESS_BYTES {
        return None;
    }
    let name = half(&Sha256::digest(url.as_str()));
    if pictures.len() >= MAX_PICTURES && !pictures.contains_key(&name) {
        return None;
    }
    pictures.insert(name.clone(), url.into());
    Some(name)
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
