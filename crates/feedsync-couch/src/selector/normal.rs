//! Writes selectors in CouchDB's normal form: one condition an object, with all names of fields joined.

use feedsync_formats::json::push_string;

use super::rule::{Relation, Rule, Test};

/// Writes a condition on documents.
pub(super) fn written(rule: &Rule) -> String {
    match rule {
        Rule::All(rules) if rules.is_empty() => "{}".into(),
        _ => inner(rule),
    }
}

/// Writes a condition on elements or names. There the empty object would test equality.
fn inner(rule: &Rule) -> String {
    let mut out = String::new();
    push(&mut out, rule, &[]);
    out
}

/// Writes a condition on the field at a path.
fn push(out: &mut String, rule: &Rule, path: &[&str]) {
    match rule {
        Rule::All(rules) => push_each(out, "$and", rules, path),
        Rule::Any(rules) => push_each(out, "$or", rules, path),
        Rule::Field(names, rule) => {
            let names = names.iter().map(String::as_str);
            push(out, rule, &path.iter().copied().chain(names).collect::<Vec<_>>());
        }
        Rule::Not(rule) => {
            out.push_str("{\"$not\":");
            push(out, rule, path);
            out.push('}');
        }
        Rule::Test(test) => {
            let (operator, argument) = parts(test);
            push_test(out, path, operator, &argument);
        }
    }
}

fn push_each(out: &mut String, operator: &str, rules: &[Rule], path: &[&str]) {
    // Without conditions there is no object that could name the field.
    let is_empty = rules.is_empty() && push_name(out, path);
    out.push_str(&format!("{{\"{operator}\":["));
    for (at, rule) in rules.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        push(out, rule, path);
    }
    out.push_str("]}");
    out.push_str(if is_empty { "}" } else { "" });
}

fn push_test(out: &mut String, path: &[&str], operator: &str, argument: &str) {
    let is_named = push_name(out, path);
    out.push_str(&format!("{{\"{operator}\":{argument}}}"));
    out.push_str(if is_named { "}" } else { "" });
}

/// Begins an object with the name of a field, if there is a field.
fn push_name(out: &mut String, path: &[&str]) -> bool {
    if path.is_empty() {
        return false;
    }
    out.push('{');
    push_string(out, &joined(path));
    out.push(':');
    true
}

/// Writes a path as in requests.
pub(super) fn joined<T: AsRef<str>>(path: &[T]) -> String {
    path.iter().map(|name| escaped(name.as_ref())).collect::<Vec<_>>().join(".")
}

/// A name in a path. A backslash keeps a dot, a name that begins like an operator, and an empty name.
fn escaped(name: &str) -> String {
    let name = name.replace('.', "\\.");
    if name.is_empty() || name.starts_with('$') { format!("\\{name}") } else { name }
}

/// The operator of a test, and its argument.
fn parts(test: &Test) -> (&'static str, String) {
    match test {
        Test::Exists(exists) => ("$exists", exists.to_string()),
        Test::Kind { name, .. } => ("$type", name.node().raw().into()),
        Test::Relation(relation, operand) => (relation.operator(), operand.node().raw().into()),
        Test::In(operand) => ("$in", operand.node().raw().into()),
        Test::All(operand) => ("$all", operand.node().raw().into()),
        Test::Size(size) => ("$size", size.to_string()),
        Test::Remainder { divisor, remainder } => ("$mod", format!("[{divisor},{remainder}]")),
        Test::Begins(operand) => ("$beginsWith", operand.node().raw().into()),
        Test::Matches(pattern) => {
            let mut text = String::new();
            push_string(&mut text, pattern.as_str());
            ("$regex", text)
        }
        Test::Element(rule) => ("$elemMatch", inner(rule)),
        Test::EachElement(rule) => ("$allMatch", inner(rule)),
        Test::Name(rule) => ("$keyMapMatch", inner(rule)),
        Test::Not(test) => match &**test {
            Test::Relation(Relation::Equal, operand) => ("$ne", operand.node().raw().into()),
            Test::In(operand) => ("$nin", operand.node().raw().into()),
            test => {
                let (operator, argument) = parts(test);
                ("$not", format!("{{\"{operator}\":{argument}}}"))
            }
        },
    }
}
