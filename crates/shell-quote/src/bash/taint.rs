//! Data flow of values: which variables may hold them, and which places must not.
//!
//! The analysis ignores the order of commands: a variable that is assigned from a value anywhere
//! may hold it everywhere. Values are numbered; the names of variables, the output of commands and
//! the like are names.

use std::collections::{BTreeSet, HashMap, HashSet};

/// Values and names that a text may hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Sources {
    pub(super) values: BTreeSet<usize>,
    pub(super) names: BTreeSet<String>,
}

impl Sources {
    pub(super) fn of_name(name: &str) -> Sources {
        Sources {
            values: BTreeSet::new(),
            names: BTreeSet::from([name.to_owned()]),
        }
    }

    pub(super) fn add(&mut self, other: &Sources) {
        self.values.extend(&other.values);
        self.names.extend(other.names.iter().cloned());
    }

    pub(super) fn and(mut self, other: &Sources) -> Sources {
        self.add(other);
        self
    }

    /// Returns the sources without those that are only in variables.
    pub(super) fn direct(&self) -> Sources {
        Sources {
            values: self.values.clone(),
            names: BTreeSet::new(),
        }
    }
}

/// Text that was written to a place from which a command may read.
pub(super) const OUTPUT: &str = "<output>";

/// The tool's standard input.
pub(super) const INPUT: &str = "<input>";

/// Every value.
pub(super) const ALL: &str = "<all>";

/// Positional parameters.
pub(super) const ARGUMENTS: &str = "@";

/// Any variable: target of an assignment to a name that is not literal.
pub(super) const ANY: &str = "<any>";

/// Returns the name that stands for the subscripts of an array.
pub(super) fn keys_of(array: &str) -> String {
    format!("<keys of {array}>")
}

/// Returns the name that stands for the output of a function.
pub(super) fn output_of(function: &str) -> String {
    format!("<output of {function}>")
}

/// Returns the name for a text that names a variable: arithmetic looks the variable up.
pub(super) fn spelled(name: &str) -> String {
    format!("{SPELLED}{name}>")
}

const SPELLED: &str = "<text ";

/// Returns the name that stands for the input of a function.
pub(super) fn input_of(function: &str) -> String {
    format!("<input of {function}>")
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
pub(super) struct Sink {
    pub(super) sources: Sources,
    pub(super) rule: Rule,
    pub(super) line: usize,
    /// Reason of the rule: the end of a sentence about the value.
    pub(super) why: String,
}

/// Uses of variables in a script.
#[derive(Debug, Default)]
pub(super) struct Facts {
    assigned: HashMap<String, Sources>,
    pub(super) sinks: Vec<Sink>,
    pub(super) integers: HashSet<String>,
    pub(super) arrays: HashSet<String>,
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

impl Facts {
    pub(super) fn assign(&mut self, name: &str, sources: &Sources) {
        self.assigned
            .entry(name.to_owned())
            .or_default()
            .add(sources);
    }

    /// Returns the rules that each value must keep.
    pub(super) fn needs(&self) -> Vec<Need> {
        let mut needs = Vec::new();
        for sink in &self.sinks {
            let mut found: HashMap<usize, Option<String>> = HashMap::new();
            for value in &sink.sources.values {
                found.insert(*value, None);
            }
            for name in &sink.sources.names {
                for value in self.reach(name, sink.rule) {
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

    /// Returns the values that a name may hold.
    fn reach(&self, name: &str, rule: Rule) -> BTreeSet<usize> {
        let (mut values, mut seen) = (BTreeSet::new(), HashSet::new());
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            if !seen.insert(name) {
                continue;
            }
            if let Some(spelled) = name.strip_prefix(SPELLED) {
                if rule == Rule::Number {
                    open.push(spelled.trim_end_matches('>'));
                }
                continue;
            }
            if name != ARGUMENTS && !name.starts_with('<') {
                open.push(ANY);
            }
            if let Some(sources) = self.assigned.get(name) {
                values.extend(&sources.values);
                open.extend(sources.names.iter().map(String::as_str));
            }
        }
        values
    }
}
