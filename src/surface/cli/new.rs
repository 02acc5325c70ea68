//! `haft new`: a first file to start from.

use std::io::Write;

use clap::Subcommand;

use super::exit::{Failure, SUCCESS};
use super::flags::Globals;
use crate::config::Config;
use crate::error::{Error, ErrorKind};
use crate::render::text;
use crate::surface::stdout::Out;
use crate::workshop::{Replacing, Scope, Workshop, open, template};

/// Start a new tool
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft new shell greet          .cycod/tools/greet.yaml
  haft new shell greet --user   ~/.cycod/tools/greet.yaml")]
pub(super) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Subcommand)]
enum Kind {
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
        let Kind::Shell { name, user } = &self.kind;
        let scope = match user {
            true => Scope::User,
            false => Scope::Local,
        };
        let workshop = Workshop::new(&config);
        let text = template(name);
        let opened = open(&workshop.folder(scope).join("new.yaml"), text.clone());
        if opened.definition.is_none() || opened.name != *name {
            let text = format!("`{name}` cannot be the name of a tool");
            let error = Error::new(ErrorKind::Usage, text);
            return Err(error.with_hint("use letters, digits, `-` and `_`").into());
        }
        if workshop.find(name, Some(scope)).is_ok() {
            let text = format!("there is a tool '{name}' in {} scope", scope.as_str());
            let hint = format!("`haft tool edit {name}` opens it");
            return Err(Error::new(ErrorKind::Load, text).with_hint(hint).into());
        }
        let path = workshop.write(name, &text, scope, Replacing::No)?;
        workshop.lay_schema(scope)?;
        writeln!(
            out,
            "{}\n\nhaft tool test {name}\nhaft tool run {name} --param NAME=Ada",
            text::path(&path, &config.home)
        )?;
        Ok(SUCCESS)
    }
}
