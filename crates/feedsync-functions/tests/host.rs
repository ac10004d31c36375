//! Calls by processes that are killed, that end, and that do not answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use feedsync_functions::engine::Limits;
use feedsync_functions::host::{Design, Host, Program};
use feedsync_functions::{Call, CallError};
use tokio::sync::Mutex;

const LIMITS: Limits = Limits {
    memory: 16 << 20,
    stack: 256 << 10,
    time: Duration::from_millis(500),
    output: 1 << 20,
};

fn host(processes: usize) -> Host {
    let arguments = LIMITS.to_arguments().map(Into::into).to_vec();
    let path = PathBuf::from(env!("CARGO_BIN_EXE_feedsync-functions"));
    Host::new(Program { path, arguments, time: LIMITS.time }, processes)
}

fn design(map: &str) -> String {
    format!("{{\"views\":{{\"v\":{{\"map\":\"{map}\"}}}}}}")
}

/// Each test counts and kills all processes that this one has started, so there is one at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Ids of the processes that this one has started.
fn children() -> Vec<String> {
    let own = std::process::id();
    let mut found = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{own}/task")).unwrap() {
        let list = std::fs::read_to_string(task.unwrap().path().join("children"));
        found.extend(list.unwrap_or_default().split_whitespace().map(String::from));
    }
    found
}

fn kill(process: &str) {
    // It may have ended already.
    let _ = std::process::Command::new("kill").args(["-9", process]).status();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_are_used_again_and_replaced() {
    let _alone = ALONE.lock().await;
    let host = host(2);
    let square = design("function (doc) { emit(doc.n * doc.n, null); }");
    let square = Design { name: "square", source: &square };
    let map = Call::Map { documents: &["{\"n\":3}"] };
    for _ in 0..3 {
        assert_eq!(host.call(square, &map).await.unwrap(), "[[[[9,null]]]]");
    }
    assert_eq!(children().len(), 1);
    let endless = design("function () { for (;;); }");
    let endless = Design { name: "endless", source: &endless };
    let greedy = design("function () { const all = []; for (;;) all.push([all]); }");
    let greedy = Design { name: "greedy", source: &greedy };
    for _ in 0..3 {
        assert_eq!(host.call(endless, &map).await, Err(CallError::TimeLimit));
        assert_eq!(host.call(square, &map).await.unwrap(), "[[[[9,null]]]]");
        assert_eq!(host.call(greedy, &map).await, Err(CallError::MemoryLimit));
        assert_eq!(host.call(square, &map).await.unwrap(), "[[[[9,null]]]]");
    }
    // One step that takes long cannot be interrupted, but its process is killed.
    let long = design("function () { emit('a'.repeat(1e6).indexOf('a'.repeat(5e5) + 'b'), 1); }");
    let began = Instant::now();
    let result = host.call(Design { name: "long", source: &long }, &map).await;
    assert_eq!(result, Err(CallError::TimeLimit));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(host.call(square, &map).await.unwrap(), "[[[[9,null]]]]");
    drop(host);
}

/// Processes are killed at any time. Each call has the right result or an error, and none hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn kills_change_no_result() {
    let _alone = ALONE.lock().await;
    let kills: usize =
        std::env::var("FEEDSYNC_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let host = Arc::new(host(3));
    let is_over = Arc::new(AtomicBool::new(false));
    let right = Arc::new(AtomicUsize::new(0));
    let callers = (0..4_u64).map(|caller| {
        let (host, is_over, right) = (Arc::clone(&host), Arc::clone(&is_over), Arc::clone(&right));
        tokio::spawn(async move {
            let source = design(&format!("function (doc) {{ emit(doc.n, {caller}); }}"));
            let name = caller.to_string();
            let mut failures = 0_u64;
            for number in 0_u64.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let document = format!("{{\"n\":{number}}}");
                let call = Call::Map { documents: &[&document] };
                let design = Design { name: &name, source: &source };
                let result =
                    tokio::time::timeout(Duration::from_secs(20), host.call(design, &call));
                match result.await.expect("no call hangs") {
                    Ok(rows) => {
                        assert_eq!(rows, format!("[[[[{number},{caller}]]]]"));
                        right.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(CallError::Process(_)) => failures += 1,
                    Err(other) => panic!("{other}"),
                }
            }
            failures
        })
    });
    let callers: Vec<_> = callers.collect();
    let (mut killed, mut seed) = (0, 88_172_645_463_325_252_u64);
    while killed < kills {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        tokio::time::sleep(Duration::from_micros(seed % 8_000)).await;
        let running = children();
        if !running.is_empty() {
            let chosen = running[(seed >> 32) as usize % running.len()].clone();
            tokio::task::spawn_blocking(move || kill(&chosen)).await.unwrap();
            killed += 1;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    let mut failures = 0;
    for caller in callers {
        failures += caller.await.unwrap();
    }
    let right = right.load(Ordering::Relaxed);
    println!("{killed} kills, {right} right results, {failures} calls without a result");
    assert!(right > killed, "{right}");
}

/// The process cannot open files.
#[test]
fn the_process_is_confined() {
    let _alone = ALONE.blocking_lock();
    let host = host(1);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let source = design("function () { emit(1, 1); }");
    let design = Design { name: "d", source: &source };
    let map = Call::Map { documents: &["{}"] };
    runtime.block_on(async {
        assert!(host.call(design, &map).await.is_ok());
        let process = children().pop().unwrap();
        let limits = std::fs::read_to_string(format!("/proc/{process}/limits")).unwrap();
        let limit = |name: &str| {
            let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
            line[name.len()..].split_whitespace().take(2).map(String::from).collect::<Vec<_>>()
        };
        assert_eq!(limit("Max open files"), ["3", "3"]);
        assert_eq!(limit("Max file size"), ["0", "0"]);
        let environment = std::fs::read(format!("/proc/{process}/environ")).unwrap();
        assert!(environment.is_empty(), "{}", String::from_utf8_lossy(&environment));
    });
}
