//! Words of `haft tool add` in the order in which they were typed.
//!
//! The meaning of an option depends on earlier ones (`--retry-attempts` belongs to the last
//! `--step`). clap cannot express that.

use std::ffi::OsString;
use std::path::PathBuf;

use super::add_draft::{Building, Words, options};
use super::scope::ScopeArgs;
use super::usage;
use haft_tool::Error;
use haft_tool::did_you_mean;

/// Parsed command line.
#[derive(Default)]
pub(super) struct Typed {
    pub(super) name: Option<String>,
    pub(super) from_file: Option<PathBuf>,
    pub(super) is_edited: bool,
    pub(super) is_override: bool,
    pub(super) wants_help: bool,
    pub(super) scope: ScopeArgs,
    pub(super) cwd: Option<PathBuf>,
    pub(super) config: Option<PathBuf>,
    pub(super) building: Building,
}

impl Typed {
    pub(super) fn read(words: &[OsString]) -> Result<Typed, Error> {
        let mut all = Vec::with_capacity(words.len());
        for word in words {
            let word = word
                .to_str()
                .ok_or_else(|| usage(format!("`{}` is not valid UTF-8", word.to_string_lossy())))?;
            all.push(word.to_owned());
        }
        let mut words = Words {
            rest: all.into_iter(),
            attached: None,
        };
        let mut typed = Typed::default();
        while let Some(word) = words.rest.next() {
            typed.take(word, &mut words)?;
            if words.attached.is_some() {
                return Err(usage("an option that takes no value has one"));
            }
        }
        typed.building.end()?;
        Ok(typed)
    }

    fn take(&mut self, word: String, words: &mut Words) -> Result<(), Error> {
        let (option, attached) = match word.split_once('=') {
            Some((option, value)) if option.starts_with("--") => {
                (option.to_owned(), Some(value.to_owned()))
            }
            _ => (word, None),
        };
        words.attached = attached;
        match option.as_str() {
            "--from-file" => self.from_file = Some(words.value(&option, "a path")?.into()),
            "--editor" => self.is_edited = true,
            "--override" => self.is_override = true,
            "--help" | "-h" => self.wants_help = true,
            "--scope" => self.scope.scope = Some(words.value(&option, "a scope")?),
            "--local" | "-l" => self.scope.local = true,
            "--user" | "-u" => self.scope.user = true,
            "--global" | "-g" => self.scope.global = true,
            "--any" | "-a" => self.scope.any = true,
            "--cwd" => self.cwd = Some(words.value(&option, "a directory")?.into()),
            "--config" => self.config = Some(words.value(&option, "a file")?.into()),
            _ if option.starts_with('-') => {
                if !self.building.take(&option, words)? {
                    return Err(unknown(&option));
                }
            }
            _ if self.name.is_none() => self.name = Some(option),
            _ => {
                let hint = "words with spaces need quotes";
                return Err(usage(format!("`{option}` is one argument too many")).with_hint(hint));
            }
        }
        Ok(())
    }
}

fn unknown(option: &str) -> Error {
    let own = ["--from-file", "--editor", "--override", "--scope"];
    let known: Vec<String> = own
        .map(str::to_owned)
        .into_iter()
        .chain(options())
        .collect();
    let error = usage(format!("there is no flag `{option}`"));
    let known = known.iter().map(String::as_str);
    error.with_hint(did_you_mean(
        option,
        known,
        "`haft help tool add` shows all of them",
    ))
}
