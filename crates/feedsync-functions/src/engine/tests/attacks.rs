//! Functions that try to take everything, or to reach anything.

use super::*;

const TIGHT: Limits =
    Limits { memory: 8 << 20, stack: 128 << 10, time: Duration::from_millis(200), output: 100_000 };

/// Calls a map function within tight limits.
fn attack(map: &str) -> Result<String, CallError> {
    let mut sandbox = Sandbox::new(&design(&[("v", map)], ""), TIGHT).unwrap();
    sandbox.call(&Call::Map { documents: &[r#"{"_id":"i"}"#] })
}

#[test]
fn endless_functions_are_stopped() {
    for map in [
        "function () { for (;;); }",
        "function () { while (true) { try { for (;;); } catch (e) {} finally {} } }",
        "function f() { try { f(); } finally { f(); } }",
        "function () { /(a+)+$/.test('a'.repeat(40) + 'b'); }",
        "function () { [3, 2, 1].sort(() => { for (;;); }); }",
        "function () { JSON.parse('[1]', () => { for (;;); }); }",
        "function () { new Proxy({}, {get() { for (;;); }}).x; }",
        "function () { emit({toJSON() { for (;;); }}, 1); }",
        "function () { eval('for (;;);'); }",
        "function () { new Function('for (;;);')(); }",
        "function* g() {} ; (function () { for (;;); })()",
    ] {
        let (result, took) = timed(|| attack(map));
        let is_stopped = matches!(
            result,
            Err(CallError::TimeLimit | CallError::MemoryLimit | CallError::Compilation(_))
        );
        assert!(is_stopped, "{map}: {result:?}");
        assert!(took < Duration::from_secs(5), "{map} took {took:?}");
    }
}

/// Memory is limited; what a function has allocated before does not count for a sandbox that comes after it.
#[test]
fn greedy_functions_are_stopped() {
    for map in [
        "function () { const all = []; for (;;) all.push([all]); }",
        "function () { let s = 'x'; for (;;) s += s + '!'; }",
        "function () { new Array(1e9).fill(0); }",
        "function () { new Uint8Array(1e10); }",
        "function () { 'x'.repeat(2 ** 28) + 'y'.repeat(2 ** 28); }",
        "function () { const all = []; for (;;) { try { all.push(new ArrayBuffer(1 << 20)); } catch (e) {} } }",
        "function () { const m = new Map(); for (let i = 0; ; i++) m.set(i, {i}); }",
        "function f(a) { return f([a, a]); }",
    ] {
        let (result, took) = timed(|| attack(map));
        // A function that catches the exception, or cannot allocate at all, has no rows.
        let is_stopped = matches!(&result, Err(CallError::TimeLimit | CallError::MemoryLimit))
            || result.as_deref() == Ok("[[[]]]");
        assert!(is_stopped, "{map}: {result:?}");
        assert!(took < Duration::from_secs(5), "{map} took {took:?}");
    }
    assert_eq!(attack("function () { emit(1, 1); }").unwrap(), "[[[[1,1]]]]");
}

#[test]
fn output_is_limited() {
    for map in [
        "function () { for (;;) emit(1, 1); }",
        "function () { for (let i = 0; i < 200; i++) { try { emit('x'.repeat(1000), 1); } catch (e) {} } }",
        "function () { emit('x'.repeat(200000), 1); }",
        "function () { const a = []; for (let i = 0; i < 17; i++) a.push('x'.repeat(1e4)); emit(a, a); }",
    ] {
        assert_eq!(attack(map), Err(CallError::OutputLimit), "{map}");
    }
}

#[test]
fn deep_recursion_is_an_exception() {
    for map in [
        "function f(doc) { f(doc); }",
        "function (doc) { let a = []; for (let i = 0; i < 1e4; i++) a = [a]; emit(a, 1); }",
        "function () { eval('['.repeat(1e5)); }",
        "function () { JSON.parse('['.repeat(1e5)); }",
        "function () { new RegExp('('.repeat(1e5)); }",
        "function () { const p = {}; p.toString = () => `${p}`; `${p}`; }",
    ] {
        assert_eq!(attack(map).as_deref(), Ok("[[[]]]"), "{map}");
    }
}

/// There is nothing besides the language and the functions of CouchDB.
#[test]
fn functions_reach_nothing_outside() {
    let names = [
        "process",
        "std",
        "os",
        "fetch",
        "XMLHttpRequest",
        "WebSocket",
        "setTimeout",
        "setInterval",
        "queueMicrotask",
        "Deno",
        "Bun",
        "module",
        "exports",
        "scriptArgs",
        "print",
        "console",
        "load",
        "navigator",
        "Worker",
        "WebAssembly",
        "performance",
        "gc",
    ];
    let list = names.map(|name| format!("'{name}'")).join(",");
    let map = format!(
        "function () {{ emit([{list}].filter((name) => name in globalThis || (() => {{ try {{ return eval('typeof ' + name) !== 'undefined'; }} catch (e) {{ return false; }} }})()), 0); }}"
    );
    assert_eq!(attack(&map).as_deref(), Ok("[[[[[],0]]]]"));
    for map in [
        "function () { import('fs').then(() => emit(1, 1)); }",
        "async function () { await 1; emit(1, 1); }",
        "async function () { await import('fs'); emit(1, 1); }",
        "function () { (async () => { for await (const a of [1]) emit(a, a); })(); }",
        "function () { Promise.resolve(1).then(emit); }",
        "function () { queueMicrotask(() => emit(1, 1)); }",
        "function () { require('fs'); emit(1, 1); }",
        "function () { require('/etc/passwd'); emit(1, 1); }",
        "function () { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e9); emit(1, 1); }",
    ] {
        let (result, took) = timed(|| attack(map));
        let is_refused =
            result.as_deref() == Ok("[[[]]]") || matches!(result, Err(CallError::Compilation(_)));
        assert!(is_refused, "{map}: {result:?}");
        assert!(took < Duration::from_secs(2), "{map} took {took:?}");
    }
}

/// A function that changes the language changes it for its design document only, and cannot forge the results of others.
#[test]
fn design_documents_do_not_share_anything() {
    let attacker = "function () { JSON.stringify = () => '[[[1]]]'; JSON.parse = () => 7; Array.prototype.join = () => 'x'; \
                    Object.prototype.forbidden = 'x'; Map.prototype.get = () => 1; InternalError = Error; globalThis.emit = () => {}; emit(1, 1); }";
    let mut first = Sandbox::new(&design(&[("v", attacker)], ""), TIGHT).unwrap();
    for _ in 0..2 {
        // Whatever this is, it is its own result.
        let _ = first.call(&Call::Map { documents: &["{}"] });
    }
    let mut second = sandbox(&design(&[("v", "function () { emit(1, 2); }")], ""));
    assert_eq!(second.call(&Call::Map { documents: &["{}"] }).unwrap(), "[[[[1,2]]]]");
}
