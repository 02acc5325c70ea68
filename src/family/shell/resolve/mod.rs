//! Name resolution among all tools: names, aliases, and the tools that tools use.
//!
//! Every tool on the shelf can run: every tool that it uses is there too, nothing goes in a circle,
//! and an alias has become a tool of its own. A tool is as risky as the riskiest one that it uses,
//! so that a harmless-looking wrapper hides nothing (spec cycod 126).

mod alias;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::definition::{Definition, Place, Privilege, Risk, Scope, StepWork, Work};
use haft_tool::{Problem, ToolRef, did_you_mean};

/// A tool that was read, with its file.
pub(crate) struct LoadedFile {
    pub(crate) definition: Definition,
    pub(crate) path: PathBuf,
    pub(crate) scope: Scope,
}

/// A tool that can run.
#[derive(Debug)]
pub(crate) struct ResolvedTool {
    /// The definition, never that of an alias.
    pub(crate) definition: Definition,
    /// Highest risk of the tool and of everything that it uses.
    pub(crate) risk: Risk,
    /// True if the tool, or one that it uses, runs with rights that its user does not have. Every
    /// call needs an approval then, whatever its tags are (spec cycod 122).
    pub(crate) is_elevated: bool,
    /// Every tool that it uses, directly or not; for an alias its base, too.
    pub(crate) uses: Vec<ToolRef>,
}

impl ResolvedTool {
    /// Records that it uses another tool.
    fn use_of(&mut self, used: &ResolvedTool) {
        let direct = ToolRef {
            name: used.definition.name.clone(),
            tags: used.definition.tags.clone(),
        };
        for one in used.uses.iter().chain([&direct]) {
            if !self.uses.contains(one) {
                self.uses.push(one.clone());
            }
        }
    }
}

/// Tools by name. A call looks up the tools that its steps use here.
#[derive(Debug, Default)]
pub(crate) struct ToolSet {
    tools: HashMap<String, Arc<ResolvedTool>>,
}

/// Limit of the length of a chain of tools that use one another.
const MAX_DEPTH: usize = 32;

impl ToolSet {
    /// Returns the tool of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<ResolvedTool>> {
        self.tools.get(name)
    }

    /// Resolves the names of `brought`, which is in the order in which names are claimed. The
    /// problems of each tool are at its index. A tool is on the shelf if `get` returns it for its
    /// name and `holds` returns true for it.
    pub(crate) fn fill(brought: &[LoadedFile]) -> (ToolSet, Vec<Vec<Problem>>) {
        let mut filling = Filling {
            brought,
            names: HashMap::new(),
            done: HashMap::new(),
            way: Vec::new(),
            problems: brought.iter().map(|_| Vec::new()).collect(),
        };
        filling.claim();
        for (index, tool) in brought.iter().enumerate() {
            if filling.names.get(tool.definition.name.as_str()) == Some(&index) {
                // The problems already contain the reason of an error.
                let _ = filling.put(index);
            }
        }
        let tools = filling
            .done
            .into_iter()
            .filter_map(|(index, shelved)| {
                Some((brought[index].definition.name.clone(), shelved.ok()?))
            })
            .collect();
        (ToolSet { tools }, filling.problems)
    }
}

/// Returns true for each of the tools that has its name.
pub(crate) fn winners(brought: &[LoadedFile]) -> Vec<bool> {
    let mut names = std::collections::HashSet::new();
    let claims = brought.iter();
    claims
        .map(|tool| names.insert(tool.definition.name.as_str()))
        .collect()
}

struct Filling<'a> {
    brought: &'a [LoadedFile],
    names: HashMap<&'a str, usize>,
    done: HashMap<usize, Result<Arc<ResolvedTool>, Refused>>,
    way: Vec<usize>,
    problems: Vec<Vec<Problem>>,
}

/// Error without a reason: the problems of the tool already contain it.
#[derive(Clone, Copy, Debug)]
struct Refused;

impl<'a> Filling<'a> {
    /// Claims the name; the first tool of a name gets it (spec cycod 4, 7).
    fn claim(&mut self) {
        for (index, tool) in self.brought.iter().enumerate() {
            let name = tool.definition.name.as_str();
            let Some(first) = self.names.get(name).copied() else {
                self.names.insert(name, index);
                continue;
            };
            let first = &self.brought[first];
            let text = format!(
                "{} is not loaded: {} comes first with the tool name `{name}`",
                tool.path.display(),
                first.path.display(),
            );
            // A project's tool may replace the user's: the format intends that.
            let problem = if first.scope == tool.scope {
                Problem::warning(text).hint("rename one of the two tools")
            } else {
                Problem::info(text).hint(format!(
                    "the {} scope comes before the {} scope; rename one of the two to have both",
                    first.scope.as_str(),
                    tool.scope.as_str(),
                ))
            };
            self.problems[index].push(problem.at(&tool.path).about(name));
        }
    }

    fn put(&mut self, index: usize) -> Result<Arc<ResolvedTool>, Refused> {
        if let Some(done) = self.done.get(&index) {
            return done.clone();
        }
        self.way.push(index);
        let shelved = self.shelve(index).map(Arc::new);
        self.way.pop();
        self.done.insert(index, shelved.clone());
        shelved
    }

    fn shelve(&mut self, index: usize) -> Result<ResolvedTool, Refused> {
        let definition = &self.brought[index].definition;
        let alias = match &definition.work {
            Work::Alias(alias) => alias,
            Work::Command(_) | Work::Steps(_) => return self.with_used(index),
        };
        let base = self.find(index, &alias.base_tool, alias.place, "the alias stands for")?;
        let (merged, problems) = alias::merge(definition, alias, &base.definition);
        for problem in problems {
            self.report(index, alias.place, problem);
        }
        let mut shelved = ResolvedTool {
            definition: merged.ok_or(Refused)?,
            risk: base.risk,
            is_elevated: base.is_elevated,
            uses: Vec::new(),
        };
        shelved.use_of(&base);
        Ok(shelved)
    }

    fn with_used(&mut self, index: usize) -> Result<ResolvedTool, Refused> {
        let definition = &self.brought[index].definition;
        let mut shelved = Ok(ResolvedTool {
            definition: definition.clone(),
            risk: definition.risk(),
            is_elevated: definition.security.privilege == Privilege::Elevated,
            uses: Vec::new(),
        });
        for step in definition.steps() {
            let StepWork::UseTool(uses) = &step.work else {
                continue;
            };
            let what = format!("step '{}' uses", step.name);
            match (
                self.find(index, &uses.tool, uses.place, &what),
                &mut shelved,
            ) {
                (Ok(used), Ok(own)) => {
                    own.risk = own.risk.max(used.risk);
                    own.is_elevated |= used.is_elevated;
                    own.use_of(&used);
                }
                (Ok(_), Err(Refused)) => {}
                // The other tools are still checked, to report all problems at once.
                (Err(refused), _) => shelved = Err(refused),
            }
        }
        shelved
    }

    /// Returns the tool that another one names; if it cannot be used, the problem belongs to the
    /// other one.
    fn find(
        &mut self,
        user: usize,
        name: &str,
        place: Place,
        what: &str,
    ) -> Result<Arc<ResolvedTool>, Refused> {
        let path = &self.brought[user].path;
        let Some(index) = self.names.get(name).copied() else {
            let known = self.names.keys().copied();
            let hint = did_you_mean(name, known, "add that tool, or correct the name");
            let text = format!("{what} '{name}', and there is no tool of that name");
            self.report(user, place, Problem::error(text).at(path).hint(hint));
            return Err(Refused);
        };
        if let Some(start) = self.way.iter().position(|on_way| *on_way == index) {
            let round = self.way[start..].iter().chain([&index]);
            let names: Vec<&str> = round
                .map(|index| self.brought[*index].definition.name.as_str())
                .collect();
            let text = format!("circular dependency {}", names.join(" -> "));
            let problem = Problem::error(text).hint("a tool cannot use itself; break the circle");
            self.report(user, place, problem);
            return Err(Refused);
        }
        if self.way.len() >= MAX_DEPTH {
            let text = format!("more than {MAX_DEPTH} tools use one another in a row");
            let problem = Problem::error(text).hint("use fewer tools inside tools");
            self.report(user, place, problem);
            return Err(Refused);
        }
        self.put(index).inspect_err(|_| {
            let text = format!("{what} '{name}', which cannot be used");
            let hint = format!("correct {} first", self.brought[index].path.display());
            self.report(user, place, Problem::error(text).hint(hint));
        })
    }

    fn report(&mut self, index: usize, place: Place, problem: Problem) {
        let tool = &self.brought[index];
        let problem = problem.at(&tool.path).about(&tool.definition.name);
        self.problems[index].push(problem.place(place.line, place.column));
    }
}
