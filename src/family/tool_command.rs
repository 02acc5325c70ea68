//! Commands of tools: what a family may start.
//!
//! A file of a trusted project is started as a [`VerifiedProgram`] only, whichever family names it:
//! as an executable, as a program of a command, as the script of an interpreter. So families do not
//! start paths. They ask the [`CommandScope`] of their tool for a [`ToolCommand`].

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use haft_config::{Config, paths};
use haft_discover::Candidate;
use haft_process::{
    ChosenProgram, CommandWord, NotVerified, Spawn, SpawnProgram, StateDir, TrustedProject,
    VerifiedProgram,
};
use haft_shell_quote::programs::{HOLE, is_dangerous_variable, judge, names_code};
use haft_tool::VerifiedFiles;

/// Origin of a tool's commands, which decides what they may start.
#[derive(Clone, Default)]
pub(crate) struct CommandScope {
    /// The trusted files of the project that brings the tool; `None` if it is the user's own, or
    /// trusted without a question.
    verified: Option<Arc<VerifiedFiles>>,
    /// The state directory, which has the copies of verified files.
    state: StateDir,
}

/// Program of a tool with its first arguments, ready to start.
#[derive(Clone)]
pub(crate) struct ToolCommand {
    program: SpawnProgram,
    args: Vec<OsString>,
}

impl CommandScope {
    /// Scope of the tools of a candidate.
    pub(super) fn of(candidate: &Candidate, config: &Config) -> CommandScope {
        CommandScope {
            verified: candidate.verified.clone(),
            state: config.state_dir.clone(),
        }
    }

    /// Returns the candidate's own file as a program.
    pub(crate) fn executable(&self, candidate: &Candidate) -> ToolCommand {
        let path = &candidate.resolved;
        let program = self.with_project(|project, files| {
            // No file has this hash: an executable that is not in the grant does not run.
            let nothing = blake3::Hash::from_bytes([0; blake3::OUT_LEN]);
            let digest = files.entry(path).map_or(nothing, |entry| entry.digest);
            VerifiedProgram::of_file(project, path, digest).into()
        });
        ToolCommand {
            program: program.unwrap_or_else(|| by_user(path)),
            args: Vec::new(),
        }
    }

    /// Command that starts in `folder`, with the variables that it sets. The first word is
    /// the program.
    ///
    /// # Errors
    /// If it names a file of the project that was not trusted.
    pub(crate) fn command<'a>(
        &self,
        folder: &Path,
        words: &[CommandWord],
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<ToolCommand, NotVerified> {
        let verified: Option<Result<_, NotVerified>> = self.with_project(|project, _| {
            let mut program = VerifiedProgram::of_command(project, folder, words)?;
            for (name, value) in variables {
                program.set_variable(project, name, &variable_word(name, value))?;
            }
            Ok(ToolCommand {
                program: program.into(),
                args: Vec::new(),
            })
        });
        verified.unwrap_or_else(|| {
            let mut words = words.iter().map(CommandWord::text);
            Ok(ToolCommand {
                program: by_user(words.next().unwrap_or_default()),
                args: words.map(OsString::from).collect(),
            })
        })
    }

    fn with_project<T>(
        &self,
        make: impl FnOnce(&TrustedProject<'_>, &VerifiedFiles) -> T,
    ) -> Option<T> {
        let files = self.verified.as_ref()?;
        let project = TrustedProject {
            root: &files.project,
            alias: files.alias.as_deref(),
            state: &self.state,
            digest: &|path| files.program_digest(path),
        };
        Some(make(&project, files))
    }
}

impl ToolCommand {
    /// Start of the program with these further arguments.
    pub(crate) fn spawn<A: Into<OsString>>(&self, args: impl IntoIterator<Item = A>) -> Spawn {
        let own = self.args.iter().cloned();
        let args = own.chain(args.into_iter().map(Into::into));
        Spawn::new(self.program.clone(), args)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the tool has no verified files: it is the user's own, or trusted without a question"
)]
fn by_user(program: impl Into<OsString>) -> SpawnProgram {
    ChosenProgram::not_of_project(program).into()
}

/// Words of a command in a file of settings. A program with a slash is a path in the working
/// directory.
pub(super) fn settings_words(
    config: &Config,
    words: impl IntoIterator<Item = String>,
) -> Vec<CommandWord> {
    let mut words: Vec<String> = words.into_iter().collect();
    if let Some(program) = words.first_mut().filter(|program| program.contains('/')) {
        let path = paths::resolve(&config.cwd, Path::new(program));
        *program = path.display().to_string();
    }
    template_words(&words, words.iter().cloned())
}

/// Value of a variable as a word: code, if interpreters or the loader of the system run what such a
/// variable names.
pub(super) fn variable_word(name: &str, value: &str) -> CommandWord {
    if is_dangerous_variable(name) {
        CommandWord::Code(value.to_owned())
    } else {
        CommandWord::Argument(value.to_owned())
    }
}

/// Words of a command template, of which the first is the program. In `texts`, [`HOLE`]
/// stands for values; `filled` are the same words with the values.
pub(super) fn template_words(
    texts: &[String],
    filled: impl IntoIterator<Item = String>,
) -> Vec<CommandWord> {
    let judged = judge(texts);
    let is_script = |index: usize| judged.scripts.iter().any(|script| script.code == index);
    let words = filled.into_iter().enumerate().map(|(index, word)| {
        let is_fixed = texts.get(index).is_some_and(|text| !text.contains(HOLE));
        let is_code = || is_script(index) || names_code(texts, index);
        if index == 0 || judged.file == Some(index) || is_fixed && is_code() {
            CommandWord::Code(word)
        } else if is_fixed {
            CommandWord::Argument(word)
        } else {
            CommandWord::Data(word)
        }
    });
    words.collect()
}
