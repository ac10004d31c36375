//! The configuration file: TOML, each setting with its line.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{ConfigurationError, RawValue};

/// Line, name and value of every setting of a file, in no particular order.
pub(super) fn read(
    file: &str,
    text: &str,
) -> Result<Vec<(usize, String, RawValue)>, ConfigurationError> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = line(text, error.span().map_or(0, |span| span.start));
        let message = error.message().to_owned();
        ConfigurationError { place: format!("{file}:{line}"), message }
    })?;
    let mut settings = Vec::new();
    for (key, value) in table.get_ref() {
        let place = line(text, key.span().start);
        match value.get_ref() {
            DeValue::Table(section) => {
                for (inner, value) in section {
                    let place = line(text, inner.span().start);
                    let name = format!("{}.{}", key.get_ref(), inner.get_ref());
                    settings.push((place, name.clone(), given(file, place, &name, value)?));
                }
            }
            _ => {
                let name = key.get_ref().to_string();
                settings.push((place, name.clone(), given(file, place, &name, value)?));
            }
        }
    }
    Ok(settings)
}

fn given(
    file: &str,
    line: usize,
    name: &str,
    value: &Spanned<DeValue<'_>>,
) -> Result<RawValue, ConfigurationError> {
    let scalar = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        _ => None,
    };
    let given = match value.get_ref() {
        DeValue::Array(values) => {
            values.iter().map(scalar).collect::<Option<_>>().map(RawValue::List)
        }
        _ => scalar(value).map(RawValue::Text),
    };
    given.ok_or_else(|| ConfigurationError {
        place: format!("{file}:{line}"),
        message: format!("{name} must be a text, a number or a list of texts or numbers"),
    })
}

/// The line of a byte, from 1.
fn line(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|byte| **byte == b'\n').count()
}
