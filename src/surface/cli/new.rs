//! `haft new`: creates the first files of a tool.

use std::path::Path;

use clap::Subcommand;

use super::exit::{Failure, SUCCESS};
use super::flags::{Globals, named};
use crate::code::Recorder;
use crate::surface::stdout::Out;
use crate::tool_files::{
    NewDialect, NewModule, Overwrite, Scope, ScriptModule, ToolFileStore, open, template,
};
use haft_config::Config;
use haft_render::text;
use haft_tool::{Error, ErrorKind, suggest, terminal_text};

/// Start a new tool
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft new js greet             .omp/tools/greet/, with a test, types and settings for editors
  haft new js greet --user      ~/.omp/agent/tools/greet/
  haft new js greet --dialect opencode    .opencode/tools/greet.ts
  haft new shell greet          .cycod/tools/greet.yaml
  haft new shell greet --user   ~/.cycod/tools/greet.yaml
  haft new report --from-run last   a tool of the script that `haft run` or a model ran last")]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Args {
    #[command(subcommand)]
    kind: Option<Kind>,

    /// The name of the tool for --from-run
    // A second word is taken, so that a misspelled kind is reported as one.
    #[arg(value_name = "NAME", num_args = 1..=2)]
    words: Vec<String>,

    /// Make a tool of the script of this run: its id, the beginning of it, or `last`
    #[arg(long, value_name = "ID")]
    from_run: Option<String>,

    /// With --from-run: below your home directory instead of in this project
    #[arg(long, short, requires = "from_run")]
    user: bool,
}

#[derive(Subcommand)]
enum Kind {
    /// A TypeScript tool: a module, its test, types and settings for editors
    Js {
        /// The tool's name: letters, digits, `-` and `_`
        name: String,

        /// The agent whose interface the tool has
        #[arg(long, value_name = "DIALECT", default_value = "oh-my-pi", value_parser = named(NewDialect::ALL, NewDialect::name))]
        dialect: NewDialect,

        /// Below your home directory instead of in this project
        #[arg(long, short)]
        user: bool,
    },
    /// A YAML shell tool, with a parameter and a test
    Shell {
        /// The tool's name: letters, digits, `-` and `_`
        name: String,

        /// Below your home directory instead of in this project
        #[arg(long, short)]
        user: bool,
    },
}

impl Args {
    pub(super) fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        let config = Config::resolve(globals.flags())?;
        match &self.kind {
            Some(Kind::Js {
                name,
                dialect,
                user,
            }) => {
                let module = NewModule::new(*dialect, name, *user, &config)?;
                new_module(&config, &module, name, *user, out)
            }
            Some(Kind::Shell { name, user }) => new_shell_tool(&config, name, *user, out),
            None => self.module_of_run(&config, out),
        }
    }

    /// Returns the name of the tool and the id of the run.
    fn name_and_run(&self) -> Result<(&str, &str), Error> {
        match (self.words.as_slice(), &self.from_run) {
            ([name], Some(id)) => Ok((name, id)),
            ([_, more, ..], Some(_)) => {
                let text = format!("`{more}` is one argument too many");
                let error = Error::new(ErrorKind::Usage, text);
                Err(error.with_hint("usage: haft new [OPTIONS] --from-run <ID> <NAME>"))
            }
            ([], _) => {
                let text = "`haft new` wants `js`, `shell`, or a name and `--from-run`";
                Err(Error::new(ErrorKind::Usage, text))
            }
            ([word, ..], None) => {
                let text = format!("there is no command `haft new {word}`");
                let hint = match suggest(word, ["js", "shell"]) {
                    Some(near) => format!("did you mean `haft new {near}`?"),
                    None => "`haft new js NAME` and `haft new shell NAME` make a tool, and \
                             `haft new NAME --from-run ID` makes one of a script"
                        .to_owned(),
                };
                Err(Error::new(ErrorKind::Usage, text).with_hint(hint))
            }
        }
    }

    fn module_of_run(&self, config: &Config, out: &mut Out) -> Result<u8, Failure> {
        let (name, id) = self.name_and_run()?;
        let run = Recorder::new(config).read(id)?;
        let module = ScriptModule {
            name,
            code: &run.code,
            args: &run.args,
            tools: &run.tools,
            only_reads: run.only_reads,
        };
        let tools = if self.user {
            config.roots.omp_agent.join("tools")
        } else {
            config.cwd.join(".omp/tools")
        };
        let files = module.write(&tools)?;
        let shown = |path: &Path| {
            let short = path.strip_prefix(&config.cwd).unwrap_or(path);
            text::path(short, &config.home)
        };
        for file in &files {
            out.print_line(&shown(file))?;
        }
        // The module starts haft, which a sandbox does not let call other tools.
        let module = shown(&files[0]);
        out.print_line(&terminal_text!("\nhaft test {module}"))?;
        if !self.user {
            out.print_line(&terminal_text!("haft trust --profile full"))?;
        }
        out.print_line(&terminal_text!("haft call {name}"))?;
        Ok(SUCCESS)
    }
}

fn new_module(
    config: &Config,
    module: &NewModule,
    name: &str,
    user: bool,
    out: &mut Out,
) -> Result<u8, Failure> {
    let files = module.write()?;
    let shown = |path: &Path| {
        let short = path.strip_prefix(&config.cwd).unwrap_or(path);
        text::path(short, &config.home)
    };
    for file in &files {
        out.print_line(&shown(file))?;
    }
    let module = shown(&files[0]);
    out.print_line(&terminal_text!("\nhaft test {module}"))?;
    // Tools in a project must be trusted before they run.
    if !user {
        out.print_line(&terminal_text!("haft trust"))?;
    }
    out.print_line(&terminal_text!("haft call {name} --arg name=Ada"))?;
    Ok(SUCCESS)
}

fn new_shell_tool(config: &Config, name: &str, user: bool, out: &mut Out) -> Result<u8, Failure> {
    let scope = if user { Scope::User } else { Scope::Local };
    let tool_files = ToolFileStore::new(config);
    let text = template(name);
    let opened = open(&tool_files.folder(scope).join("new.yaml"), text.clone());
    if opened.definition.is_none() || opened.name != name {
        let text = format!("`{name}` cannot be the name of a tool");
        let error = Error::new(ErrorKind::Usage, text);
        return Err(error.with_hint("use letters, digits, `-` and `_`").into());
    }
    if tool_files.find(name, Some(scope)).is_ok() {
        let text = format!("there is a tool '{name}' in {} scope", scope.as_str());
        let hint = format!("`haft tool edit {name}` opens it");
        return Err(Error::new(ErrorKind::Load, text).with_hint(hint).into());
    }
    let path = tool_files.write(name, &text, scope, Overwrite::No)?;
    tool_files.lay_schema(scope)?;
    out.print_line(&terminal_text!(
        "{}\n\nhaft tool test {name}\nhaft tool run {name} --param NAME=Ada",
        text::path(&path, &config.home)
    ))?;
    Ok(SUCCESS)
}
