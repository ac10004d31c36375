//! The environment in which the functions of a design document are executed.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rquickjs::context::intrinsic::{
    Date, Eval, Json, MapSet, Promise, Proxy, RegExp, RegExpCompiler, TypedArrays,
};
use rquickjs::{Context, Ctx, Error, Function, Persistent, Runtime};

use super::Limits;
use crate::call::{Call, result_of};
use crate::error::CallError;

const PRELUDE: &str = include_str!("prelude.js");

/// The parts of the language that functions can use. There are no modules, and no clocks besides `Date`. Asynchronous
/// functions and `import` need promises, although nothing executes what follows them.
type Language = (Date, Eval, RegExpCompiler, RegExp, Json, Proxy, MapSet, TypedArrays, Promise);

/// Executes the functions of one design document, which have their own global objects and memory.
///
/// A sandbox whose function exceeded the limit of time or memory is of no more use, since the function was stopped
/// between any two steps. Its memory is not returned until the process ends: the engine would end the process when it
/// finds values that an interrupted step has left.
pub struct Sandbox {
    environment: Option<Environment>,
    deadline: Deadline,
    time: Duration,
}

struct Environment {
    // Dropped in this order: values before their context, and the context before its runtime.
    execute: Persistent<Function<'static>>,
    context: Context,
    _runtime: Runtime,
}

impl Sandbox {
    /// Creates the environment of a design document, given as the JSON text of its body.
    pub fn new(design: &str, limits: Limits) -> Result<Self, CallError> {
        let failed = |error: Error| CallError::Process(error.to_string());
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_memory_limit(limits.memory);
        runtime.set_max_stack_size(limits.stack);
        let deadline = Deadline::default();
        let interrupt = deadline.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || interrupt.is_over())));
        let context = Context::custom::<Language>(&runtime).map_err(failed)?;
        deadline.set(limits.time);
        let execute = context.with(|ctx| {
            let begin: Result<Function<'_>, Error> = ctx.eval(PRELUDE);
            let begun: Result<Function<'_>, Error> =
                begin.and_then(|begin| begin.call((design, limits.output as f64)));
            match begun {
                Ok(execute) => Ok(Persistent::save(&ctx, execute)),
                Err(error) => Err(match deadline.error(&ctx, error) {
                    CallError::Thrown(thrown) => CallError::Compilation(thrown),
                    error => error,
                }),
            }
        });
        match execute {
            Ok(execute) => {
                let environment = Some(Environment { execute, context, _runtime: runtime });
                Ok(Self { environment, deadline, time: limits.time })
            }
            Err(error) => {
                if error.is_fatal() {
                    mem::forget((context, runtime));
                }
                Err(error)
            }
        }
    }

    /// Executes a call; returns its result as JSON.
    pub fn call(&mut self, call: &Call<'_>) -> Result<String, CallError> {
        result_of(&self.call_text(&call.to_text())?)
    }

    /// Executes a call, and returns the response as JSON.
    pub(super) fn call_text(&mut self, call: &str) -> Result<String, CallError> {
        let Some(environment) = &self.environment else {
            return Err(CallError::Process("an earlier call was stopped".to_owned()));
        };
        self.deadline.set(self.time);
        let response = environment.context.with(|ctx| {
            let execute = environment.execute.clone().restore(&ctx);
            let response = execute.and_then(|execute| execute.call::<_, String>((call,)));
            response.map_err(|error| self.deadline.error(&ctx, error))
        });
        if response.as_ref().is_err_and(CallError::is_fatal) {
            mem::forget(self.environment.take());
        }
        response
    }
}

/// The time at which a call is interrupted.
#[derive(Clone)]
struct Deadline {
    begin: Instant,
    /// Nanoseconds after `begin`.
    at: Arc<AtomicU64>,
}

impl Default for Deadline {
    fn default() -> Self {
        Self { begin: Instant::now(), at: Arc::default() }
    }
}

impl Deadline {
    fn set(&self, time: Duration) {
        let at = (self.begin.elapsed() + time).as_nanos();
        self.at.store(u64::try_from(at).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.begin.elapsed().as_nanos() > u128::from(self.at.load(Ordering::Relaxed))
    }

    /// The error of a call that ended with an exception. An interruption is one that functions cannot catch.
    fn error(&self, ctx: &Ctx<'_>, error: Error) -> CallError {
        if !matches!(error, Error::Exception) {
            return match error {
                Error::Allocation => CallError::MemoryLimit,
                other => CallError::Process(other.to_string()),
            };
        }
        let exception = ctx.catch();
        if self.is_over() {
            return CallError::TimeLimit;
        }
        let message = exception.as_exception().and_then(|it| it.message());
        match message {
            // Without memory there may be no exception object.
            None => CallError::MemoryLimit,
            Some(message) if message == "out of memory" => CallError::MemoryLimit,
            Some(message) => CallError::Thrown(message),
        }
    }
}
