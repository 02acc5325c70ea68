//! Conversion of a command of the file to a program to start (spec cycod 19–28, 72): the program,
//! its text, its folder, its variables.
//!
//! The system takes 128 KiB in one argument or variable. Longer texts go into a script that only
//! its user can read.

use super::super::definition::{Command, Environment as Variables, Platform};
use super::outside::check_variables;
use super::session::Session;
use super::temp::Scratch;
use super::words::words;
use crate::family::tool_command::template_words;
use haft_process::{CommandWord, Environment};
use haft_shell_quote::programs::HOLE;
use haft_shell_quote::shell_word;
use haft_shell_quote::{self as quote, Dialect, Outside, Piece, Quoted, variable};

/// Limit of one argument or variable in bytes, with room for a name.
const MAX_ARGUMENT_BYTES: usize = 120 << 10;

/// Limit of all of them together in bytes, with room for the environment that is there already.
const MAX_ARGUMENTS_BYTES: usize = 1 << 20;

/// A program with its arguments.
pub(crate) struct Launch {
    pub(crate) program: String,
    /// Program to use if the first one is missing.
    pub(crate) instead: Option<&'static str>,
    pub(crate) args: Vec<String>,
    /// The words of the command as the author wrote them, with [`HOLE`] for each value.
    texts: Vec<String>,
    /// Variables that are set in addition to the tool's.
    pub(crate) bound: Vec<(String, String)>,
    /// Folder of the script while it runs.
    pub(crate) scratch: Option<Scratch>,
}

impl Session<'_> {
    /// Returns the program for a command.
    ///
    /// # Errors
    /// With a sentence that says why the command cannot be started.
    pub(crate) async fn launch(
        &self,
        command: &Command,
        outside: &[Outside],
    ) -> Result<Launch, String> {
        check_variables(outside).map_err(|error| error.to_string())?;
        match command {
            Command::Bash(text) => self.posix("bash", Dialect::Bash, text, outside).await,
            Command::Cmd(text) => {
                // A value that cannot be quoted in a command is refused here, too.
                let pieces = self.pieces(text).await?;
                quote::cmd(&pieces).map_err(|error| error.to_string())?;
                Err(no_cmd())
            }
            Command::Pwsh(text) => self.pwsh(text).await,
            Command::Run(text) => self.direct(text, outside).await,
            Command::Script { text, shell } => {
                let shell = shell.as_deref().unwrap_or("bash");
                self.script(text, shell, outside).await
            }
            Command::Commands(commands) => {
                let platform = Platform::current();
                let text = commands.on(platform);
                let text =
                    text.ok_or_else(|| format!("not supported on platform {}", platform.as_str()))?;
                self.posix("bash", Dialect::Bash, text, outside).await
            }
        }
    }

    async fn pieces(&self, text: &str) -> Result<Vec<Piece>, String> {
        self.values
            .pieces(text)
            .await
            .map_err(|error| error.to_string())
    }

    async fn posix(
        &self,
        shell: &str,
        dialect: Dialect,
        text: &str,
        outside: &[Outside],
    ) -> Result<Launch, String> {
        // A carriage return would be part of the last word of each line.
        let pieces = self.pieces(&text.replace("\r\n", "\n")).await?;
        let quoted = quote::bash_with(&pieces, dialect, outside);
        let quoted = quoted.map_err(|error| error.to_string())?;
        if quoted.text.contains('\0') {
            return Err("the command has a NUL character".to_owned());
        }
        let together: usize = quoted.values.iter().map(String::len).sum();
        let is_long = |text: &String| text.len() > MAX_ARGUMENT_BYTES;
        if is_long(&quoted.text)
            || quoted.values.iter().any(is_long)
            || together > MAX_ARGUMENTS_BYTES
        {
            return self.posix_file(shell, &quoted);
        }
        Ok(Launch {
            args: vec!["-c".to_owned(), quoted.text],
            bound: bound(quoted.values),
            ..Launch::new(shell)
        })
    }

    fn posix_file(&self, shell: &str, quoted: &Quoted) -> Result<Launch, String> {
        let mut text = String::new();
        for (index, value) in quoted.values.iter().enumerate() {
            let word = shell_word(value);
            text.push_str(&format!("{}={word}\n", variable(index)));
        }
        text.push_str(&quoted.text);
        self.file(&[shell.to_owned()], "script", &text)
    }

    /// Returns a program that gets the path of a script.
    fn file(&self, shell: &[String], name: &str, text: &str) -> Result<Launch, String> {
        let failed = |error: std::io::Error| format!("the script cannot be written: {error}");
        let scratch = Scratch::new(self.host_env.temp()).map_err(failed)?;
        let path = scratch.write(name, text).map_err(failed)?;
        let mut args = shell[1..].to_vec();
        args.push(path.display().to_string());
        Ok(Launch {
            args,
            texts: shell.to_vec(),
            scratch: Some(scratch),
            ..Launch::new(&shell[0])
        })
    }

    async fn pwsh(&self, text: &str) -> Result<Launch, String> {
        let pieces = self.pieces(text).await?;
        let quoted = quote::pwsh(&pieces).map_err(|error| error.to_string())?;
        let options = ["-NoLogo", "-NoProfile", "-NonInteractive", "-Command"];
        let mut args: Vec<String> = options.map(str::to_owned).into();
        args.push(quoted.text);
        Ok(Launch {
            instead: Some("powershell"),
            args,
            bound: bound(quoted.values),
            ..Launch::new("pwsh")
        })
    }

    async fn direct(&self, text: &str, outside: &[Outside]) -> Result<Launch, String> {
        let words = words(text).map_err(|why| format!("`run` cannot be read: {why}"))?;
        let (mut filled, mut all, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for word in &words {
            let pieces = self.pieces(word).await?;
            all.push(pieces.clone());
            // An omitted parameter gives no argument; an empty one gives an empty argument.
            if !pieces.is_empty() || word.is_empty() {
                let text: String = pieces.into_iter().map(|piece| piece.text).collect();
                texts.push(if text == *word {
                    text.clone()
                } else {
                    HOLE.to_string()
                });
                filled.push(text);
            }
        }
        quote::direct(&all, outside).map_err(|error| error.to_string())?;
        let mut filled = filled.into_iter();
        let program = filled.next().filter(|program| !program.is_empty());
        let program = program.ok_or("`run` names no program")?;
        Ok(Launch {
            args: filled.collect(),
            texts,
            ..Launch::new(&program)
        })
    }

    async fn script(&self, text: &str, shell: &str, outside: &[Outside]) -> Result<Launch, String> {
        let parts = words(shell).map_err(|why| format!("`shell` cannot be read: {why}"))?;
        let name = parts[0].rsplit('/').next().unwrap_or_default();
        if let ([shell], Some(dialect)) = (parts.as_slice(), Dialect::of_shell(&parts[0])) {
            return self.posix(shell, dialect, text, outside).await;
        }
        match (name, parts.len()) {
            ("pwsh" | "powershell", 1) => self.pwsh(text).await,
            ("cmd" | "cmd.exe", _) => Err(no_cmd()),
            _ => {
                let pieces = self.pieces(text).await?;
                let filled = quote::harmless(&pieces).map_err(|error| error.to_string())?;
                self.file(&parts, "script", &filled)
            }
        }
    }

    /// Returns the environment of a program, and the names of the variables that the tool sets in
    /// it.
    pub(crate) async fn environment(
        &self,
        own: Option<&Variables>,
        bound: &[(String, String)],
    ) -> Result<(Environment, Vec<String>), String> {
        let tools = &self.definition.environment;
        let inherits = own.map_or(tools.inherit, |own| own.inherit && tools.inherit);
        let mut environment = if inherits {
            Environment::inherit()
        } else {
            Environment::allow(["PATH", "HOME"])
        };
        let mut names = Vec::new();
        let mut set = |environment: Environment, name: &str, value: &str| {
            names.push(name.to_owned());
            environment.with(name, value)
        };
        if let Some(temp) = &self.temp {
            environment = set(environment, "TMPDIR", &temp.path().display().to_string());
        }
        for (name, text) in tools
            .variables
            .iter()
            .chain(own.iter().flat_map(|own| &own.variables))
        {
            let value = self
                .values
                .variable(text)
                .await
                .map_err(|error| error.to_string())?;
            environment = match value {
                Some(value) => set(environment, name, &value),
                None => environment.without(name),
            };
        }
        for (name, value) in bound {
            environment = set(environment, name, value);
        }
        Ok((environment, names))
    }
}

impl Launch {
    /// Returns the words of the command for a start of `program`.
    pub(super) fn words(&self, program: &str) -> Vec<CommandWord> {
        let words = std::iter::once(program).chain(self.args.iter().map(String::as_str));
        template_words(&self.texts, words.map(str::to_owned))
    }

    fn new(program: &str) -> Launch {
        Launch {
            program: program.to_owned(),
            instead: None,
            args: Vec::new(),
            texts: vec![program.to_owned()],
            bound: Vec::new(),
            scratch: None,
        }
    }
}

fn bound(values: Vec<String>) -> Vec<(String, String)> {
    let values = values.into_iter().enumerate();
    values
        .map(|(index, value)| (variable(index), value))
        .collect()
}

fn no_cmd() -> String {
    format!(
        "`cmd` commands run only on Windows, and this is {}; add a `bash` command, or `commands` \
         with one for each platform",
        Platform::current().as_str()
    )
}
