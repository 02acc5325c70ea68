//! What a source of tools is and how it runs: one folder per system. Siblings are strangers.

pub(crate) mod js;

use std::sync::Arc;

use crate::tool::{Problem, Runner, Tool};

/// What a family made of one candidate: the tools that can be called, and what is wrong with the
/// rest.
#[derive(Default)]
pub(crate) struct Loaded {
    pub(crate) tools: Vec<(Tool, Arc<dyn Runner>)>,
    pub(crate) problems: Vec<Problem>,
}
