//! Origins of texts: the values that a text may hold, as far as the grammar shows it.
//!
//! Only assignments are followed, whatever their order. Everything else that a shell reads
//! (positional parameters, input, output of commands, names of files) is [`OPEN`]: the grammar does
//! not show what is in it, so every value may be.

use std::collections::{BTreeSet, HashMap, HashSet};

/// Text that the grammar does not show: it may hold every value.
pub(super) const OPEN: &str = "<open>";

/// Standard input of the whole script.
pub(super) const INPUT: &str = "<input>";

/// Any variable: target of an assignment to a name that is not literal.
pub(super) const ANY: &str = "<any>";

/// Returns the name that stands for the subscripts of an array.
pub(super) fn keys_of(array: &str) -> String {
    format!("<keys of {array}>")
}

/// Values and variables that a text may hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TextOrigin {
    pub(super) values: BTreeSet<usize>,
    pub(super) variables: BTreeSet<String>,
    /// Names in the author's own text: a calculation looks these variables up.
    pub(super) spelled: BTreeSet<String>,
}

impl TextOrigin {
    pub(super) fn open() -> TextOrigin {
        TextOrigin::of_variable(OPEN)
    }

    pub(super) fn of_variable(name: &str) -> TextOrigin {
        TextOrigin {
            variables: BTreeSet::from([name.to_owned()]),
            ..TextOrigin::default()
        }
    }

    pub(super) fn of_values(values: impl IntoIterator<Item = usize>) -> TextOrigin {
        TextOrigin {
            values: values.into_iter().collect(),
            ..TextOrigin::default()
        }
    }

    pub(super) fn add(&mut self, other: &TextOrigin) {
        self.values.extend(&other.values);
        self.variables.extend(other.variables.iter().cloned());
        self.spelled.extend(other.spelled.iter().cloned());
    }

    /// Returns true for a text that holds nothing but the author's own words and numbers.
    pub(super) fn is_own(&self) -> bool {
        self.values.is_empty() && self.variables.is_empty()
    }
}

/// Requirement for a value in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// A whole number.
    Number,
    /// A whole number or empty: it is not used in a calculation.
    Operand,
    /// No value can stand there.
    Never,
    /// It must not begin with `-`.
    NoOption,
    /// It must not begin with `-` or hold a `=`.
    NoVariable,
}

/// A place where text has a special meaning.
#[derive(Clone, Debug)]
struct Sink {
    origin: TextOrigin,
    rule: Rule,
    line: usize,
    /// Reason of the rule: the end of a sentence about the value.
    why: String,
}

/// Assignments and special places of a script.
#[derive(Debug, Default)]
pub(super) struct ScriptFacts {
    assigned: HashMap<String, TextOrigin>,
    sinks: Vec<Sink>,
}

/// One rule for one value.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub(super) value: usize,
    pub(super) rule: Rule,
    pub(super) line: usize,
    pub(super) why: String,
    /// The variable through which the value gets there.
    pub(super) through: Option<String>,
}

impl ScriptFacts {
    pub(super) fn assign(&mut self, name: &str, origin: &TextOrigin) {
        self.assigned
            .entry(name.to_owned())
            .or_default()
            .add(origin);
    }

    pub(super) fn sink(&mut self, origin: TextOrigin, rule: Rule, line: usize, why: String) {
        self.sinks.push(Sink {
            origin,
            rule,
            line,
            why,
        });
    }

    /// Returns the rules that each value must keep.
    pub(super) fn needs(&self) -> Vec<Need> {
        let mut needs = Vec::new();
        for sink in &self.sinks {
            let mut found: HashMap<usize, Option<String>> = HashMap::new();
            for value in &sink.origin.values {
                found.insert(*value, None);
            }
            let looked_up = sink.origin.spelled.iter().filter(|_| sink.looks_up());
            for name in sink.origin.variables.iter().chain(looked_up) {
                for value in self.reach(name, sink) {
                    found.entry(value).or_insert_with(|| Some(name.clone()));
                }
            }
            let mut found: Vec<_> = found.into_iter().collect();
            found.sort();
            for (value, through) in found {
                needs.push(Need {
                    value,
                    rule: sink.rule,
                    line: sink.line,
                    why: sink.why.clone(),
                    through,
                });
            }
        }
        needs
    }

    /// Returns the values that a variable may hold.
    fn reach(&self, name: &str, sink: &Sink) -> BTreeSet<usize> {
        let (mut values, mut seen) = (BTreeSet::new(), HashSet::new());
        let mut pending = vec![name];
        while let Some(name) = pending.pop() {
            if !seen.insert(name) {
                continue;
            }
            if name != OPEN && name != INPUT {
                pending.push(ANY);
            }
            if let Some(origin) = self.assigned.get(name) {
                values.extend(&origin.values);
                pending.extend(origin.variables.iter().map(String::as_str));
                if sink.looks_up() {
                    pending.extend(origin.spelled.iter().map(String::as_str));
                }
            }
        }
        values
    }
}

impl Sink {
    /// Returns true for a calculation, in which a name stands for its variable.
    fn looks_up(&self) -> bool {
        self.rule == Rule::Number
    }
}
