//! Functions as CouchDB executes them, and functions that attack.

use std::time::{Duration, Instant};

use super::{Limits, Sandbox};
use crate::{Call, CallError, ReduceList};

mod attacks;
mod process;

/// A design document with views, whose other members are given.
fn design(views: &[(&str, &str)], more: &str) -> String {
    let views: Vec<_> = views
        .iter()
        .map(|(name, map)| format!("{}:{{\"map\":{}}}", quoted(name), quoted(map)))
        .collect();
    format!("{{\"views\":{{{}}}{more}}}", views.join(","))
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    feedsync_formats::json::push_string(&mut out, text);
    out
}

fn sandbox(design: &str) -> Sandbox {
    Sandbox::new(design, Limits::default()).unwrap()
}

/// The rows of one view for one document.
fn mapped(map: &str, document: &str) -> Result<String, CallError> {
    sandbox(&design(&[("v", map)], "")).call(&Call::Map { documents: &[document] })
}

#[test]
fn map_functions_emit_rows() {
    for (map, rows) in [
        (
            "function (doc) { emit(doc.a, doc.b); emit(null, [doc._id]); }",
            r#"[1,"x"],[null,["i"]]"#,
        ),
        ("(doc) => emit(doc.a)", "[1,null]"),
        ("function(doc) { emit([doc.a, undefined], undefined) };\n", "[[1,null],null]"),
        (
            "function named(doc) { for (const a of [2, 1]) emit(a, {z: 1, a: 2}); }",
            r#"[2,{"z":1,"a":2}],[1,{"z":1,"a":2}]"#,
        ),
        ("// a comment\nfunction (doc) { if (doc.missing) emit(1, 1); }", ""),
        (
            "function (doc) { const o = {n: 1}; emit(1, o); o.n = 2; emit(2, o); }",
            r#"[1,{"n":1}],[2,{"n":2}]"#,
        ),
        (
            "function (doc) { emit(isArray([]), sum([1, 2, 3])); log('x'); emit(0, toJSON({a: 1})); }",
            r#"[true,6],[0,"{\"a\":1}"]"#,
        ),
        ("function (doc) { emit('\\ud800', '\\u0000'); }", r#"["\ud800","\u0000"]"#),
        (
            "function (doc) { emit(/b(.)/.exec('abc')[1], new Date(0).toISOString()); }",
            r#"["c","1970-01-01T00:00:00.000Z"]"#,
        ),
        // An exception means no rows of this document, also of those before it.
        ("function (doc) { emit(1, 1); throw new Error('x'); }", ""),
        ("function (doc) { emit(1, 1); undefined.x; }", ""),
        // A document cannot be changed.
        ("function (doc) { doc.a = 7; delete doc.b; emit(doc.a, doc.b); }", r#"[1,"x"]"#),
    ] {
        let document = r#"{"_id":"i","a":1,"b":"x"}"#;
        assert_eq!(mapped(map, document), Ok(format!("[[[{rows}]]]")), "{map}");
    }
}

#[test]
fn all_views_get_all_documents() {
    let modules = r#","x":1"#;
    let mut sandbox = sandbox(&design(
        &[
            ("b", "function (doc) { emit(doc.n, 'b') }"),
            ("a", "function (doc) { if (doc.n > 1) emit(doc.n, 'a') }"),
        ],
        modules,
    ));
    assert_eq!(sandbox.call(&Call::Views).unwrap(), r#"["a","b"]"#);
    let documents = [r#"{"n":1}"#, r#"{"n":2}"#];
    let rows = sandbox.call(&Call::Map { documents: &documents }).unwrap();
    assert_eq!(rows, r#"[[[],[[1,"b"]]],[[[2,"a"]],[[2,"b"]]]]"#);
    let passed = sandbox.call(&Call::FilterByView { view: "a", documents: &documents });
    assert_eq!(passed.unwrap(), "[false,true]");
}

#[test]
fn modules_of_the_design_document_are_required() {
    let source = r#"{
        "views": {
            "lib": {"number": "exports.one = 1;", "deep": {"sum": "module.exports = require('../number').one + require('./other').two;", "other": "exports.two = 2;"}},
            "v": {"map": "function (doc) { emit(require('views/lib/deep/sum'), require('views/lib/number').one); }"},
            "w": {"map": "function (doc) { emit(1, require('views/lib/none')); }"}
        },
        "filters": {"f": "function (doc, req) { return doc.n === require('lib/n').n && this.secret === 7 && req.query.q === 'x'; }"},
        "lib": {"n": "exports.n = 5;", "cycle": "exports.a = 1; exports.b = require('lib/cycle').a;"},
        "secret": 7
    }"#;
    let mut sandbox = sandbox(source);
    assert_eq!(sandbox.call(&Call::Views).unwrap(), r#"["v","w"]"#);
    let rows = sandbox.call(&Call::Map { documents: &["{}"] }).unwrap();
    assert_eq!(rows, "[[[[3,1]],[]]]");
    let call = Call::Filter {
        name: "f",
        documents: &[r#"{"n":5}"#, r#"{"n":6}"#],
        request: r#"{"query":{"q":"x"}}"#,
    };
    assert_eq!(sandbox.call(&call).unwrap(), "[true,false]");
}

#[test]
fn reduce_functions_reduce_and_reduce_again() {
    let source = r#"{"views":{"v":{"map":"function () {}","reduce":"function (keys, values, rereduce) { return rereduce ? {again: sum(values), keys: keys} : keys.length + sum(values); }"}}}"#;
    let mut sandbox = sandbox(source);
    let list = |keys: &str, values: &str| ReduceList { keys: keys.into(), values: values.into() };
    let mut reduce = |lists: &[ReduceList], is_again: bool| {
        sandbox.call(&Call::Reduce { view: "v", lists, is_again }).unwrap()
    };
    let lists = [list(r#"[["k","i"],["l","j"]]"#, "[1,2]"), list(r#"[["k","i"]]"#, "[7]")];
    assert_eq!(reduce(&lists, false), "[5,8]");
    // The function fails for keys that are no list.
    assert_eq!(reduce(&[list("null", "[1]"), list("[]", "[]")], false), "[null,0]");
    assert_eq!(reduce(&[list("null", "[5,6]")], true), r#"[{"again":11,"keys":null}]"#);
}

#[test]
fn validation_accepts_or_refuses() {
    let validate = |function: &str| {
        let source = format!("{{\"validate_doc_update\":{}}}", quoted(function));
        let before = r#"{"_id":"i","_rev":"1-a","author":"bert"}"#;
        sandbox(&source).call(&Call::Validate {
            updates: &[
                (r#"{"_id":"i","type":"post","author":"anna"}"#, Some(before)),
                (r#"{"_id":"j","_deleted":true}"#, None),
            ],
            user: r#"{"name":"anna","roles":["editor"],"db":"d"}"#,
            security: r#"{"admins":{}}"#,
        })
    };
    for (function, result) in [
        (
            "function (newDoc, oldDoc, userCtx, secObj) { if (!secObj.admins) throw({forbidden: 'x'}); }",
            "[null,null]",
        ),
        (
            "function (newDoc, oldDoc) { if (oldDoc && oldDoc.author !== newDoc.author) throw({forbidden: 'not yours'}); }",
            r#"[{"forbidden":"not yours"},null]"#,
        ),
        (
            "function (newDoc) { if (newDoc._deleted) throw({unauthorized: 'no'}); }",
            r#"[null,{"unauthorized":"no"}]"#,
        ),
        (
            "function (n, o, userCtx) { if (userCtx.roles.indexOf('_admin') < 0) throw({unauthorized: userCtx.name}); }",
            r#"[{"unauthorized":"anna"},{"unauthorized":"anna"}]"#,
        ),
        (
            "function (n, o) { if (!o) throw({forbidden: ['a']}); }",
            r#"[null,{"forbidden":"[\"a\"]"}]"#,
        ),
        (
            "function (n, o) { o.author; }",
            r#"[null,{"thrown":"TypeError: cannot read property 'author' of null"}]"#,
        ),
        (
            "function (n, o) { if (o) throw({other: 1}); throw 'text'; }",
            r#"[{"thrown":"{\"other\":1}"},{"thrown":"\"text\""}]"#,
        ),
        (
            "function (n, o) { if (o) throw new Error('forbidden'); return missing; }",
            r#"[{"thrown":"Error: forbidden"},{"thrown":"ReferenceError: missing is not defined"}]"#,
        ),
    ] {
        assert_eq!(validate(function), Ok(result.to_owned()), "{function}");
    }
}

#[test]
fn faulty_functions_are_named() {
    let mut sandbox = sandbox(
        r#"{"filters":{"a":"function (","b":"1","c":2,"d":"var x = 1; x"},"views":{"v":{"map":"x"}}}"#,
    );
    let mut filter = |name: &str| {
        sandbox.call(&Call::Filter { name, documents: &["{}"], request: "{}" }).unwrap_err()
    };
    for (name, part) in
        [("a", "filters.a cannot be compiled: SyntaxError"), ("d", "filters.d cannot be compiled")]
    {
        let CallError::Compilation(reason) = filter(name) else { panic!("{name}") };
        assert!(reason.starts_with(part), "{reason}");
    }
    assert_eq!(filter("b"), CallError::Compilation("filters.b is not a function".into()));
    for name in ["c", "e", "__proto__", "constructor"] {
        assert_eq!(filter(name), CallError::Missing(format!("missing function filters.{name}")));
    }
    let map = sandbox.call(&Call::Map { documents: &["{}"] });
    assert!(matches!(map, Err(CallError::Compilation(_))), "{map:?}");
}

/// Time that a call took.
fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let began = Instant::now();
    let result = run();
    (result, began.elapsed())
}
