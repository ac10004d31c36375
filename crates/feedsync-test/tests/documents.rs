//! Links between the documents of this repository have valid targets, and the book has every document.

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
fn the_summary_of_the_book_has_every_document_once() {
    let folder = workspace().join("docs");
    let summary = folder.join("SUMMARY.md");
    let entries = links(&fs::read_to_string(&summary).unwrap());
    let absent: Vec<_> = entries.iter().filter(|entry| !folder.join(entry).is_file()).collect();
    assert!(absent.is_empty(), "docs/SUMMARY.md names documents that do not exist: {absent:?}");

    let pages = documents().into_iter().filter(|page| page.starts_with(&folder));
    let name = |page: PathBuf| page.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
    let is_listed_once = |page: &String| entries.iter().filter(|it| *it == page).count() == 1;
    let pages = pages.filter(|page| *page != summary).map(name);
    let unlisted: Vec<_> = pages.filter(|page| !is_listed_once(page)).collect();
    assert!(unlisted.is_empty(), "docs/SUMMARY.md does not have exactly once: {unlisted:?}");
}

#[test]
fn pages_of_the_book_refer_only_to_what_the_book_has() {
    let folder = workspace().join("docs");
    let book = folder.canonicalize().unwrap();
    let mut outside = Vec::new();
    for page in documents().into_iter().filter(|page| page.starts_with(&folder)) {
        let text = fs::read_to_string(&page).unwrap();
        let beside = |name: &str| page.parent().unwrap().join(name);
        for link in links(&text).iter().filter(|link| !link.contains("://")) {
            let file = link.split('#').next().unwrap();
            let target = beside(file).canonicalize();
            if !file.is_empty() && !target.is_ok_and(|target| target.starts_with(&book)) {
                outside.push(format!("{}: {link}", page.display()));
            }
        }
        // Included files, which mdBook reads from anywhere, exist and bring no links that break.
        for include in includes(&text) {
            match fs::read_to_string(beside(&include)) {
                Ok(included) if !include.ends_with(".md") || links(&included).is_empty() => {}
                _ => outside.push(format!("{}: {include}", page.display())),
            }
        }
    }
    assert!(outside.is_empty(), "links that lead out of the book:\n{}", outside.join("\n"));
}

/// Returns the files that a page includes.
fn includes(text: &str) -> Vec<String> {
    let directives = text.split("{{#include ").skip(1);
    let file = |rest: &str| rest.split(['}', ':']).next().unwrap().trim().to_owned();
    directives.map(file).collect()
}

#[test]
fn tests_that_the_list_of_clients_names_exist() {
    let text = fs::read_to_string(workspace().join("docs/how-to/clients.md")).unwrap();
    let spans = text.split('`').skip(1).step_by(2).filter(|span| span.ends_with(".rs"));
    let file = |span: &str| match span.contains('/') {
        true => workspace().join(span),
        false => workspace().join("crates/feedsync-cli/tests").join(span),
    };
    let tests: Vec<_> = spans.map(file).collect();
    assert!(tests.len() > 20, "only {} tests were found", tests.len());
    let absent: Vec<_> = tests.iter().filter(|test| !test.is_file()).collect();
    assert!(absent.is_empty(), "docs/how-to/clients.md names tests that do not exist: {absent:?}");
}

#[test]
fn files_of_crates_that_documents_name_exist() {
    let mut absent = Vec::new();
    let mut checked = 0;
    for document in documents() {
        let text = prose(&fs::read_to_string(&document).unwrap());
        let spans = text.split('`').skip(1).step_by(2).map(str::trim);
        for file in spans.filter(|span| span.starts_with("crates/") && !span.contains(' ')) {
            checked += 1;
            if !workspace().join(file).exists() {
                absent.push(format!("{}: {file}", document.display()));
            }
        }
    }
    assert!(checked > 50, "only {checked} files were found");
    assert!(absent.is_empty(), "files that do not exist:\n{}", absent.join("\n"));
}

#[test]
fn anchors_and_links_are_found() {
    let text = "# A list\n[one](a.md#b)\n```\n[two](c.md)\n```\n![three](images/d.png)";
    assert_eq!(links(text), ["a.md#b", "images/d.png"]);
    assert!(anchors("## What it *costs*, and why").contains("what-it-costs-and-why"));
    let text = "{{#include ../a.md}}\n{{#include b.rs:3:5}}";
    assert_eq!(includes(text), ["../a.md", "b.rs"]);
}
