//! Definition of a YAML shell tool (spec cycod, appendix 1): plain data, every key, no I/O.
//!
//! A [`Definition`] is complete and consistent, with defaults filled in, because only `parse` makes
//! one. Text with `{references}` stays text here; `run` fills it.

mod command;
mod datum;
mod environment;
mod exposure;
mod limits;
mod parameter;
mod security;
mod step;
mod test_case;
mod tool;

pub(crate) use command::{Command, Commands, Platform};
pub(crate) use datum::{Datum, Number};
pub(crate) use environment::{Environment, FilePaths};
pub(crate) use exposure::{Exposure, TypeNames};
pub(crate) use limits::{Cleanup, Interaction, Resources};
pub(crate) use parameter::{Kind, Parameter, Pattern, Validation};
pub(crate) use security::{Isolation, Privilege, Risk, Security};
pub(crate) use step::{
    ErrorHandling, Output, OutputMode, Retry, Step, StepWork, StreamTo, UseTool,
};
pub(crate) use test_case::{Expected, TestCase};
pub(crate) use tool::{Alias, Change, Definition, Deprecation, Metadata, Place, Scope, Work};
