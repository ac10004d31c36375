//! Service and categories documents.

use super::{assert_only, faults, findings};
use crate::entry::Category;
use crate::validate::{Contents, validate};
use crate::{AppCategories, AppCollection, categories_document, service_document};

fn service(inside: &str) -> String {
    format!(
        "<app:service xmlns:app='http://www.w3.org/2007/app' xmlns='http://www.w3.org/2005/Atom'>\
         {inside}</app:service>"
    )
}

fn workspace(inside: &str) -> String {
    service(&format!("<app:workspace><title>w</title>{inside}</app:workspace>"))
}

fn collection(inside: &str) -> String {
    workspace(&format!("<app:collection href='c'><title>c</title>{inside}</app:collection>"))
}

fn categories(attributes: &str, inside: &str) -> String {
    format!(
        "<app:categories xmlns:app='http://www.w3.org/2007/app' xmlns='http://www.w3.org/2005/Atom' \
         {attributes}>{inside}</app:categories>"
    )
}

#[test]
fn documents_that_a_hub_writes_are_without_findings() {
    let category = |term: &str, scheme: Option<&str>| Category {
        term: term.to_owned(),
        scheme: scheme.map(str::to_owned),
        label: None,
    };
    let list = vec![category("a", None), category("b", Some("urn:t"))];
    let offered = AppCategories { fixed: true, scheme: Some("urn:s".to_owned()), list };
    let one = AppCollection {
        href: "http://hub/collections/notes".to_owned(),
        title: "Notes".to_owned(),
        accept: vec!["application/atom+xml;type=entry".to_owned(), "image/*".to_owned()],
        categories: Some(offered.clone()),
    };
    let none = AppCollection { accept: Vec::new(), categories: None, ..one.clone() };
    for (text, contents) in [
        (service_document("w", &[one, none]), Contents::Service { workspaces: 1, collections: 2 }),
        (service_document("w", &[]), Contents::Service { workspaces: 1, collections: 0 }),
        (categories_document(&offered), Contents::Categories { categories: 2 }),
    ] {
        assert_eq!(findings(&text), [""; 0]);
        assert_eq!(validate(text.as_bytes()).contents, Ok(contents));
    }
}

#[test]
fn optional_parts_of_a_service_document_are_accepted() {
    let foreign = "<x:a xmlns:x='urn:x'><x:b/>text</x:a><subtitle>extension</subtitle>";
    for text in [
        service(&format!(
            "<app:workspace><title type='html'>&lt;b></title></app:workspace>{foreign}"
        )),
        workspace(foreign),
        collection(foreign),
        collection("<app:accept/>"),
        collection("<app:accept>*/*</app:accept><app:accept> image/png </app:accept>"),
        collection("<app:accept>text/plain;charset=\"a;b\"</app:accept>"),
        collection("<app:categories href='cats'/><app:categories fixed='no'/>"),
        categories("", "<x:a xmlns:x='urn:x'/>"),
        categories("href='c'", ""),
        categories("fixed='yes' scheme='http://h/s'", "<category term=''>note</category>"),
    ] {
        assert_eq!(findings(&text), [""; 0], "{text}");
    }
}

#[test]
fn faults_of_a_service_document_have_place_and_clause() {
    for (text, clause) in [
        (format!("@{}", service("")), "RFC 5023 8.3.1"),
        (service("@text<app:workspace><title/></app:workspace>"), "RFC 5023 8.3.1"),
        (service("@<app:workspace/>"), "RFC 5023 8.3.2.1"),
        (service("@<app:workspace><x:a xmlns:x='urn:x'/></app:workspace>"), "RFC 5023 8.3.2.1"),
        (service("<app:workspace>@<app:title>t</app:title></app:workspace>"), "RFC 5023 8.3.2.1"),
        (workspace("@<title>second</title>"), "RFC 5023 8.3.2.1"),
        (workspace("@text"), "RFC 5023 8.3.2"),
        (workspace("@<app:collection><title/></app:collection>"), "RFC 5023 8.3.3.1"),
        (workspace("<app:collection @href='a b'><title/></app:collection>"), "RFC 5023 8.3.3.1"),
        (workspace("@<app:collection href='c'/>"), "RFC 5023 8.3.3.2"),
        (collection("@<title/>"), "RFC 5023 8.3.3.2"),
        (collection("@text"), "RFC 5023 8.3.3"),
        (collection("@<app:accept>image/png, image/gif</app:accept>"), "RFC 5023 8.3.4"),
        (collection("@<app:accept>entry</app:accept>"), "RFC 5023 8.3.4"),
        (collection("@<app:accept>image</app:accept>"), "RFC 5023 8.3.4"),
        (collection("@<app:accept>*/png</app:accept>"), "RFC 5023 8.3.4"),
        (collection("<app:accept>@<b/></app:accept>"), "RFC 5023 8.3.4"),
        (collection("<app:categories href='c' @fixed='yes'/>"), "RFC 5023 8.3.6"),
        (collection("<app:categories href='c' @scheme='urn:s'/>"), "RFC 5023 8.3.6"),
        (collection("<app:categories @href='a b'/>"), "RFC 5023 8.3.6"),
        (
            collection("<app:categories href='c'>@<category term='t'/></app:categories>"),
            "RFC 5023 8.3.6",
        ),
        (collection("<app:categories @fixed='maybe'/>"), "RFC 5023 7.2.1.1"),
        (
            service(
                "@<app:collection href='c'><title/></app:collection><app:workspace><title/></app:workspace>",
            ),
            "RFC 5023 8.3.3",
        ),
        (workspace("@<app:accept/>"), "RFC 5023 8.3.4"),
        (workspace("@<app:categories/>"), "RFC 5023 8.3.6"),
        (collection("@<app:workspace><title/></app:workspace>"), "RFC 5023 8.3.2"),
        (collection("@<app:control/>"), "RFC 5023 13.1"),
        (categories("@fixed='x'", ""), "RFC 5023 7.2.1.1"),
        (categories("@scheme='relative'", ""), "RFC 5023 7.2.1.2"),
        (categories("", "@<category/>"), "RFC 4287 4.2.2.1"),
        (categories("", "@<category label='l'/>"), "RFC 4287 4.2.2.1"),
        (categories("", "<category term='t' @scheme='relative'/>"), "RFC 4287 4.2.2.2"),
        (categories("", "@<app:category term='t'/>"), "RFC 5023 7.2.1"),
    ] {
        let found = faults(&text.replacen('@', "", 1));
        assert_eq!(found.len(), 1, "{found:#?}\n{text}");
        if !text.contains("app:title") && !text.contains("app:category ") {
            assert_only(&text, "fault", clause);
        } else {
            assert!(found[0].ends_with(&format!("({clause})")), "{found:?}");
        }
    }
    assert_only(
        &collection("<app:accept>a/b</app:accept>@<app:accept/>"),
        "warning",
        "RFC 5023 8.3.4",
    );
}

#[test]
fn a_document_in_a_wrong_namespace_is_no_service_document() {
    for (text, clause) in [
        ("@<service/>", "RFC 5023 6.1"),
        ("<service @xmlns='http://purl.org/atom/app#'/>", "RFC 5023 6.1"),
        ("<service @xmlns='http://www.w3.org/2007/app/'/>", "RFC 5023 6.1"),
        ("@<categories/>", "RFC 5023 6.1"),
        ("@<workspace xmlns='http://www.w3.org/2007/app'/>", "RFC 5023 8.3.2"),
    ] {
        assert_only(text, "fault", clause);
        assert!(validate(text.replace('@', "").as_bytes()).contents.is_err(), "{text}");
    }
    let torn = validate(service("<app:workspace>").as_bytes());
    assert!(torn.contents.is_err() && torn.findings.is_empty(), "{torn:?}");
}
