//! Removes parts of web pages that an extraction by length and density of text keeps: navigation inside the article,
//! invitations to subscribe, and bars of links before and after the text.

use dom_query::{Document, NodeRef};

/// Elements that are never part of the text: navigation, and what is not meant for paper.
const NEVER_TEXT: &str = "nav, [role=navigation], .noprint, .no-print, .mw-editsection";

/// Elements that may invite readers to subscribe.
const INVITATIONS: &str = "[class*=newsletter], [id*=newsletter], [class*=subscribe], [id*=subscribe], \
     [class*=signup], [id*=signup], [class*=sign-up], [id*=sign-up]";

/// Maximum length of an invitation, in characters. A longer element is a part of the text with such a name.
const MAX_INVITATION: usize = 400;

/// Maximum length of a bar of links, in characters. A longer list of links may be what the article is about.
const MAX_BAR: usize = 200;

/// Maximum number of bars of links that are removed before and after the text.
const MAX_BARS: usize = 16;

/// Elements whose first and last children may be bars of links.
const CONTAINERS: [&str; 11] =
    ["article", "center", "div", "font", "main", "section", "span", "table", "tbody", "td", "tr"];

/// Removes parts of a page that are not text, before its article is searched.
pub(super) fn remove_furniture(page: &Document) {
    page.select(NEVER_TEXT).remove();
    for node in page.select(INVITATIONS).nodes() {
        let is_page = ["html", "body", "main", "article"].iter().any(|name| node.has_name(name));
        if !is_page && node.normalized_char_count() <= MAX_INVITATION {
            node.remove_from_parent();
        }
    }
}

/// Removes bars of links from the start and the end of an article.
pub(super) fn remove_bars(article: &NodeRef<'_>) {
    for is_end in [false, true] {
        for _ in 0..MAX_BARS {
            let Some(bar) = bar_at(article, is_end) else { break };
            bar.remove_from_parent();
        }
    }
}

/// Bar of links at the start or the end of an article.
fn bar_at<'a>(article: &NodeRef<'a>, is_end: bool) -> Option<NodeRef<'a>> {
    let mut outer = *article;
    loop {
        let shown = |node: &NodeRef<'a>| !node.find_descendants("img").is_empty() || has_text(node);
        let inner = outer.children_it(is_end).find(shown)?;
        if is_bar(&inner) {
            return Some(inner);
        }
        if !CONTAINERS.iter().any(|name| inner.has_name(name)) {
            return None;
        }
        outer = inner;
    }
}

fn has_text(node: &NodeRef<'_>) -> bool {
    node.is_nonempty_text() || node.descendants_it().any(|node| node.is_nonempty_text())
}

/// Whether an element has no text beside that of links, except signs between them.
fn is_bar(node: &NodeRef<'_>) -> bool {
    let is_other = ["a", "h1", "h2", "h3", "h4", "h5", "h6", "pre"];
    if !node.is_element() || is_other.iter().any(|name| node.has_name(name)) {
        return false;
    }
    if node.normalized_char_count() > MAX_BAR || !node.find_descendants("img").is_empty() {
        return false;
    }
    let words = |text: &str| text.chars().filter(|sign| sign.is_alphanumeric()).count();
    let linked: usize = node.find_descendants("a").iter().map(|link| words(&link.text())).sum();
    linked > 0 && linked >= words(&node.text())
}
