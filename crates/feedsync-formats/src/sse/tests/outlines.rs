//! Outlines: order, hierarchy and cycles (3.2, 4.4.2; R-S7 to R-S13).

use feedsync_core::ItemId;
use feedsync_core::sse::{Claim, Tree, order};

use super::*;
use crate::sse::MergeError;

/// Returns an outline with a version for each name, and with other outlines in it.
fn outline(id: &str, by: &[&str], inside: &str) -> String {
    format!("<outline text=\"{id}\">{}{inside}</outline>", sync(id, by, ""))
}

/// Returns the outlines that take part in sharing, as `parent(child child(...))`.
fn shape(text: &str) -> String {
    show(&order(&read(text).claims()), None)
}

fn show(tree: &Tree, parent: Option<ItemId>) -> String {
    let Some(children) = tree.get(&parent) else { return String::new() };
    let children: Vec<String> = children
        .iter()
        .map(|id| match show(tree, Some(id.clone())) {
            inside if inside.is_empty() => id.to_string(),
            inside => format!("{id}({inside})"),
        })
        .collect();
    children.join(" ")
}

/// Returns the positions of the outlines in the text, without their claims.
pub(super) fn nested_claims(text: &str) -> Vec<Claim> {
    let mut pieces = text.split("fs:version=");
    let mut unclaimed = pieces.next().unwrap_or_default().to_owned();
    for (number, piece) in pieces.enumerate() {
        unclaimed.push_str(&format!("fs:was{number}={piece}"));
    }
    read(&unclaimed).claims()
}

/// Returns the outlines as they are nested in the text, without their claims.
fn nested(text: &str) -> String {
    show(&order(&nested_claims(text)), None)
}

#[test]
fn the_payload_of_an_outline_excludes_its_child_outlines() {
    let text = opml(&format!(
        "<outline TEXT='a' xmlUrl='u'><!-- note -->{}<x:y xmlns:x='urn:x'/>\n{}</outline>",
        sync("a", &["X"], ""),
        outline("b", &["X"], "")
    ));
    let document = read(&text);
    let payloads: Vec<&str> = document.items().map(|item| item.payload.text()).collect();
    assert_eq!(
        payloads,
        [
            "<outline TEXT='a' xmlUrl='u'><!-- note --><x:y xmlns:x='urn:x'/></outline>",
            "<outline text=\"b\"/>"
        ]
    );
}

#[test]
fn items_inside_furniture_belong_to_the_nearest_item_around_it() {
    let text = opml(&outline(
        "a",
        &["X"],
        &format!(
            "<outline text='f'>{}</outline>{}",
            outline("b", &["X"], ""),
            outline("c", &["X"], "")
        ),
    ));
    assert_eq!(shape(&text), "a(b c)");
    assert_eq!(read(&text).plain_items(), 1);
}

#[test]
fn a_claim_holds_for_its_version_only() {
    let claim = |version: u8| {
        format!(
            " xmlns:fs=\"urn:feedsync:1\" fs:version=\"{version}\" fs:parent=\"a\" fs:index=\"7\""
        )
    };
    let text = |version| {
        opml(&format!(
            "{}<outline>{}</outline>",
            outline("a", &["X"], ""),
            sync("b", &["Y", "X"], &claim(version))
        ))
    };
    assert_eq!(shape(&text(2)), "a(b)");
    assert_eq!(shape(&text(1)), "a b");
}

#[test]
fn a_moved_outline_takes_its_place_over_and_its_children_along() {
    let local = opml(&format!(
        "{}\n{}",
        outline("a", &["X"], &outline("b", &["X"], &outline("c", &["X"], ""))),
        outline("d", &["X"], "")
    ));
    let incoming = opml(&format!(
        "{}\n{}",
        outline("a", &["X"], ""),
        outline("d", &["X"], &outline("b", &["Y", "X"], ""))
    ));
    let (text, outcomes) = merged(&local, &incoming);
    assert_eq!(outcomes, [Outcome::Unchanged, Outcome::Unchanged, Outcome::Updated]);
    assert_eq!(shape(&text), "a d(b(c))");
    assert_eq!(nested(&text), "a d(b(c))");
    assert!(text.contains("fs:version=\"2\" fs:parent=\"d\" fs:index=\"0\""), "{text}");
}

#[test]
fn a_child_edited_here_stays_with_its_parent_moved_there() {
    let base = |a: &[&str], child: &[&str]| {
        opml(&format!(
            "{}{}",
            outline("a", a, &outline("child", child, "")),
            outline("b", &["X"], "")
        ))
    };
    let moved =
        opml(&outline("b", &["X"], &outline("a", &["M", "X"], &outline("child", &["X"], ""))));
    let edited = base(&["X"], &["E", "X"]);
    for (local, incoming) in [(&edited, &moved), (&moved, &edited)] {
        let (text, _) = merged(local, incoming);
        assert_eq!(nested(&text), "b(a(child))", "{text}");
        let child = read(&text);
        let child = child.items().find(|item| item.id.as_str() == "child").unwrap();
        assert_eq!(child.history.latest.by().unwrap().as_str(), "E");
    }
}

#[test]
fn two_new_outlines_in_one_place_stand_by_id_at_both_ends() {
    let base = outline("m", &["X"], "");
    let (at_b, at_c) = (
        opml(&format!("{}\n{base}", outline("b", &["B"], ""))),
        opml(&format!("{}\n{base}", outline("c", &["C"], ""))),
    );
    let shapes = [merged(&at_b, &at_c).0, merged(&at_c, &at_b).0].map(|text| nested(&text));
    assert_eq!(shapes, ["b c m", "b c m"]);
}

#[test]
fn siblings_in_another_order_keep_indentation_and_furniture() {
    let local = opml(&format!(
        "  {}\n  <outline text='f'>\n    {}\n  </outline>\n  {}",
        outline("a", &["X"], ""),
        outline("b", &["X"], ""),
        outline("c", &["X"], "")
    ));
    let incoming = opml(&format!(
        "{}{}{}",
        outline("c", &["Y", "X"], ""),
        outline("a", &["X"], ""),
        outline("b", &["X"], "")
    ));
    let (text, _) = merged(&local, &incoming);
    // Outline c claims index 0, which a also has. Then a comes first because of its id.
    assert_eq!(nested(&text), "a c b", "{text}");
    assert!(text.contains("<outline text='f'>\n    <outline text=\"c\">"), "{text}");
    assert!(
        text.contains(&format!("\n  </outline>\n  {}\n</body>", outline("b", &["X"], ""))),
        "{text}"
    );
}

#[test]
fn a_partial_feed_changes_parents_but_not_the_order() {
    let part = |inside: &str| {
        opml(inside).replace(
            "<head/>",
            "<head><sx:sharing version='0.91' since='1 Jan 2005 00:00 GMT'/></head>",
        )
    };
    let local = opml(&format!("{}{}", outline("a", &["X"], ""), outline("z", &["X"], "")));
    let (text, _) = merged(
        &local,
        &part(&format!("{}{}", outline("z", &["Y", "X"], ""), outline("n", &["Y"], ""))),
    );
    assert_eq!(nested(&text), "a z n");
    let (text, _) = merged(&local, &part(&outline("a", &["X"], &outline("z", &["Y", "X"], ""))));
    assert_eq!(nested(&text), "a(z)");
}

#[test]
fn a_cycle_is_broken_at_its_lowest_id_and_flagged_without_a_new_version() {
    // One document has a inside b, the other b inside a.
    let here = opml(&outline("b", &["X"], &outline("a", &["H", "X"], "")));
    let there = opml(&outline("a", &["X"], &outline("b", &["T", "X"], &outline("c", &["X"], ""))));
    for (local, incoming) in [(&here, &there), (&there, &here)] {
        let merged = read(local).merge(&read(incoming)).unwrap();
        assert_eq!(merged.moved, [ItemId::new("a").unwrap()]);
        let text = String::from_utf8(merged.bytes).unwrap();
        assert_eq!(nested(&text), "a(b(c))", "{text}");
        let document = read(&text);
        for item in document.items() {
            assert_eq!(item.conflict, item.id.as_str() == "a", "{text}");
        }
        let a = document.items().find(|item| item.id.as_str() == "a").unwrap();
        assert_eq!(a.version.get(), 2);
        let again = read(&text).merge(&read(incoming)).unwrap();
        assert_eq!(String::from_utf8(again.bytes).unwrap(), text);
    }
}

#[test]
fn a_deleted_parent_keeps_its_children_in_it() {
    let local = opml(&outline("a", &["X"], &format!("\n  {}\n", outline("b", &["X"], ""))));
    let incoming =
        opml(&format!("<outline>{}</outline>", sync("a", &["D", "X"], " deleted=\"true\"")));
    let (text, _) = merged(&local, &incoming);
    assert_eq!(nested(&text), "a(b)");
    assert!(read(&text).items().next().unwrap().deleted);
    assert!(text.contains(&format!("<outline>\n  {}", outline("b", &["X"], ""))), "{text}");
}

#[test]
fn moved_outlines_and_furniture_keep_their_inherited_properties() {
    let inner = format!("<outline text='f' x:a='1'/>{}", outline("c", &["X"], ""));
    let local = opml(&format!(
        "<outline text='a' xmlns:x='urn:x' xml:lang='de'>{}{}</outline>{}",
        sync("a", &["X"], ""),
        outline("b", &["X"], &inner),
        outline("d", &["X"], "")
    ));
    let incoming = opml(&outline("d", &["X"], &outline("b", &["Y", "X"], "")));
    let (text, _) = merged(&local, &incoming);
    assert_eq!(nested(&text), "a d(b(c))", "{text}");
    assert!(
        text.contains("<outline xmlns:x=\"urn:x\" xml:lang=\"de\" text='f' x:a='1'/>"),
        "{text}"
    );
    let c = |text: &str| {
        read(text).items().find(|item| item.id.as_str() == "c").unwrap().payload.clone()
    };
    assert_eq!(c(&text), c(&local));
}

#[test]
fn outlines_nested_too_deep_together_are_refused() {
    let mut options = ReadOptions::strict();
    options.limits.depth = 12;
    let chain = |ids: &[&str], by: &[&str]| {
        ids.iter().rev().fold(String::new(), |inside, id| outline(id, by, &inside))
    };
    let local = opml(&format!(
        "{}{}",
        chain(&["a", "b", "c", "d", "e"], &["X"]),
        chain(&["p", "q", "r", "s", "t"], &["X"])
    ));
    let moved = chain(&["a", "b", "c", "d", "e"], &["X"])
        .replace(&outline("e", &["X"], ""), &outline("e", &["X"], &outline("p", &["Y", "X"], "")));
    let local = Document::read(local.as_bytes(), &options).unwrap();
    let incoming = read(&opml(&moved));
    assert_eq!(local.merge(&incoming), Err(MergeError::Depth { limit: 12 }));
}
