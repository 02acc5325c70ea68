//! Conversion of a program's end and its outputs to Kodelet's three forms of a result (for the
//! model, for programs, for people).
//!
//! Bytes in, data out. The reason of a failure is the first of these that exists: the tool's own
//! error object, its standard error, its output, how it ended (kodelet 35–41).

use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use haft_config::format_duration;
use haft_process::{Captured, End, Finished};
use haft_tool::{Block, Family, Outcome, Stopped, Timestamp};

/// Output of a tool, or the reason why it failed.
pub(super) type Said = Result<String, String>;

/// Limits that error texts name.
pub(super) struct Bounds {
    pub(super) timeout: Duration,
    pub(super) max_output: usize,
}

/// Reads the output of a finished run.
pub(super) fn read(finished: &Finished, why_stopped: Stopped, bounds: &Bounds) -> Said {
    let stdout = &finished.stdout;
    let how = match finished.end {
        End::TimedOut(_) => {
            let limit = format_duration(bounds.timeout);
            return Err(format!("tool execution timed out after {limit}"));
        }
        End::Cancelled(_) => return Err(stopped(why_stopped, finished.duration)),
        End::Exited(0) => None,
        End::Exited(code) => Some(format!("exit status {code}")),
        End::Signaled(signal) => Some(signal_text(signal)),
    };
    if let Some(error) = own_error(stdout) {
        return Err(error);
    }
    let Some(how) = how else {
        return Ok(output(stdout, bounds));
    };
    let (said, printed) = (finished.stderr.text(), stdout.text());
    let texts = [said.trim(), printed.trim()];
    let text = texts.into_iter().find(|text| !text.is_empty());
    Err(own_error(&finished.stderr).unwrap_or_else(|| text.map_or(how, str::to_owned)))
}

fn stopped(why: Stopped, after: Duration) -> String {
    match why {
        Stopped::Deadline => {
            let after = format_duration(to_millis(after));
            format!("tool execution timed out after {after}")
        }
        Stopped::Cancelled | Stopped::Discarded => "tool execution was cancelled".to_owned(),
        Stopped::HostShutdown => "tool execution ended with its host".to_owned(),
    }
}

/// Returns the error that a tool reports as a JSON object; an empty text does not count. An output
/// that was cut is not JSON any more.
fn own_error(output: &Captured) -> Option<String> {
    if output.dropped > 0 {
        return None;
    }
    let value: Value = serde_json::from_slice(&output.bytes).ok()?;
    let error = value
        .get("error")?
        .as_str()
        .filter(|text| !text.is_empty())?;
    Some(match value.get("details") {
        None | Some(Value::Null) => error.to_owned(),
        Some(Value::String(details)) if details.is_empty() => error.to_owned(),
        Some(Value::String(details)) => format!("{error}: {details}"),
        Some(details) => format!("{error}: {details}"),
    })
}

fn output(stdout: &Captured, bounds: &Bounds) -> String {
    let mut text = stdout.text();
    if stdout.dropped > 0 {
        let limit = size(bounds.max_output);
        text.push_str(&format!("\n\n[TRUNCATED - Output exceeded {limit} limit]"));
    }
    text
}

/// `1MB`, `100KB`, `1000 bytes`.
fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{}MB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}KB", bytes >> 10),
        1 => "1 byte".to_owned(),
        _ => format!("{bytes} bytes"),
    }
}

/// `signal: killed (SIGKILL)`, in the words of Go where it has some.
pub(super) fn signal_text(number: i32) -> String {
    let known = Signal::from_named_raw(number);
    let (word, name) = match known {
        Some(Signal::KILL) => ("killed", "SIGKILL"),
        Some(Signal::TERM) => ("terminated", "SIGTERM"),
        Some(Signal::INT) => ("interrupt", "SIGINT"),
        Some(Signal::HUP) => ("hangup", "SIGHUP"),
        Some(Signal::ABORT) => ("aborted", "SIGABRT"),
        Some(Signal::SEGV) => ("segmentation fault", "SIGSEGV"),
        Some(Signal::BUS) => ("bus error", "SIGBUS"),
        Some(Signal::FPE) => ("floating point exception", "SIGFPE"),
        Some(Signal::ILL) => ("illegal instruction", "SIGILL"),
        Some(Signal::PIPE) => ("broken pipe", "SIGPIPE"),
        Some(Signal::QUIT) => ("quit", "SIGQUIT"),
        Some(Signal::XCPU) => ("CPU time limit exceeded", "SIGXCPU"),
        _ => return format!("signal: {number}"),
    };
    format!("signal: {word} ({name})")
}

/// Returns all three forms of the result. `name` is without the prefix.
pub(super) fn outcome(name: &str, said: Said, duration: Duration) -> Outcome {
    let mut details = json!({
        "toolName": format!("{}{name}", Family::Kodelet.prefix()),
        "success": said.is_ok(),
    });
    match &said {
        Ok(output) => {
            details["metadataType"] = "custom_tool".into();
            let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            details["metadata"] = json!({ "executionTime": nanos, "output": output });
        }
        Err(error) => details["error"] = error.as_str().into(),
    }
    details["timestamp"] = Timestamp::now().precise().into();
    let is_error = said.is_err();
    let (text, display) = match said {
        Ok(output) => {
            let shown = match output.strip_suffix('\n').unwrap_or(&output) {
                "" => "(No output)",
                shown => shown,
            };
            let took = format_duration(to_millis(duration));
            let display = format!("Custom Tool: {name} (executed in {took})\n\n{shown}");
            (format!("<result>\n{shown}\n</result>"), display)
        }
        Err(error) => (
            format!("<error>\n{error}\n</error>\n<result>\n(No output)\n</result>"),
            format!("Error: {error}"),
        ),
    };
    Outcome {
        content: vec![Block::text(text)],
        details,
        is_error,
        display: Some(display),
        ..Outcome::failure("", duration)
    }
}

fn to_millis(duration: Duration) -> Duration {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Duration::from_millis(millis.max(1))
}
