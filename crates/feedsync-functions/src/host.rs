//! Processes that execute functions: they are started when they are needed, and replaced when they end.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::call::Call;
use crate::error::CallError;
use crate::message::{self, MAX_MESSAGE_BYTES, Response};

/// Time that a process has besides the limit of a function before it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// Time to wait for a process.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The program whose processes execute functions: it calls `engine::run_confined`.
#[derive(Debug, Clone)]
pub struct Program {
    /// Path of the program.
    pub path: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Maximum duration of one call, which the program enforces, too.
    pub time: Duration,
}

/// A version of a design document.
#[derive(Debug, Clone, Copy)]
pub struct Design<'a> {
    /// Stands for this version in all databases. Two different texts must not have the same name.
    pub name: &'a str,
    /// The body, as JSON.
    pub source: &'a str,
}

/// A limited number of processes, each of which executes one call at a time.
///
/// A call that takes too long ends its process, also if it does not end by itself. If a process ends during a call, the call
/// is repeated by new ones, at most twice, because functions have no effects. If a call is cancelled, its process is killed.
#[derive(Debug)]
pub struct Host {
    program: Program,
    permits: Semaphore,
    idle: Mutex<Vec<Process>>,
}

#[derive(Debug)]
struct Process {
    input: ChildStdin,
    output: ChildStdout,
    // Killed when it is dropped.
    _child: Child,
}

impl Host {
    /// Creates a host, which starts at most this number of processes, and none yet.
    pub fn new(program: Program, processes: usize) -> Self {
        Self { program, permits: Semaphore::new(processes), idle: Mutex::default() }
    }

    /// Executes a call; returns its result as JSON.
    pub async fn call(&self, design: Design<'_>, call: &Call<'_>) -> Result<String, CallError> {
        let permit = timeout(MAX_WAIT, self.permits.acquire()).await;
        let Ok(Ok(_permit)) = permit else { return Err(CallError::Busy) };
        let failed = |error: io::Error| CallError::Process(error.to_string());
        let waiting = self.idle().pop();
        if let Some(process) = waiting
            && let Ok(result) = self.execute(process, design, call).await
        {
            return result;
        }
        // There was no process, or it has ended.
        for _ in 0..2 {
            let process = Process::start(&self.program).map_err(failed)?;
            if let Ok(result) = self.execute(process, design, call).await {
                return result;
            }
        }
        Err(CallError::Process("it ended during the call".to_owned()))
    }

    /// Executes a call by a process. The process is kept if it can execute others. The error means that it has ended.
    async fn execute(
        &self,
        mut process: Process,
        design: Design<'_>,
        call: &Call<'_>,
    ) -> io::Result<Result<String, CallError>> {
        let patience = self.program.time + GRACE;
        let Ok(response) = timeout(patience, process.call(design, call)).await else {
            return Ok(Err(CallError::TimeLimit));
        };
        let result = response?;
        if !result.as_ref().is_err_and(CallError::is_fatal) {
            self.idle().push(process);
        }
        Ok(result)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Process>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Process {
    fn start(program: &Program) -> io::Result<Self> {
        let mut child = Command::new(&program.path)
            .args(&program.arguments)
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        match (input, output) {
            (Some(input), Some(output)) => Ok(Self { input, output, _child: child }),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    async fn call(
        &mut self,
        design: Design<'_>,
        call: &Call<'_>,
    ) -> io::Result<Result<String, CallError>> {
        // The design document is sent only if the process does not know it.
        for source in [None, Some(design.source)] {
            let request = message::request(design.name, source, call);
            let response = self.exchange(&request).await?;
            if let Response::Called(result) = message::response(&response) {
                return Ok(result);
            }
        }
        Err(io::Error::new(io::ErrorKind::InvalidData, "the design document is not accepted"))
    }

    async fn exchange(&mut self, request: &str) -> io::Result<String> {
        let too_long = || io::Error::new(io::ErrorKind::InvalidData, "a message is too long");
        let length = u32::try_from(request.len()).map_err(|_| too_long())?;
        self.input.write_all(&length.to_be_bytes()).await?;
        self.input.write_all(request.as_bytes()).await?;
        self.input.flush().await?;
        let length = self.output.read_u32().await? as usize;
        if length > MAX_MESSAGE_BYTES {
            return Err(too_long());
        }
        let mut text = vec![0; length];
        self.output.read_exact(&mut text).await?;
        String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}
