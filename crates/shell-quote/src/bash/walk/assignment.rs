//! Assignments and declarations, and the attributes of variables.

use shuck_ast::{ArrayElem, Assignment, AssignmentValue, DeclClause, DeclOperand};

use super::super::origin::{ANY, Rule, TextOrigin, keys_of};
use super::super::word;
use super::{CALCULATES, Context, VARIABLE_NAME, Walker};
use crate::programs::{HOLE, is_dangerous_variable};

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

/// Variables whose text a shell expands or runs whenever it reads them.
const CODE_VARIABLES: &[&str] = &[
    "BASH_ENV",
    "MAILPATH",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
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
                let word = self.command_word(word, context);
                self.sink(
                    word.origin,
                    Rule::Never,
                    line,
                    "the options of a declaration",
                );
                flags.push_str(&word.text);
            }
        }
        if flags.contains('n') {
            let why = format!(
                "`{} -n`, with which one name stands for another variable; write its name",
                clause.variant
            );
            self.refuse(line, why);
        }
        for operand in &clause.operands {
            match operand {
                DeclOperand::Flag(_) => {}
                DeclOperand::Name(reference) => {
                    self.attributes(&reference.name, &flags, line);
                    self.reference(reference, &context.bare());
                }
                DeclOperand::Assignment(assignment) => {
                    let name = assignment.target.name.as_str();
                    self.attributes(name, &flags, line);
                    let origin = self.assignment(assignment, context);
                    if let AssignmentValue::Scalar(_) = assignment.value {
                        self.declared.push((name.to_owned(), origin, line));
                    }
                }
                DeclOperand::Dynamic(word) => {
                    let word = self.command_word(word, context);
                    let name = word.text.split(['=', '[']).next().unwrap_or_default();
                    let name = name.trim_end_matches('+');
                    let is_plain = word::is_name(name)
                        && word.text[name.len()..]
                            .trim_start_matches('+')
                            .starts_with('=')
                        && !flags.contains(['a', 'A', 'i']);
                    if is_plain {
                        self.assign(name, &word.origin, line);
                        self.declared.push((name.to_owned(), word.origin, line));
                    } else {
                        self.sink(word.origin.clone(), Rule::Never, line, VARIABLE_NAME);
                        self.facts.assign(ANY, &word.origin);
                    }
                }
            }
        }
    }

    fn attributes(&mut self, name: &str, flags: &str, line: usize) {
        if flags.contains('i') {
            // Every assignment to it is a calculation.
            let origin = TextOrigin::of_variable(name);
            self.sink(origin, Rule::Number, line, CALCULATES);
        }
        if flags.contains(['a', 'A']) {
            self.arrays.insert(name.to_owned());
        }
        if flags.contains('A') {
            // The subscripts of other lists are numbers.
            self.facts.assign(&keys_of(name), &TextOrigin::open());
        }
    }

    pub(super) fn assignment(
        &mut self,
        assignment: &Assignment,
        context: &Context<'_>,
    ) -> TextOrigin {
        let line = context.line(assignment.span);
        let name = assignment.target.name.as_str();
        self.reference(&assignment.target, &context.bare());
        let mut origin = TextOrigin::default();
        match &assignment.value {
            AssignmentValue::Scalar(word) => {
                let word = self.command_word(word, context);
                if self.code_variable(name, &word.text, line, context) && !assignment.append {
                    return word.origin;
                }
                if assignment.target.subscript.is_some() {
                    self.arrays.insert(name.to_owned());
                }
                origin = word.origin;
            }
            AssignmentValue::Compound(array) => {
                self.arrays.insert(name.to_owned());
                for element in &array.elements {
                    if let ArrayElem::Keyed { key, .. } | ArrayElem::KeyedAppend { key, .. } =
                        element
                    {
                        self.subscript(key, &context.bare());
                    }
                    origin.add(&self.word(&element.value().word, &context.bare()));
                }
            }
        }
        self.assign(name, &origin, line);
        origin
    }

    /// Assigns text to a variable.
    pub(in super::super) fn assign(&mut self, name: &str, origin: &TextOrigin, line: usize) {
        self.facts.assign(name, origin);
        if INTEGERS.contains(&name) {
            self.sink(origin.clone(), Rule::Number, line, CALCULATES);
        }
        let why = || {
            format!("the variable `{name}`, which decides how the shell works or what programs run")
        };
        if CODE_VARIABLES.contains(&name) {
            self.refuse(line, why());
        } else if is_dangerous_variable(name) {
            self.sink(origin.clone(), Rule::Never, line, why());
        }
    }

    /// Walks the author's own text of a variable that a shell expands or runs; returns true if it
    /// is one.
    pub(in super::super) fn code_variable(
        &mut self,
        name: &str,
        text: &str,
        line: usize,
        context: &Context<'_>,
    ) -> bool {
        let is_one = CODE_VARIABLES.contains(&name) && !text.contains(HOLE);
        if is_one && name == "PROMPT_COMMAND" {
            self.code(text, line, context);
        } else if is_one {
            // It is expanded like a here-document.
            let code = format!("cat <<__HAFT_PROMPT\n{text}\n__HAFT_PROMPT\n");
            self.code(&code, line, context);
        }
        is_one
    }
}
