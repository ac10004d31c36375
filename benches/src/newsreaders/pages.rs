//! Full texts of articles: web pages that one core processes in a minute.

use std::path::Path;
use std::time::Instant;

use feedsync_aggregator::extract;

use crate::measure::{ROUNDS, Times};

const ADDRESS: &str = "https://news.example/articles/1.html";

/// Labelled pages of the tests: short ones, with many layouts.
const LABELLED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/feedsync-aggregator/tests/full_text/pages");

/// A page as large as those of news sites: 100 kB of scripts, 600 links, 60 paragraphs and 300 comments.
fn large_page() -> Vec<u8> {
    let link = |number: usize| {
        format!(
            "<li class=\"item-{number}\"><a href=\"/section/{number}\">Section {number}</a></li>"
        )
    };
    let links: String = (0..600).map(link).collect();
    let sentence =
        "The ferry left at noon, since fog lay over the harbour, and the crew had to wait. ";
    let paragraph = format!("<p>{}</p>", sentence.repeat(5));
    let comment =
        format!("<div class=\"comment\"><p><b>Reader</b></p><p>{}</p></div>", sentence.repeat(2));
    format!(
        "<!DOCTYPE html><html><head><title>A page</title><script>{}</script></head><body>\
         <header><ul>{links}</ul></header><main><article><h1>A page</h1>{}</article></main>\
         <div id=\"comments\">{}</div><footer>{links}</footer></body></html>",
        "let a = '<p>text</p>';".repeat(4_500),
        paragraph.repeat(60),
        comment.repeat(300),
    )
    .into_bytes()
}

pub(crate) fn run() {
    let entries = std::fs::read_dir(LABELLED).expect("the labelled pages");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_page = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "html");
    let read =
        |path: std::path::PathBuf| std::fs::read(AsRef::<Path>::as_ref(&path)).expect("a page");
    let labelled: Vec<_> = paths.filter(is_page).map(read).collect();
    println!("\n## Full texts of articles\n");
    println!("| pages | bytes of a page | pages a minute on one core |");
    println!("|---|---|---|");
    let row = |name: &str, pages: &[Vec<u8>]| {
        let round = || {
            let begun = Instant::now();
            for page in pages {
                std::hint::black_box(extract(page, "text/html", ADDRESS).is_ok());
            }
            begun.elapsed()
        };
        let rate = Times::new((0..ROUNDS).map(|_| round()).collect()).rate(pages.len()) * 60.0;
        let bytes = pages.iter().map(Vec::len).sum::<usize>() / pages.len();
        println!("| {name} | {bytes} | {rate:.0} |");
    };
    row("labelled pages of the tests", &labelled);
    row("a page as large as those of news sites", &vec![large_page(); 20]);
}
