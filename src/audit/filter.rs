//! Selection of calls in the log, for its readers on this machine and on others.

use std::collections::HashSet;

use globset::{Glob, GlobMatcher};
use haft_tool::{Error, ErrorKind};

use super::line::{Event, Line, Outcome};

/// Number of hexadecimal digits of the id of a trace.
const TRACE_DIGITS: usize = 32;

/// Outcome of a call, for the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub(crate) enum Ended {
    /// The tool answered.
    Ok,
    /// The tool reported a failure, or haft failed to run it to its end.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// Its deadline passed.
    Timeout,
    /// Refused before the tool started.
    Refused,
    /// It still runs, or haft was killed meanwhile.
    Unfinished,
}

impl Ended {
    /// Returns its name.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the outcome of that name.
    pub(crate) fn from_name(name: &str) -> Option<Ended> {
        name.parse().ok()
    }

    fn of(outcome: Option<Outcome>) -> Ended {
        match outcome {
            Some(Outcome::Ok) => Ended::Ok,
            Some(Outcome::Failed) => Ended::Failed,
            Some(Outcome::Cancelled) => Ended::Cancelled,
            Some(Outcome::Timeout) => Ended::Timeout,
            Some(Outcome::Refused) => Ended::Refused,
            None => Ended::Unfinished,
        }
    }
}

/// Selection of lines of the log. Each condition that is set must hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct Filter {
    /// Pattern of the tool's name.
    pub(crate) tool: Option<GlobMatcher>,
    /// Pattern of the name of the host that ran the call.
    pub(crate) host: Option<GlobMatcher>,
    /// Time since which the line was written.
    pub(crate) since: Option<String>,
    /// Id of the trace, or the beginning of it.
    pub(crate) trace: Option<String>,
    /// Outcome of the call.
    pub(crate) ended: Option<Ended>,
    /// Id of the call: the log's or the caller's.
    pub(crate) call: Option<String>,
    /// Set if lines about other events are left out in any case.
    pub(crate) only_calls: bool,
}

impl Filter {
    /// Returns true if the line is older than all that is selected. A line is written after the events
    /// that it reports, so all lines before it are too old as well.
    pub(crate) fn is_past(&self, line: &Line) -> bool {
        self.since.as_ref().is_some_and(|since| line.at < *since)
    }

    /// Returns true if the line is selected. Lines are passed newest first: `ended` gets the calls whose
    /// end was passed. `here` is the name of the host with the log.
    pub(crate) fn takes(&self, line: &Line, here: &str, ended: &mut HashSet<String>) -> bool {
        if self.is_past(line) {
            return false;
        }
        let call = match &line.event {
            Event::Call(call) => {
                ended.insert(call.run.clone());
                call
            }
            // The line about the end of the call has more details.
            Event::CallStarted(call) if ended.contains(&call.run) => return false,
            Event::CallStarted(call) => call,
            _ => return !self.is_about_calls(),
        };
        let trace = call.trace.as_deref().unwrap_or_default();
        let host = call.host.as_deref().unwrap_or(here);
        let matches = |glob: &Option<GlobMatcher>, name: &str| {
            glob.as_ref().is_none_or(|glob| glob.is_match(name))
        };
        let is_it = |wanted: &String| call.run == *wanted || call.call == *wanted;
        matches(&self.tool, &call.tool)
            && matches(&self.host, host)
            && (self.trace.as_ref()).is_none_or(|wanted| trace.starts_with(wanted.as_str()))
            && (self.call.as_ref()).is_none_or(is_it)
            && (self.ended).is_none_or(|wanted| wanted == Ended::of(call.outcome))
    }

    fn is_about_calls(&self) -> bool {
        self.only_calls
            || self.tool.is_some()
            || self.host.is_some()
            || self.trace.is_some()
            || self.ended.is_some()
            || self.call.is_some()
    }
}

/// Parses a pattern of names.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn pattern(text: &str) -> Result<GlobMatcher, String> {
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    let glob = Glob::new(text).map_err(|error| error.to_string())?;
    Ok(glob.compile_matcher())
}

/// Parses the id of a trace, or the beginning of one.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn trace_id(text: &str) -> Result<String, String> {
    let text = text.trim().to_ascii_lowercase();
    let is_id = (1..=TRACE_DIGITS).contains(&text.len())
        && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    if is_id {
        Ok(text)
    } else {
        Err(format!(
            "the id of a trace has at most {TRACE_DIGITS} hexadecimal digits"
        ))
    }
}

/// Selection as another host sends it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FilterTexts<'a> {
    pub(crate) tool: Option<&'a str>,
    pub(crate) host: Option<&'a str>,
    pub(crate) since: Option<&'a str>,
    pub(crate) trace: Option<&'a str>,
    pub(crate) ended: Option<&'a str>,
    pub(crate) call: Option<&'a str>,
}

impl FilterTexts<'_> {
    /// Reads the selection. It takes calls only.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] with the name of the condition that cannot be read.
    pub(crate) fn read(&self) -> Result<Filter, Error> {
        let wrong = |name: &str, why: String| {
            Error::new(ErrorKind::Usage, format!("the filter `{name}`: {why}"))
        };
        let glob = |name, text: Option<&str>| {
            let glob = text.map(pattern).transpose();
            glob.map_err(|why| wrong(name, why))
        };
        let ended = self.ended.map(|name| {
            let ended = Ended::from_name(name);
            ended.ok_or_else(|| wrong("outcome", format!("there is no outcome `{name}`")))
        });
        let trace = self.trace.map(trace_id).transpose();
        Ok(Filter {
            tool: glob("tool", self.tool)?,
            host: glob("host", self.host)?,
            since: self.since.map(str::to_owned),
            trace: trace.map_err(|why| wrong("trace", why))?,
            ended: ended.transpose()?,
            call: self.call.map(str::to_owned),
            only_calls: true,
        })
    }
}
