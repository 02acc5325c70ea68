//! Scripted user of a test: replies to prompts with the answers of the test, in order.

use std::collections::VecDeque;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::Value;

use haft_tool::{Answer, Question, UserInterface};

/// User interface with a fixed list of answers.
pub(super) struct Person(Mutex<State>);

struct State {
    answers: VecDeque<Answer>,
    missed: Vec<String>,
}

impl Person {
    pub(super) fn new(answers: &[Answer]) -> Person {
        Person(Mutex::new(State {
            answers: answers.iter().cloned().collect(),
            missed: Vec::new(),
        }))
    }

    /// Returns the titles of prompts that had no answer left.
    pub(super) fn missed(&self) -> Vec<String> {
        self.0.lock().missed.clone()
    }

    /// Returns the number of unused answers.
    pub(super) fn unused(&self) -> usize {
        self.0.lock().answers.len()
    }
}

#[async_trait]
impl UserInterface for Person {
    async fn ask(&self, question: Question) -> Answer {
        let mut state = self.0.lock();
        if let Some(answer) = state.answers.pop_front() {
            return answer;
        }
        state.missed.push(question.what.title().to_owned());
        Answer::Dismissed
    }
}

/// Parses one value of `ui`: a text (also the chosen option), yes or no, or `null` for a dismissed
/// prompt.
pub(super) fn read_answer(written: Value) -> Result<Answer, String> {
    match written {
        Value::String(text) => Ok(Answer::Text(text)),
        Value::Bool(true) => Ok(Answer::Yes),
        Value::Bool(false) => Ok(Answer::No),
        Value::Null => Ok(Answer::Dismissed),
        _ => Err("`ui` is a list of texts, true, false or null".to_owned()),
    }
}

/// Returns the answer to a question in the form of `ui`.
pub(super) fn user_answer(answer: &Answer) -> Value {
    match answer {
        Answer::Text(text) => text.as_str().into(),
        Answer::Yes => true.into(),
        Answer::No => false.into(),
        Answer::Dismissed => Value::Null,
    }
}
