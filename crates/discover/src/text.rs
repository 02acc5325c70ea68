//! Reads JSON and YAML files of other programs; an error becomes a problem with a position.
//!
//! Reading is lenient: a broken file must never hide the tools of the other files.

use std::path::Path;

use jsonc_parser::ParseOptions;
use jsonc_parser::errors::ParseError;
use serde_json::Value;

use super::collector::Collector;
use haft_config::{paths, yaml};
use haft_tool::Problem;

/// Limit of the size of a manifest or settings file.
const MAX_BYTES: usize = 4 << 20;

/// Result of reading a file.
pub(super) enum Parsed {
    Missing,
    /// The file exists but is not usable; the problem is reported.
    Broken,
    Value(Value),
}

impl Parsed {
    pub(super) fn value(self) -> Option<Value> {
        match self {
            Parsed::Value(value) => Some(value),
            Parsed::Missing | Parsed::Broken => None,
        }
    }
}

pub(super) fn json(path: &Path, collector: &mut Collector<'_>) -> Parsed {
    read(path, collector, |text| {
        serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let end = message.rfind(" at line ").unwrap_or(message.len());
            let place = (count(error.line()), count(error.column().max(1)));
            Fault {
                message: format!("not valid JSON: {}", &message[..end]),
                place: Some(place),
            }
        })
    })
}

/// Reads JSON with comments and trailing commas.
pub(super) fn jsonc(path: &Path, collector: &mut Collector<'_>) -> Parsed {
    read(path, collector, parse_jsonc)
}

/// Parses JSON with comments and trailing commas.
pub(super) fn parse_jsonc(text: &str) -> Result<Value, Fault> {
    let parsed =
        jsonc_parser::parse_to_serde_value::<Option<Value>>(text, &ParseOptions::default());
    let fault = |error: ParseError| Fault {
        message: format!("not valid JSON: {}", error.kind()),
        place: Some((count(error.line_display()), count(error.column_display()))),
    };
    Ok(parsed.map_err(fault)?.unwrap_or_default())
}

pub(super) fn yaml(path: &Path, collector: &mut Collector<'_>) -> Parsed {
    read(path, collector, |text| {
        // An empty document is an empty value, hence the `Option`.
        let parsed = serde_saphyr::from_str::<Option<Value>>(text);
        parsed.map(Option::unwrap_or_default).map_err(|error| {
            let (message, place) = yaml::explain(&error);
            Fault {
                message: format!("not valid YAML: {message}"),
                place,
            }
        })
    })
}

fn read(
    path: &Path,
    collector: &mut Collector<'_>,
    parse: impl Fn(&str) -> Result<Value, Fault>,
) -> Parsed {
    collector.reads(path);
    let parsed = match paths::read_text(path) {
        Ok(None) => return Parsed::Missing,
        Ok(Some(text)) if text.len() > MAX_BYTES => Err(Fault {
            message: "larger than 4 MiB, so it is not read".to_owned(),
            place: None,
        }),
        Ok(Some(text)) => parse(&text),
        Err(error) => {
            let message = format!("cannot be read: {}", paths::plain(&error));
            Err(Fault {
                message,
                place: None,
            })
        }
    };
    match parsed {
        Ok(value) => Parsed::Value(value),
        Err(fault) => {
            let hint =
                "correct the file; until then it counts as absent, everything else is loaded";
            let problem = Problem::warning(fault.message).at(path).hint(hint);
            collector.problem(match fault.place {
                Some((line, column)) => problem.place(line, column),
                None => problem,
            });
            Parsed::Broken
        }
    }
}

/// Reason why a file cannot be used, and its position.
pub(super) struct Fault {
    message: String,
    place: Option<(u32, u32)>,
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
