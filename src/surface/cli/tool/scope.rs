//! Name and scope of the tool that a command works on: `--scope user`, `--user` and `-u` are the
//! same (spec cycod 152).

use crate::tool_files::{Scope, ToolFile, ToolFileStore};
use haft_tool::{Error, ErrorKind};

/// The tool that a command works on.
#[derive(clap::Args)]
pub(super) struct NamedTool {
    /// The tool's name
    pub(super) name: String,

    #[command(flatten)]
    scope: ScopeArgs,
}

impl NamedTool {
    /// Returns the file of the tool.
    pub(super) fn find(&self, tool_files: &ToolFileStore) -> Result<ToolFile, Error> {
        tool_files
            .find(&self.name, self.scope.to_search()?)
            .map_err(Error::from)
    }
}

/// Both spellings, as typed.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct ScopeArgs {
    /// local, user, global or any
    #[arg(long, value_name = "SCOPE")]
    pub(super) scope: Option<String>,

    #[arg(long, short)]
    pub(super) local: bool,

    #[arg(long, short)]
    pub(super) user: bool,

    #[arg(long, short)]
    pub(super) global: bool,

    #[arg(long, short)]
    pub(super) any: bool,
}

/// Chosen scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Any,
    One(Scope),
}

impl ScopeArgs {
    /// Returns the scope to search; `None` for all scopes, which is also the default.
    pub(super) fn to_search(&self) -> Result<Option<Scope>, Error> {
        Ok(match self.choice()? {
            None | Some(Choice::Any) => None,
            Some(Choice::One(scope)) => Some(scope),
        })
    }

    /// Returns the scope to write to, by default the project's.
    pub(super) fn to_write(&self) -> Result<Scope, Error> {
        match self.choice()? {
            None => Ok(Scope::Local),
            Some(Choice::One(scope)) => Ok(scope),
            Some(Choice::Any) => {
                let text = "a tool cannot be written to any scope";
                let hint = "name one: `--local`, `--user` or `--global`";
                Err(Error::new(ErrorKind::Usage, text).with_hint(hint))
            }
        }
    }

    fn choice(&self) -> Result<Option<Choice>, Error> {
        let flags = [
            (self.local, Choice::One(Scope::Local)),
            (self.user, Choice::One(Scope::User)),
            (self.global, Choice::One(Scope::Global)),
            (self.any, Choice::Any),
        ];
        let mut chosen: Vec<Choice> = flags
            .into_iter()
            .filter_map(|(is_set, choice)| is_set.then_some(choice))
            .collect();
        if let Some(name) = &self.scope {
            chosen.push(named(name)?);
        }
        chosen.dedup();
        match chosen.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            several => {
                let names: Vec<&str> = several.iter().map(|one| one.as_str()).collect();
                let text = format!("more than one scope: {}", names.join(", "));
                Err(Error::new(ErrorKind::Usage, text).with_hint("name one of them"))
            }
        }
    }
}

impl Choice {
    fn as_str(self) -> &'static str {
        match self {
            Choice::Any => "any",
            Choice::One(scope) => scope.as_str(),
        }
    }
}

fn named(name: &str) -> Result<Choice, Error> {
    if name == "any" {
        return Ok(Choice::Any);
    }
    let found = Scope::NAMES.iter().find(|(own, _)| *own == name);
    found.map(|(_, scope)| Choice::One(*scope)).ok_or_else(|| {
        let text = format!("there is no scope `{name}`");
        Error::new(ErrorKind::Usage, text).with_hint("it is one of local, user, global, any")
    })
}
