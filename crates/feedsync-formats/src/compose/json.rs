//! A FeedSync JSON object: `id`, `title`, `content` and so on, each a string or a list.

use crate::entry::{ContentType, Entry};
use crate::json::push_string;

pub(super) fn text(entry: &Entry, extension: &str) -> String {
    let mut object = Object::new();
    object.member("id", entry.id.as_deref());
    object.member("title", Some(entry.title.as_deref().unwrap_or_default()));
    object.member("content", entry.content.as_deref());
    if entry.content.is_some() && entry.content_type != ContentType::Text {
        object.member("content_type", Some(entry.content_type.name()));
    }
    object.member("summary", entry.summary.as_deref());
    if let Some(author) = &entry.author {
        let mut person = Object::new();
        person.member("name", author.name.as_deref());
        person.member("email", author.email.as_deref());
        person.member("uri", author.uri.as_deref());
        object.raw("author", &person.end());
    }
    object.member("published", entry.published.map(|date| date.to_string()).as_deref());
    object.member("updated", entry.updated.map(|date| date.to_string()).as_deref());
    object.list("links", &entry.links, |link| {
        let mut object = Object::new();
        object.member("rel", Some(&link.rel));
        object.member("href", Some(&link.href));
        object.member("type", link.media_type.as_deref());
        object.member("title", link.title.as_deref());
        object.member("length", link.length.map(|length| length.to_string()).as_deref());
        object.end()
    });
    object.list("categories", &entry.categories, |category| {
        let mut object = Object::new();
        object.member("term", Some(&category.term));
        object.member("scheme", category.scheme.as_deref());
        object.member("label", category.label.as_deref());
        object.end()
    });
    if !extension.is_empty() {
        object.comma();
        object.0.push_str(extension);
    }
    object.end()
}

struct Object(String);

impl Object {
    fn new() -> Self {
        Self(String::from("{"))
    }

    fn comma(&mut self) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
    }

    fn raw(&mut self, name: &str, value: &str) {
        self.comma();
        push_string(&mut self.0, name);
        self.0.push(':');
        self.0.push_str(value);
    }

    fn member(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            let mut value = String::new();
            push_string(&mut value, text);
            self.raw(name, &value);
        }
    }

    fn list<T>(&mut self, name: &str, elements: &[T], write: impl Fn(&T) -> String) {
        if !elements.is_empty() {
            let elements: Vec<String> = elements.iter().map(write).collect();
            self.raw(name, &format!("[{}]", elements.join(",")));
        }
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_type_is_written_unless_it_is_plain_text() {
        let says = |content: Option<&str>, content_type: ContentType| {
            let content = content.map(str::to_owned);
            text(&Entry { content, content_type, ..Entry::default() }, "").contains("content_type")
        };
        assert!(says(Some("c"), ContentType::Html));
        assert!(!says(Some("c"), ContentType::Text));
        assert!(!says(None, ContentType::Html));
        assert!(!says(None, ContentType::Text));
    }
}
