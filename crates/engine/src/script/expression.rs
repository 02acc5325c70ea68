//! Small JavaScript expressions over given values: the transforms and conditions of YAML tools.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::NOTICE_TIMEOUT;
use super::protocol::{Expression, ScriptJob, ValueForm};
use crate::Engine;

/// Time limit of one evaluation.
pub(crate) const EXPRESSION_TIMEOUT: Duration = Duration::from_secs(1);

/// V8's heap for one evaluation in bytes.
pub(crate) const EXPRESSION_HEAP: usize = 64 << 20;

/// Reason for which an expression has no value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ExpressionError {
    /// It does not parse, or threw.
    #[error("{0}")]
    Threw(String),
    /// It was terminated after a second.
    #[error("it did not end within {} s", EXPRESSION_TIMEOUT.as_secs())]
    TooLong,
    /// It wanted more memory than an expression gets.
    #[error("it ran out of memory (the limit is {} MB)", EXPRESSION_HEAP >> 20)]
    TooMuchMemory,
    /// Its value cannot be written as text.
    #[error("it gave {0}, which is not a usable value")]
    NoValue(String),
    /// Its process cannot be started, or has no thread or no memory left.
    #[error("JavaScript cannot be started: {0}")]
    Unavailable(String),
    /// Its process has ended; a part of a sentence.
    #[error("its process {0}")]
    Lost(String),
}

/// The value of an expression in its [`ValueForm`].
pub(crate) type ExpressionResult = Result<String, ExpressionError>;

impl Engine {
    /// Returns the value of `source` as JSON, where each of `names` stands for its JSON value. If
    /// the value is a function, returns its result for the first of them.
    ///
    /// # Errors
    /// When there is none.
    pub async fn evaluate_json(
        &self,
        source: &str,
        names: Vec<(String, String)>,
    ) -> Result<String, ExpressionError> {
        self.evaluate(source, names, ValueForm::Json).await
    }

    /// Returns true if `if` takes the value of `source` for true.
    ///
    /// # Errors
    /// When there is none.
    pub async fn evaluate_truth(
        &self,
        source: &str,
        names: Vec<(String, String)>,
    ) -> Result<bool, ExpressionError> {
        let truth = self.evaluate(source, names, ValueForm::Truth).await?;
        Ok(truth == "true")
    }

    async fn evaluate(
        &self,
        source: &str,
        names: Vec<(String, String)>,
        form: ValueForm,
    ) -> Result<String, ExpressionError> {
        let job = ScriptJob::Evaluate(Expression {
            source: source.to_owned(),
            names,
            form,
        });
        let workers = &self.inner.scripts;
        // The process evaluates one at a time, so the time of others does not count.
        let _turn = workers.expression_turn.lock().await;
        let mut is_first = true;
        loop {
            let started = workers.start(&self.inner.options, &job).await;
            let (worker, mut socket) = started.map_err(ExpressionError::Unavailable)?;
            let received = socket.receive::<ExpressionResult>();
            let limit = EXPRESSION_TIMEOUT + NOTICE_TIMEOUT;
            let failure = match tokio::time::timeout(limit, received).await {
                Ok(Ok(Some(result))) => return result,
                Ok(Ok(None)) => ExpressionError::Lost(worker.describe_end().await),
                Ok(Err(error)) => ExpressionError::Lost(format!("broke the protocol: {error}")),
                Err(_) => ExpressionError::TooLong,
            };
            workers.retire(&worker).await;
            // The process may have ended before it saw the expression.
            let is_lost = matches!(failure, ExpressionError::Lost(_));
            if !is_lost || !std::mem::take(&mut is_first) {
                return Err(failure);
            }
        }
    }
}
