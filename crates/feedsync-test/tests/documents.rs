//! Links between the documents of this repository have valid targets.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the documents: Markdown at the root and below `docs`.
fn documents() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![workspace().join("docs")];
    let root = fs::read_dir(workspace()).unwrap().map(|entry| entry.unwrap().path());
    found.extend(root.filter(|path| is_markdown(path)));
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => waiting.push(path),
                false if is_markdown(&path) => found.push(path),
                false => {}
            }
        }
    }
    found
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// Returns the text outside of code blocks and code spans.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// Returns the targets of inline links, with their lines joined.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let targets = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0));
    targets.map(|target| target.split_whitespace().collect()).collect()
}

/// Returns the anchors of headings, in the form of web sites of repositories and of mdBook.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| -> String {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let is_part = |it: &char| it.is_alphanumeric() || " -_".contains(*it);
        title.chars().filter(is_part).map(|it| if it == ' ' { '-' } else { it }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_between_documents_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    let mut checked = 0;
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            checked += 1;
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => document.clone(),
                file => document.parent().unwrap().join(file),
            };
            let leads = target.exists()
                && (anchor.is_empty()
                    || fs::read_to_string(&target)
                        .is_ok_and(|text| anchors(&text).contains(anchor)));
            if !leads {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(checked > 50, "only {checked} links were found");
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

#[test]
fn anchors_and_links_are_found() {
    let text = "# A list\n[one](a.md#b)\n```\n[two](c.md)\n```\n![three](images/d.png)";
    assert_eq!(links(text), ["a.md#b", "images/d.png"]);
    assert!(anchors("## What it *costs*, and why").contains("what-it-costs-and-why"));
}
