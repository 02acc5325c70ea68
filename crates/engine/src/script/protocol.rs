//! Messages between haft and one thread of the worker process for scripts and expressions.

use serde::{Deserialize, Serialize};

use super::{ScriptAnswer, ScriptEvent, ScriptFailure, ScriptLimits, ScriptSource};

/// First message on a socket: what its thread is for.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ScriptJob {
    /// Run a script, which sends [`ScriptReport`]s and gets [`ScriptReply`]s.
    Run {
        source: ScriptSource,
        limits: ScriptLimits,
    },
    /// Evaluate an expression, whose [`ExpressionResult`](super::ExpressionResult) is the only answer.
    Evaluate(Expression),
}

/// An expression with the values that it uses.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Expression {
    pub(crate) source: String,
    /// Names and their values as JSON.
    pub(crate) names: Vec<(String, String)>,
    pub(crate) form: ValueForm,
}

/// Form of the value of an expression.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum ValueForm {
    /// The JSON of the value. A function is called with the value of the first name.
    Json,
    /// `true` or `false`, as `if` evaluates it.
    Truth,
}

/// Message of a script to haft.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ScriptReport {
    Event(ScriptEvent),
    /// The script is to end for this reason. It may not have noticed that yet.
    Ending(ScriptFailure),
}

/// Answer to a request of a script.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ScriptReply {
    pub(crate) number: u32,
    pub(crate) answer: ScriptAnswer,
}
