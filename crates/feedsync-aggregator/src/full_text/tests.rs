use super::*;

const ADDRESS: &str = "https://pages.example/articles/1.html";

const TEXT: &str = "<p>The ferry left at noon, since fog lay over the harbour, and the crew had to wait for hours.</p>\
     <p>Nobody had expected that, least of all the captain, who knew the river like no other.</p>";

fn html(page: &str) -> String {
    extract(page.as_bytes(), "text/html; charset=utf-8", ADDRESS).unwrap()
}

#[test]
fn addresses_are_resolved_against_the_page() {
    let page = format!(
        "<title>A</title><article>{TEXT}<p><a href=../b>A link</a> of them all.<img src=c.png>"
    );
    let html = html(&page);
    assert!(html.contains("href=\"https://pages.example/b\""), "{html}");
    assert!(html.contains("src=\"https://pages.example/articles/c.png\""), "{html}");
}

#[test]
fn pictures_that_scripts_would_load_stay_and_the_rest_of_noscript_goes() {
    let page = format!(
        "<title>A</title><article>{TEXT}<noscript>Turn on scripts! <img src=/a.png onerror=x()><p>b</noscript>{TEXT}"
    );
    let html = html(&page);
    assert!(html.contains("https://pages.example/a.png") && !html.contains("scripts!"), "{html}");
}

#[test]
fn parts_that_are_not_text_go() {
    let page = format!(
        "<title>A</title><body><article>{TEXT}<script>let a = '<p>script</p>';</script><style>p {{}}</style>\
         <iframe src=/frame>frame</iframe><textarea>area</textarea><svg><title>drawing</title></svg></article>"
    );
    let text = feedsync_formats::plain_text(&html(&page));
    for part in ["script", "p {}", "frame", "area", "drawing"] {
        assert!(!text.contains(part), "{text}");
    }
}

#[test]
fn documents_that_are_no_pages_are_refused_by_their_type() {
    let page = format!("<!DOCTYPE html><title>A</title><article>{TEXT}{TEXT}");
    for media_type in ["text/html", "TEXT/HTML;charset=x", "application/xhtml+xml", "", "text/xml"]
    {
        assert!(extract(page.as_bytes(), media_type, ADDRESS).is_ok(), "{media_type}");
    }
    for media_type in ["application/pdf", "text/plain; charset=utf-8", "image/png", "video/mp4"] {
        let error = extract(page.as_bytes(), media_type, ADDRESS).unwrap_err();
        let named = media_type.split(';').next().unwrap();
        assert_eq!(error, ExtractError::NotHtml { media_type: named.to_owned() });
    }
    let error = extract(b"%PDF-1.7", "", ADDRESS).unwrap_err();
    assert!(error.to_string().contains("an unknown type of document"), "{error}");
}

#[test]
fn pages_without_an_article_have_no_text() {
    let links = "<li><a href=/a>A link</a>".repeat(20);
    let form = "<form><input name=user><input name=password><button>Sign in</button></form>";
    for page in ["", "<p>", "plain", "<html><body></body></html>", form, &format!("<nav>{links}")] {
        let result = extract(page.as_bytes(), "text/html", ADDRESS);
        assert_eq!(result, Err(ExtractError::NoText), "{page}");
    }
}

#[test]
fn deep_pages_are_flattened_and_keep_their_text() {
    let page = format!("<title>A</title>{}{TEXT}{TEXT}", "<div>".repeat(100_000));
    let html = html(&page);
    assert!(html.contains("like no other"), "{html}");
}

#[test]
fn bars_of_links_around_the_text_go_and_lists_of_links_stay() {
    let bar = "<p><a href=/1>Previous</a> | <a href=/2>Next</a></p>";
    let list: String = (0..20)
        .map(|number| format!("<li><a href=/{number}>A story about the river {number}</a></li>"))
        .collect();
    let page =
        format!("<title>A</title><body><div>{bar}{TEXT}{TEXT}<ul>{list}</ul></div><hr>{bar}");
    let text = feedsync_formats::plain_text(&html(&page));
    assert!(!text.contains("Previous") && text.contains("river 19"), "{text}");
    let picture = format!("<title>A</title><div><p><a href=/1><img src=a.png></a></p>{TEXT}{TEXT}");
    assert!(html(&picture).contains("a.png"));
}

#[test]
fn short_invitations_go_and_long_texts_with_such_a_name_stay() {
    let page = format!(
        "<title>A</title><article>{TEXT}<div class=newsletter-box><p>Get our letter, every Friday.</p></div>\
         <div class=how-to-subscribe>{TEXT}{TEXT}{TEXT}</div></article>"
    );
    let text = feedsync_formats::plain_text(&html(&page));
    assert!(!text.contains("every Friday") && text.matches("least of all").count() == 4, "{text}");
}
