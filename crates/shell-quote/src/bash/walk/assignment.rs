//! Assignments and declarations, and the attributes of variables.

use shuck_ast::{ArrayElem, Assignment, AssignmentValue, DeclClause, DeclOperand};

use super::super::taint::{ALL, ANY, Rule, Sources};
use super::super::word;
use super::{CALCULATES, Context, Deferred, Walker};
use crate::programs::is_dangerous_variable;

/// Variables that are integers from the start.
const INTEGERS: &[&str] = &[
    "BASHPID",
    "COMP_CWORD",
    "COMP_KEY",
    "COMP_POINT",
    "COMP_TYPE",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "HISTCMD",
    "LINENO",
    "OPTERR",
    "OPTIND",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SHLVL",
    "SRANDOM",
    "UID",
];

impl Walker<'_> {
    pub(super) fn declaration(&mut self, clause: &DeclClause, context: &Context<'_>) {
        for assignment in &clause.assignments {
            self.assignment(assignment, context);
        }
        let line = context.line(clause.span);
        let mut flags = String::new();
        for operand in &clause.operands {
            if let DeclOperand::Flag(word) = operand {
                let view = self.view(word, context);
                let why = "the options of a declaration";
                self.sink(view.sources.clone(), Rule::Never, line, why);
                flags.push_str(&view.text);
            }
        }
        let has = |flag: char| flags.contains(flag);
        for operand in &clause.operands {
            match operand {
                DeclOperand::Flag(_) => {}
                DeclOperand::Name(reference) => {
                    let name = reference.name.as_str();
                    self.attributes(name, &flags);
                    self.reference(reference, &context.bare());
                }
                DeclOperand::Assignment(assignment) => {
                    let name = assignment.target.name.as_str().to_owned();
                    self.attributes(&name, &flags);
                    let sources = self.assignment(assignment, context);
                    let is_scalar = matches!(assignment.value, AssignmentValue::Scalar(_));
                    if has('n') {
                        let why = "the name of a variable, which the shell evaluates";
                        self.sink(sources.clone(), Rule::Never, line, why);
                        self.alias(&name, assignment, context);
                    }
                    if is_scalar {
                        self.deferred.push(Deferred {
                            name,
                            sources,
                            line,
                            is_declaration: true,
                            is_list: false,
                        });
                    }
                }
                DeclOperand::Dynamic(word) => {
                    let view = self.view(word, context);
                    let name = view.text.split(['=', '[']).next().unwrap_or_default();
                    let name = name.trim_end_matches('+');
                    let why = "the name of a variable, which the shell evaluates";
                    if word::is_name(name)
                        && view.text[name.len()..]
                            .trim_start_matches('+')
                            .starts_with('=')
                        && !flags.contains(['a', 'A', 'i', 'n'])
                    {
                        let name = name.to_owned();
                        self.assign_name(&name, &view.sources, line);
                        self.deferred.push(Deferred {
                            name,
                            sources: view.sources.clone(),
                            line,
                            is_declaration: true,
                            is_list: false,
                        });
                    } else {
                        self.sink(view.sources.clone(), Rule::Never, line, why);
                        self.facts.assign(ANY, &view.sources);
                    }
                }
            }
        }
    }

    fn attributes(&mut self, name: &str, flags: &str) {
        if flags.contains('i') {
            self.facts.integers.insert(name.to_owned());
        }
        if flags.contains(['a', 'A']) {
            self.facts.arrays.insert(name.to_owned());
        }
    }

    /// Records `declare -n name=other`: each name stands for the other.
    fn alias(&mut self, name: &str, assignment: &Assignment, context: &Context<'_>) {
        let text = match &assignment.value {
            AssignmentValue::Scalar(word) => context.slice(word.span).unwrap_or_default(),
            AssignmentValue::Compound(_) => "",
        };
        let other = text.trim_matches(['"', '\'']);
        let both = if word::is_name(other) { other } else { ANY };
        self.facts.assign(both, &Sources::of_name(name));
        let other = if both == ANY { ALL } else { both };
        self.facts.assign(name, &Sources::of_name(other));
        self.aliases.push((name.to_owned(), both.to_owned()));
    }

    pub(super) fn assignment(&mut self, assignment: &Assignment, context: &Context<'_>) -> Sources {
        let line = context.line(assignment.span);
        let name = assignment.target.name.as_str().to_owned();
        self.reference(&assignment.target, &context.bare());
        let mut sources = Sources::default();
        let mut views = Vec::new();
        match &assignment.value {
            AssignmentValue::Scalar(word) => {
                sources = self.word(word, &context.bare());
                if assignment.target.subscript.is_some() {
                    self.facts.arrays.insert(name.clone());
                }
                let mut calculated = sources.clone();
                let text = context.slice(word.span).unwrap_or_default();
                calculated.names.extend(word::identifiers(text));
                self.deferred.push(Deferred {
                    name: name.clone(),
                    sources: calculated,
                    line,
                    is_declaration: false,
                    is_list: false,
                });
            }
            AssignmentValue::Compound(array) => {
                self.facts.arrays.insert(name.clone());
                for element in &array.elements {
                    match element {
                        ArrayElem::Sequential(value) => {
                            let view = self.view(&value.word, context);
                            sources.add(&view.sources);
                            views.push(view);
                        }
                        ArrayElem::Keyed { key, value } | ArrayElem::KeyedAppend { key, value } => {
                            self.subscript(key, &name, &context.bare());
                            sources.add(&self.word(&value.word, &context.bare()));
                        }
                    }
                }
            }
        }
        let is_list = matches!(assignment.value, AssignmentValue::Compound(_));
        self.assign(&name, &sources, line, is_list);
        if let AssignmentValue::Compound(_) = &assignment.value
            && !assignment.append
            && self.lists.insert(name.clone(), views).is_some()
        {
            // The variable is assigned more than once, so its words are unknown. An empty list is
            // never a command.
            self.lists.insert(name, Vec::new());
        }
        sources
    }

    /// Assigns text that may hold values to a variable.
    pub(in super::super) fn assign_name(&mut self, name: &str, sources: &Sources, line: usize) {
        self.assign(name, sources, line, false);
    }

    pub(super) fn assign(&mut self, name: &str, sources: &Sources, line: usize, is_list: bool) {
        self.facts.assign(name, sources);
        self.deferred.push(Deferred {
            name: name.to_owned(),
            sources: sources.clone(),
            line,
            is_declaration: false,
            is_list,
        });
        if is_dangerous_variable(name) {
            let why = format!(
                "the variable `{name}`, which decides how the shell works or what programs run"
            );
            self.sink(sources.clone(), Rule::Never, line, &why);
        }
    }

    /// Applies attributes of variables and judges calls of functions, after everything is known.
    pub(super) fn finish(&mut self) {
        for set in [&mut self.facts.integers, &mut self.facts.arrays] {
            for _ in 0..=self.aliases.len() {
                for (one, other) in &self.aliases {
                    let is_any = other == ANY && !set.is_empty();
                    if is_any || set.contains(one) || set.contains(other) {
                        set.extend([one.clone(), other.clone()]);
                    }
                }
            }
        }
        for deferred in std::mem::take(&mut self.deferred) {
            let name = deferred.name.as_str();
            if !deferred.is_list && self.list_commands.contains(name) {
                let why = "a list that is run as a command, so it would choose what runs";
                self.sink(deferred.sources.clone(), Rule::Never, deferred.line, why);
            }
            if self.facts.integers.contains(name) || INTEGERS.contains(&name) {
                self.sink(deferred.sources, Rule::Number, deferred.line, CALCULATES);
            } else if deferred.is_declaration && self.facts.arrays.contains(name) {
                let why = "the declaration of a list, which the shell parses again; assign it \
                           without `declare`";
                self.sink(deferred.sources, Rule::Never, deferred.line, why);
            }
        }
        self.finish_calls();
    }
}
