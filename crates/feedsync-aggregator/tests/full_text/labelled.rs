//! Pages with labels: sentences that belong to the article, and sentences that do not.
//!
//! Each page in `pages/` has a layout of its own. The file beside it has a label on each line: `+` and a sentence of
//! the article, `-` and a sentence of another part of the page, `*` and a part of the address of a picture of the
//! article, or `=` and the media type with which the page is served.

use std::collections::BTreeMap;
use std::path::Path;

use feedsync_aggregator::extract;

/// Pages of which the extraction is wrong, with the reasons.
const KNOWN_FAILURES: [(&str, &str); 3] = [
    (
        "forum-thread",
        "only the longest post is taken: posts of a thread are candidates that exclude each other",
    ),
    (
        "table-layout",
        "a table cell with navigation stays beside the cell with the text, as its sibling",
    ),
    ("xhtml", "a sentence in a footer stays whose class and element do not say that it is one"),
];

/// Percentage of pages that must be right.
const MIN_RIGHT: usize = 95;

const ADDRESS: &str = "https://pages.example/articles/1.html";

/// Returns the faults of the extraction for a page.
fn faults(page: &[u8], labels: &str) -> Vec<String> {
    let of = |kind| labels.lines().filter_map(move |label| label.strip_prefix(kind));
    let media_type = of("= ").next().unwrap_or("text/html");
    let html = match extract(page, media_type, ADDRESS) {
        Ok(html) => html,
        Err(error) => return vec![error.to_string()],
    };
    let text = spaced(&feedsync_formats::plain_text(&html));
    let missing = of("+ ").filter(|sentence| !text.contains(&spaced(sentence)));
    let missing = missing.map(|sentence| format!("without {sentence:?}"));
    let surplus = of("- ").filter(|sentence| text.contains(&spaced(sentence)));
    let surplus = surplus.map(|sentence| format!("with {sentence:?}"));
    let pictures = of("* ").filter(|part| !html.contains(*part));
    let pictures = pictures.map(|part| format!("without the picture {part:?}"));
    missing.chain(surplus).chain(pictures).collect()
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn text_of_nearly_all_labelled_pages_is_extracted() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/full_text/pages");
    let mut failures = BTreeMap::new();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "html") {
            continue;
        }
        let labels = std::fs::read_to_string(path.with_extension("labels")).unwrap();
        assert!(labels.contains("+ ") && labels.lines().count() > 2, "{path:?}");
        let faults = faults(&std::fs::read(&path).unwrap(), &labels);
        count += 1;
        if !faults.is_empty() {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            println!("{name}: {}", faults.join("; "));
            failures.insert(name, faults);
        }
    }
    let right = count - failures.len();
    println!("{right} of {count} labelled pages are extracted as their labels say");
    assert_eq!(count, 60);
    assert!(right * 100 >= count * MIN_RIGHT, "{right} of {count}: {failures:#?}");
    let known: Vec<_> = KNOWN_FAILURES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(failures.into_keys().collect::<Vec<_>>(), known, "the known failures have changed");
}
