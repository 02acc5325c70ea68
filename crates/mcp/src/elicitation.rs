//! Questions of a server (elicitation) as questions to the user of a call.
//!
//! A user interface that is a client of MCP gets the whole request. haft's own prompts have one field
//! each, so there a form becomes one prompt after another. A form that is dismissed at any field is
//! cancelled as a whole.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Number, Value};
use url::Url;

use haft_tool::{Answer, Prompt, User};

/// Number of times that a field is asked for again after an invalid answer.
const MAX_TRIES: usize = 3;

/// Limit of the fields of a form.
const MAX_FIELDS: usize = 32;

/// Option of a choice that need not be made.
const SKIP: &str = "(no answer)";

/// Asks the user. Without a user the question is cancelled. `key` is the server's key for the question.
pub(crate) async fn ask(
    server: &str,
    key: Option<&str>,
    request: &ElicitRequestParams,
    user: Option<&User>,
) -> ElicitResult {
    let cancelled = || ElicitResult::new(ElicitationAction::Cancel);
    let Some(user) = user else {
        return cancelled();
    };
    // A client of MCP shows the whole form.
    let params = serde_json::to_value(request).unwrap_or_default();
    match user.forward("elicitation/create", key, params).await {
        Ok(Some(result)) => return serde_json::from_value(result).unwrap_or_else(|_| cancelled()),
        Ok(None) if user.is_there() => {}
        Ok(None) | Err(_) => return cancelled(),
    }
    match request {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            form(server, message, &schema, user).await
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            page(server, message, url, user).await
        }
        _ => ElicitResult::new(ElicitationAction::Decline),
    }
}

/// Asks the user to open a page. haft does not open it: the user sees its whole address first.
async fn page(server: &str, message: &str, url: &str, user: &User) -> ElicitResult {
    let is_web = Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    if !is_web {
        return ElicitResult::new(ElicitationAction::Decline);
    }
    let prompt = Prompt::Confirm {
        title: format!("{server}: {message}"),
        message: format!("Open this page, then confirm: {url}"),
    };
    let action = match user.ask(prompt, None).await {
        Ok(Answer::Yes) => ElicitationAction::Accept,
        Ok(Answer::No) => ElicitationAction::Decline,
        _ => ElicitationAction::Cancel,
    };
    ElicitResult::new(action)
}

async fn form(server: &str, message: &str, schema: &Value, user: &User) -> ElicitResult {
    let fields = fields(schema);
    let title = format!("{server}: {message}");
    if fields.is_empty() {
        let message = String::new();
        let answer = user.ask(Prompt::Confirm { title, message }, None).await;
        return match answer {
            Ok(Answer::Yes) => accepted(Map::new()),
            Ok(Answer::No) => ElicitResult::new(ElicitationAction::Decline),
            _ => ElicitResult::new(ElicitationAction::Cancel),
        };
    }
    let mut content = Map::new();
    let is_alone = fields.len() == 1;
    for (index, field) in fields.iter().enumerate() {
        // The message is shown once; later prompts have the name of the field.
        let title = match (index, is_alone) {
            (0, true) if field.kind != Kind::Flag => title.clone(),
            (0, _) => format!("{title}\n{}", field.label),
            _ => format!("{server}: {}", field.label),
        };
        match ask_field(field, title, user).await {
            Some(Some(value)) => {
                content.insert(field.name.clone(), value);
            }
            Some(None) => {}
            None => return ElicitResult::new(ElicitationAction::Cancel),
        }
    }
    accepted(content)
}

fn accepted(content: Map<String, Value>) -> ElicitResult {
    ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
}

/// Returns the value of the field, `Some(None)` if the user left it out, `None` if the form was
/// dismissed.
async fn ask_field(field: &Field, title: String, user: &User) -> Option<Option<Value>> {
    let mut wrong: Option<String> = None;
    for _ in 0..MAX_TRIES {
        let title = match &wrong {
            Some(why) => format!("{title}\n{why}"),
            None => title.clone(),
        };
        let answer = user.ask(field.prompt(title), None).await.ok()?;
        match field.value(answer)? {
            Ok(value) => return Some(value),
            Err(why) => wrong = Some(why),
        }
    }
    None
}

/// A field of a form.
#[derive(Debug, PartialEq)]
struct Field {
    name: String,
    /// The title with the description.
    label: String,
    kind: Kind,
    is_required: bool,
    default: Option<Value>,
    schema: Value,
}

#[derive(Debug, PartialEq)]
enum Kind {
    Text,
    Number,
    Integer,
    Flag,
    /// Values with their titles.
    Choice(Vec<(Value, String)>),
    /// Several of these values.
    Choices(Vec<(Value, String)>),
}

/// Returns the fields of a form. Those that haft cannot ask for are texts.
fn fields(schema: &Value) -> Vec<Field> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| {
        let mut required = required.into_iter().flatten();
        required.any(|required| required.as_str() == Some(name))
    };
    let fields = properties.into_iter().flatten().take(MAX_FIELDS);
    let field = |(name, schema): (&String, &Value)| {
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        let title = text("title").unwrap_or(name);
        Field {
            name: name.clone(),
            label: match text("description") {
                Some(description) => format!("{title} ({description})"),
                None => title.to_owned(),
            },
            kind: kind(schema),
            is_required: is_required(name),
            default: schema.get("default").cloned(),
            schema: schema.clone(),
        }
    };
    fields.map(field).collect()
}

fn kind(schema: &Value) -> Kind {
    match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => Kind::Flag,
        Some("integer") => Kind::Integer,
        Some("number") => Kind::Number,
        Some("array") => {
            let items = schema.get("items").map(options).unwrap_or_default();
            if items.is_empty() {
                Kind::Text
            } else {
                Kind::Choices(items)
            }
        }
        _ => match options(schema) {
            options if options.is_empty() => Kind::Text,
            options => Kind::Choice(options),
        },
    }
}

/// Returns the values of an enumeration with their titles. The titles are unique, since the user
/// chooses by them.
fn options(schema: &Value) -> Vec<(Value, String)> {
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let mut options: Vec<(Value, String)> = Vec::new();
    if let Some(values) = list("enum") {
        let names = list("enumNames");
        for (index, value) in values.iter().enumerate() {
            let name = names.and_then(|names| names.get(index)?.as_str());
            options.push((
                value.clone(),
                name.map_or_else(|| shown(value), str::to_owned),
            ));
        }
    }
    for one in list("oneOf")
        .or_else(|| list("anyOf"))
        .into_iter()
        .flatten()
    {
        if let Some(value) = one.get("const") {
            let title = one.get("title").and_then(Value::as_str);
            options.push((
                value.clone(),
                title.map_or_else(|| shown(value), str::to_owned),
            ));
        }
    }
    let titles: Vec<String> = options.iter().map(|(_, title)| title.clone()).collect();
    for (value, title) in &mut options {
        if titles.iter().filter(|other| *other == title).count() > 1 {
            *title = format!("{title} [{}]", shown(value));
        }
    }
    options
}

impl Field {
    fn prompt(&self, title: String) -> Prompt {
        match &self.kind {
            Kind::Flag => Prompt::Confirm {
                title,
                message: String::new(),
            },
            Kind::Choice(options) => {
                let mut options: Vec<String> =
                    options.iter().map(|(_, title)| title.clone()).collect();
                if !self.is_required {
                    options.push(SKIP.to_owned());
                }
                Prompt::Select { title, options }
            }
            Kind::Choices(options) => {
                let names: Vec<&str> = options.iter().map(|(_, title)| &**title).collect();
                Prompt::Input {
                    title: format!("{title}\nSome of: {}", names.join(", ")),
                    placeholder: names.first().map(|&name| name.to_owned()),
                }
            }
            Kind::Text | Kind::Number | Kind::Integer => Prompt::Input {
                title,
                placeholder: self.default.as_ref().map(|default| match default {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                }),
            },
        }
    }

    /// Returns the value of an answer, or what is wrong with it; `None` if it was dismissed.
    fn value(&self, answer: Answer) -> Option<Result<Option<Value>, String>> {
        let text = match (&self.kind, answer) {
            (Kind::Flag, Answer::Yes) => return Some(Ok(Some(true.into()))),
            (Kind::Flag, Answer::No) => return Some(Ok(Some(false.into()))),
            (_, Answer::Text(text)) => text,
            _ => return None,
        };
        if let Kind::Choice(options) = &self.kind {
            let chosen = options.iter().find(|(_, title)| *title == text);
            return Some(Ok(chosen.map(|(value, _)| value.clone())));
        }
        let is_empty = text.trim().is_empty();
        if is_empty && (self.default.is_some() || !self.is_required) {
            return Some(Ok(self.default.clone()));
        }
        Some(self.parse(&text).map(Some))
    }

    fn parse(&self, text: &str) -> Result<Value, String> {
        let limit = |key: &str| self.schema.get(key).and_then(Value::as_f64);
        match &self.kind {
            Kind::Number | Kind::Integer => {
                let number: Number = match &self.kind {
                    Kind::Integer => text.trim().parse::<i64>().ok().map(Number::from),
                    _ => text.trim().parse().ok().and_then(Number::from_f64),
                }
                .ok_or_else(|| format!("`{text}` is not a number of the wanted kind"))?;
                let value = number.as_f64().unwrap_or_default();
                let is_low = limit("minimum").is_some_and(|least| value < least);
                let is_high = limit("maximum").is_some_and(|most| value > most);
                if is_low || is_high {
                    return Err(format!("`{text}` is out of range"));
                }
                Ok(Value::Number(number))
            }
            Kind::Choices(options) => {
                let words = text
                    .split(',')
                    .map(str::trim)
                    .filter(|word| !word.is_empty());
                let values = words.map(|word| {
                    let known = options.iter().find(|(_, title)| title == word);
                    let known = known.map(|(value, _)| value.clone());
                    known.ok_or_else(|| format!("`{word}` is not one of the options"))
                });
                values.collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            _ => {
                let length = f64::from(u32::try_from(text.chars().count()).unwrap_or(u32::MAX));
                if limit("minLength").is_some_and(|least| length < least) {
                    return Err("the text is too short".to_owned());
                }
                if limit("maxLength").is_some_and(|most| length > most) {
                    return Err("the text is too long".to_owned());
                }
                Ok(Value::String(text.to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(schema: Value) -> Field {
        let form = json!({"properties": {"x": schema}, "required": ["x"]});
        fields(&form).pop().expect("it has a field")
    }

    fn text(answer: &str) -> Answer {
        Answer::Text(answer.to_owned())
    }

    #[test]
    fn answers_have_the_type_of_their_field() {
        let count = field(json!({"type": "integer", "minimum": 1, "maximum": 9}));
        assert_eq!(count.value(text(" 7 ")), Some(Ok(Some(json!(7)))));
        assert_eq!(
            count.value(text("10")),
            Some(Err("`10` is out of range".to_owned()))
        );
        assert_eq!(
            count.value(text("1.5")),
            Some(Err("`1.5` is not a number of the wanted kind".to_owned()))
        );
        assert_eq!(count.value(Answer::Dismissed), None);
        let flag = field(json!({"type": "boolean"}));
        assert_eq!(flag.value(Answer::No), Some(Ok(Some(json!(false)))));
        let name = field(json!({"type": "string", "minLength": 3, "default": "Ada"}));
        assert_eq!(name.value(text("")), Some(Ok(Some(json!("Ada")))));
        assert_eq!(
            name.value(text("Al")),
            Some(Err("the text is too short".to_owned()))
        );
    }

    #[test]
    fn choices_are_made_by_title_and_sent_as_values() {
        let old =
            field(json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]}));
        assert_eq!(old.value(text("Green")), Some(Ok(Some(json!("g")))));
        let new = field(json!({"type": "string", "oneOf":
            [{"const": "r", "title": "Red"}, {"const": "s", "title": "Red"}]}));
        let Prompt::Select { options, .. } = new.prompt("?".to_owned()) else {
            panic!("it is a choice");
        };
        assert_eq!(options, ["Red [r]", "Red [s]"]);
        assert_eq!(new.value(text("Red [s]")), Some(Ok(Some(json!("s")))));
        let many = field(json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}));
        assert_eq!(many.value(text("b, a")), Some(Ok(Some(json!(["b", "a"])))));
        assert_eq!(
            many.value(text("c")),
            Some(Err("`c` is not one of the options".to_owned()))
        );
    }

    #[test]
    fn optional_fields_can_be_left_out() {
        let form = json!({"properties": {"x": {"type": "string", "enum": ["a"]}}});
        let field = fields(&form).pop().expect("it has a field");
        let Prompt::Select { options, .. } = field.prompt("?".to_owned()) else {
            panic!("it is a choice");
        };
        assert_eq!(options, ["a", SKIP]);
        assert_eq!(field.value(text(SKIP)), Some(Ok(None)));
    }
}
