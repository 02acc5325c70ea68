//! JSON Schema validation for tools whose parameters are a plain schema.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use jsonschema::Validator;
use serde_json::{Value, json};

/// Compiled schemas of one isolate, by their text.
#[derive(Default)]
pub(super) struct SchemaChecker {
    compiled: RefCell<HashMap<String, Rc<Result<Validator, String>>>>,
}

impl SchemaChecker {
    /// The JSON text of the issues that `value` has under `schema`; empty when it fits.
    pub(super) fn check(&self, schema: &str, value: &str) -> String {
        let validator = self.compiled(schema);
        let validator = match &*validator {
            Ok(validator) => validator,
            Err(problem) => return issues(vec![issue("", "schema", problem)]),
        };
        let value: Value = match serde_json::from_str(value) {
            Ok(value) => value,
            Err(error) => return issues(vec![issue("", "json", &error.to_string())]),
        };
        let found: Vec<Value> = validator
            .iter_errors(&value)
            .map(|error| {
                issue(
                    error.instance_path().as_str(),
                    error.kind().keyword(),
                    &error.to_string(),
                )
            })
            .collect();
        if found.is_empty() {
            String::new()
        } else {
            issues(found)
        }
    }

    fn compiled(&self, schema: &str) -> Rc<Result<Validator, String>> {
        if let Some(known) = self.compiled.borrow().get(schema) {
            return known.clone();
        }
        let made = Rc::new(compile(schema));
        self.compiled
            .borrow_mut()
            .insert(schema.to_owned(), made.clone());
        made
    }
}

fn compile(schema: &str) -> Result<Validator, String> {
    let schema: Value = serde_json::from_str(schema).map_err(|error| error.to_string())?;
    jsonschema::options()
        .should_validate_formats(true)
        .build(&schema)
        .map_err(|error| format!("the tool's schema is not a valid JSON Schema: {error}"))
}

/// `path` is a JSON pointer; in texts it is `a/b`, or `root` for the whole value.
fn issue(pointer: &str, keyword: &str, message: &str) -> Value {
    let path = pointer.trim_start_matches('/');
    let path = if path.is_empty() { "root" } else { path };
    json!({ "path": path, "keyword": keyword, "message": message })
}

fn issues(list: Vec<Value>) -> String {
    Value::Array(list).to_string()
}
