//! Values of `{references}` in one call, and texts filled with them (spec cycod 50–67).
//!
//! A parameter passes through: default, rules, `transform`, then for each reference its own
//! transforms, `format`, and last the place in the text. Text that comes from a value is never
//! parsed again. The pieces of a filled text record which of them are values, for the code that
//! must quote them.

use std::collections::HashMap;

use parking_lot::Mutex;

use super::super::arguments::Arguments;
use super::super::definition::{Datum, Definition, Parameter};
use super::defaults::in_order;
use super::template::{Head, Names, Part, Reference, Tail, Template};
use super::transform::Transform;
use super::value::{Slot, StepFacts, chosen, is_truthy, joined, plain, written};
use haft_engine::{Engine, ExpressionError};
use haft_process::inherited;
use haft_shell_quote::Piece;

/// Predefined variables that hold letters, digits and `-_:` only.
pub(crate) const FIXED: &[&str] = &["TOOL_NAME", "OS", "DATE", "TIME", "TIMESTAMP"];

/// Names that a text of one call can refer to, with their values.
pub(crate) struct Values {
    slots: HashMap<String, Slot>,
    steps: Mutex<HashMap<String, Option<StepFacts>>>,
    /// True if no step ever runs: references to steps stay as they are.
    is_imagined: bool,
    pub(super) engine: Engine,
}

/// Reason why a text cannot be filled.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum FillError {
    #[error("Parameter '{name}' {why}.")]
    Transform { name: String, why: String },
    #[error("Parameter '{name}' cannot be transformed: {source}.")]
    Script {
        name: String,
        source: ExpressionError,
    },
}

impl Values {
    /// Computes the parameters. `known` are the predefined variables.
    ///
    /// # Errors
    /// With every default that does not keep its parameter's rules, or the transform that failed.
    pub(crate) async fn resolve(
        definition: &Definition,
        arguments: &Arguments,
        known: Vec<(&'static str, String)>,
        engine: &Engine,
    ) -> Result<Values, Vec<String>> {
        let steps = definition.steps().iter();
        let mut values = Values {
            slots: HashMap::new(),
            steps: Mutex::new(steps.map(|step| (step.name.clone(), None)).collect()),
            is_imagined: false,
            engine: engine.clone(),
        };
        for (name, text) in known {
            let slot = Slot {
                // haft's own texts, without any character that a shell interprets.
                is_fixed: FIXED.contains(&name),
                ..Slot::predefined(text)
            };
            values.slots.insert(name.to_owned(), slot);
        }
        let mut problems = Vec::new();
        for parameter in in_order(&definition.parameters) {
            match values.parameter(parameter, arguments).await {
                Ok(slot) => drop(values.slots.insert(parameter.name.clone(), slot)),
                Err(more) => problems.extend(more),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        // Formats are set last, since a default that refers to another parameter needs its value
        // without the format.
        for parameter in &definition.parameters {
            if let Some(slot) = values.slots.get_mut(&parameter.name) {
                slot.format.clone_from(&parameter.format);
            }
        }
        Ok(values)
    }

    async fn parameter(
        &self,
        parameter: &Parameter,
        arguments: &Arguments,
    ) -> Result<Slot, Vec<String>> {
        let one = |error: FillError| vec![error.to_string()];
        let value = match (arguments.get(&parameter.name), &parameter.default) {
            (Some(given), _) => Some(given.clone()),
            (None, Some(default)) if parameter.is_default_computed => {
                let computed = self.datum(default).await.map_err(one)?;
                Some(parameter.accept(computed)?)
            }
            (None, default) => default.clone(),
        };
        let value = match (value, &parameter.transform) {
            (Some(value), Some(text)) => {
                let transform = Transform::parse(text);
                let changed = self.transform(&transform, value, &parameter.name).await;
                Some(changed.map_err(one)?)
            }
            (value, _) => value,
        };
        Ok(Slot {
            value,
            format: None,
            delimiter: parameter
                .delimiter
                .clone()
                .unwrap_or_else(|| " ".to_owned()),
            is_guarded: parameter.security.escape_shell,
            is_fixed: !parameter.validation.choices.is_empty(),
        })
    }

    /// Returns the same for a call in which nothing is started.
    pub(crate) fn imagined(self) -> Values {
        Values {
            is_imagined: true,
            ..self
        }
    }

    /// Records how a step ended.
    pub(crate) fn record(&self, step: &str, facts: StepFacts) {
        let mut steps = self.steps.lock();
        steps.insert(step.to_owned(), Some(facts));
    }

    /// Fills the text and returns its pieces.
    pub(crate) async fn pieces(&self, text: &str) -> Result<Vec<Piece>, FillError> {
        self.fill(&Template::parse(text, self)).await
    }

    /// Fills the text.
    pub(crate) async fn text(&self, text: &str) -> Result<String, FillError> {
        Ok(joined(self.pieces(text).await?))
    }

    /// Fills every text in a value. A text that is just one reference keeps the type of its value.
    pub(crate) async fn datum(&self, value: &Datum) -> Result<Datum, FillError> {
        Ok(match value {
            Datum::Text(text) => {
                let template = Template::parse(text, self);
                match self.alone(&template) {
                    Some(datum) => datum,
                    None => Datum::Text(joined(self.fill(&template).await?)),
                }
            }
            Datum::List(items) => {
                let mut filled = Vec::new();
                for item in items {
                    filled.push(Box::pin(self.datum(item)).await?);
                }
                Datum::List(filled)
            }
            Datum::Object(entries) => {
                let mut filled = Vec::new();
                for (key, value) in entries {
                    filled.push((key.clone(), Box::pin(self.datum(value)).await?));
                }
                Datum::Object(filled)
            }
            other => other.clone(),
        })
    }

    /// Returns the list, number or other value that a text stands for, if it is one plain
    /// reference.
    fn alone(&self, template: &Template) -> Option<Datum> {
        let [Part::Reference(reference)] = template.parts.as_slice() else {
            return None;
        };
        match (&reference.head, &reference.tail) {
            (Head::Name(name), Tail::Plain) => {
                let slot = self.slots.get(name)?;
                let value = slot.value.as_ref().filter(|_| slot.format.is_none())?;
                (!matches!(value, Datum::Text(_))).then(|| value.clone())
            }
            _ => None,
        }
    }

    /// Fills a text for the environment, which can also refer to the host's own variables. `None`
    /// if it refers to one that is not set (spec cycod 60).
    pub(crate) async fn variable(&self, text: &str) -> Result<Option<String>, FillError> {
        let template = Template::parse(text, &WithHost(self));
        let mut filled = String::new();
        for part in &template.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Reference(reference) => match &reference.head {
                    Head::Name(name) if !self.knows(name) => match inherited(name) {
                        Some(value) => {
                            let slot = Slot::predefined(value);
                            let pieces = self.of_slot(&slot, reference, name).await?;
                            filled.push_str(&joined(pieces));
                        }
                        None => return Ok(None),
                    },
                    _ => filled.push_str(&joined(self.reference(reference).await?)),
                },
            }
        }
        Ok(Some(filled))
    }

    /// Returns the first parameter or step that a text for the environment or the input refers to.
    /// Also returns true if all of them are numbers, booleans or listed by the author.
    pub(crate) fn value_in(&self, text: &str, definition: &Definition) -> Option<(String, bool)> {
        let template = Template::parse(text, self);
        let mut found: Option<(String, bool)> = None;
        for reference in template.references() {
            let (name, is_fixed) = match &reference.head {
                Head::Name(name) => match definition.parameter(name) {
                    Some(parameter) => (name.clone(), parameter.is_fixed()),
                    None => continue,
                },
                Head::Step { step, property } => (
                    format!("{step}.{property}"),
                    !matches!(property.as_str(), "output" | "error"),
                ),
            };
            let is_fixed = is_fixed || matches!(reference.tail, Tail::Choice { .. });
            match &mut found {
                Some(found) => found.1 &= is_fixed,
                None => found = Some((name, is_fixed)),
            }
        }
        found
    }

    /// Returns the value that a condition sees: the value itself.
    pub(crate) async fn value(&self, reference: &Reference) -> Result<Datum, FillError> {
        let (name, slot) = self.slot(&reference.head);
        match (&reference.tail, &slot.value) {
            (Tail::Choice { .. }, _) => Ok(Datum::Text(joined(
                self.of_slot(&slot, reference, &name).await?,
            ))),
            (_, None) => Ok(Datum::Null),
            (tail, Some(value)) => self.tail(tail, value.clone(), &name).await,
        }
    }

    /// Returns the name of the first empty reference in a text. A choice of texts may be empty.
    pub(crate) async fn first_empty(&self, text: &str) -> Result<Option<String>, FillError> {
        for reference in Template::parse(text, self).references() {
            let is_choice = matches!(reference.tail, Tail::Choice { .. });
            if !is_choice && joined(self.reference(reference).await?).trim().is_empty() {
                return Ok(Some(self.slot(&reference.head).0));
            }
        }
        Ok(None)
    }

    /// Returns the value of a name as far as it is known, for masks.
    pub(crate) fn secret(&self, name: &str) -> Option<String> {
        let slot = self.slots.get(name)?;
        Some(plain(slot.value.as_ref()?, &slot.delimiter))
    }

    async fn fill(&self, template: &Template) -> Result<Vec<Piece>, FillError> {
        let mut pieces = Vec::new();
        for part in &template.parts {
            match part {
                Part::Text(text) => pieces.push(Piece::raw(text.as_str())),
                Part::Reference(reference) => pieces.extend(self.reference(reference).await?),
            }
        }
        Ok(pieces)
    }

    async fn reference(&self, reference: &Reference) -> Result<Vec<Piece>, FillError> {
        if self.is_imagined
            && let Head::Step { step, property } = &reference.head
        {
            return Ok(vec![Piece::raw(format!("{{{step}.{property}}}"))]);
        }
        let (name, slot) = self.slot(&reference.head);
        self.of_slot(&slot, reference, &name).await
    }

    /// Returns the name and the value of a head.
    fn slot(&self, head: &Head) -> (String, Slot) {
        match head {
            Head::Name(name) => {
                let slot = self.slots.get(name);
                let slot = slot.expect("only what is known is a reference");
                (name.clone(), slot.clone())
            }
            Head::Step { step, property } => {
                let steps = self.steps.lock();
                let facts = steps.get(step).cloned().flatten().unwrap_or_default();
                let slot = Slot {
                    value: Some(facts.property(property)),
                    ..Slot::predefined(String::new())
                };
                (format!("{step}.{property}"), slot)
            }
        }
    }

    async fn of_slot(
        &self,
        slot: &Slot,
        reference: &Reference,
        name: &str,
    ) -> Result<Vec<Piece>, FillError> {
        if let Tail::Choice { yes, no } = &reference.tail {
            let is_true = slot.value.as_ref().is_some_and(is_truthy);
            return Ok(chosen(if is_true { yes } else { no }));
        }
        let Some(value) = &slot.value else {
            return Ok(Vec::new());
        };
        let value = self.tail(&reference.tail, value.clone(), name).await?;
        let guard = (slot.is_guarded && !reference.is_raw).then_some(name);
        let Some(format) = &slot.format else {
            return Ok(written(&value, &slot.delimiter, guard, slot.is_fixed));
        };
        let mut pieces = Vec::new();
        for part in Template::parse(format, &ValueOnly).parts {
            match part {
                Part::Text(text) => pieces.push(Piece::raw(text)),
                Part::Reference(Reference {
                    tail: Tail::Choice { yes, no },
                    ..
                }) => {
                    pieces.extend(chosen(if is_truthy(&value) { &yes } else { &no }));
                }
                Part::Reference(inner) => {
                    let value = self.tail(&inner.tail, value.clone(), name).await?;
                    pieces.extend(written(&value, &slot.delimiter, guard, slot.is_fixed));
                }
            }
        }
        Ok(pieces)
    }
}

impl Names for Values {
    fn knows(&self, name: &str) -> bool {
        self.slots.contains_key(name)
    }

    fn has_step(&self, name: &str) -> bool {
        let steps = self.steps.lock();
        steps.contains_key(name)
    }
}

/// Names of a call and of the host's environment.
struct WithHost<'a>(&'a Values);

impl Names for WithHost<'_> {
    fn knows(&self, name: &str) -> bool {
        let is_variable = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let is_one =
            name.starts_with(|c: char| c.is_ascii_uppercase()) && name.chars().all(is_variable);
        is_one || self.0.knows(name)
    }

    fn has_step(&self, name: &str) -> bool {
        self.0.has_step(name)
    }
}

/// Names of a `format`: only `{value}`.
pub(super) struct ValueOnly;

impl Names for ValueOnly {
    fn knows(&self, name: &str) -> bool {
        name == "value"
    }

    fn has_step(&self, _name: &str) -> bool {
        false
    }
}
