//! JSON Schema validation for modules whose parameters are a plain schema.
//!
//! The validation itself is in `tool::schema`. The compiled schemas are cached by their text,
//! because a module passes the text with every call.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use haft_tool::json;
use haft_tool::schema::Schema;

/// Compiled schemas of one isolate, by their text.
#[derive(Default)]
pub(super) struct SchemaChecker {
    compiled: RefCell<HashMap<String, Rc<Result<Schema, String>>>>,
}

impl SchemaChecker {
    /// Returns the JSON text of the issues that `value` has under `schema`; empty if it is valid.
    pub(super) fn check(&self, schema: &str, value: &str) -> String {
        let schema = self.compiled(schema);
        let schema = match &*schema {
            Ok(schema) => schema,
            Err(problem) => return issues(vec![issue("", "schema", problem)]),
        };
        let value = match json::parse(value) {
            Ok(value) => value,
            Err(error) => return issues(vec![issue("", "json", &error.to_string())]),
        };
        let found = schema.mismatches(&value).into_iter();
        let found: Vec<Value> = found
            .map(|wrong| issue(&wrong.pointer, &wrong.keyword, &wrong.message))
            .collect();
        if found.is_empty() {
            String::new()
        } else {
            issues(found)
        }
    }

    fn compiled(&self, schema: &str) -> Rc<Result<Schema, String>> {
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

fn compile(schema: &str) -> Result<Schema, String> {
    let schema = json::parse(schema).map_err(|error| error.to_string())?;
    Schema::compile_rest(&schema)
        .map_err(|error| format!("the tool's schema is not a valid JSON Schema: {error}"))
}

fn issue(pointer: &str, keyword: &str, message: &str) -> Value {
    serde_json::json!({ "pointer": pointer, "keyword": keyword, "message": message })
}

fn issues(list: Vec<Value>) -> String {
    Value::Array(list).to_string()
}
