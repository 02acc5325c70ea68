//! Values that reach a program through its environment or its standard input.
//!
//! They are not parsed there, but a script may calculate with them, so the checks of the command
//! must include them.

use super::super::definition::Environment;
use super::session::Session;
use haft_shell_quote::programs::is_dangerous_variable;
use haft_shell_quote::{Outside, QuoteError};

impl Session<'_> {
    /// Returns the values of parameters and steps in the variables and the input of a program.
    ///
    /// # Errors
    /// With a sentence where a text cannot be filled.
    pub(crate) async fn outside(
        &self,
        own: Option<&Environment>,
        input: Option<&str>,
    ) -> Result<Vec<Outside>, String> {
        let mut outside = Vec::new();
        let variables = &self.definition.environment.variables;
        for (name, text) in variables
            .iter()
            .chain(own.iter().flat_map(|own| &own.variables))
        {
            if let Some((value, is_fixed)) = self.values.value_in(text, self.definition) {
                let filled = self.values.variable(text).await;
                outside.push(Outside {
                    variable: Some(name.clone()),
                    name: value,
                    text: filled
                        .map_err(|error| error.to_string())?
                        .unwrap_or_default(),
                    is_fixed,
                });
            }
        }
        if let Some(text) = input.or(self.definition.input.as_deref())
            && let Some((value, is_fixed)) = self.values.value_in(text, self.definition)
        {
            let filled = self.values.text(text).await;
            outside.push(Outside {
                variable: None,
                name: value,
                text: filled.map_err(|error| error.to_string())?,
                is_fixed,
            });
        }
        Ok(outside)
    }
}

/// Refuses a value in a variable that decides which programs run.
///
/// # Errors
/// With the variable.
pub(crate) fn check_variables(outside: &[Outside]) -> Result<(), QuoteError> {
    for one in outside {
        if let Some(name) = &one.variable
            && !one.is_fixed
            && is_dangerous_variable(name)
        {
            return Err(QuoteError {
                name: one.name.clone(),
                why: format!(
                    "it would be in the environment as `{name}`, which decides what programs run; \
                     choose another name"
                ),
            });
        }
    }
    Ok(())
}
