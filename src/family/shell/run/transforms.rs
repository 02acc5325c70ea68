//! Values on their way through transforms (spec cycod 61–65).

use super::super::definition::{Datum, Number};
use super::template::Tail;
use super::transform::{Transform, picture};
use super::value::plain;
use super::values::{FillError, Values};

impl Values {
    pub(super) async fn tail(
        &self,
        tail: &Tail,
        mut value: Datum,
        name: &str,
    ) -> Result<Datum, FillError> {
        match tail {
            Tail::Plain | Tail::Choice { .. } => {}
            Tail::Transforms(transforms) => {
                for transform in transforms {
                    value = self.transform(transform, value, name).await?;
                }
            }
            Tail::Script(rest) => {
                value = self.script(&format!("value {rest}"), &value, name).await?
            }
        }
        Ok(value)
    }

    pub(super) async fn transform(
        &self,
        transform: &Transform,
        value: Datum,
        name: &str,
    ) -> Result<Datum, FillError> {
        let failed = |why: String| FillError::Transform {
            name: name.to_owned(),
            why,
        };
        match (transform, value) {
            (Transform::Script(source), value) => self.script(source, &value, name).await,
            (Transform::Named(named), Datum::List(items)) => {
                let changed = items.iter().map(|item| named.apply(&plain(item, " ")));
                let changed = changed.map(|text| text.map(Datum::Text));
                Ok(Datum::List(
                    changed.collect::<Result<_, _>>().map_err(failed)?,
                ))
            }
            (Transform::Named(named), value) => {
                let changed = named.apply(&plain(&value, " ")).map_err(failed)?;
                Ok(Datum::Text(changed))
            }
            (Transform::Picture(form), value) => {
                let number = Number::parse(&plain(&value, " "));
                let number = number
                    .ok_or_else(|| failed("cannot be formatted: it is not a number".to_owned()))?;
                Ok(Datum::Text(picture(number.as_str(), form).map_err(failed)?))
            }
        }
    }

    pub(super) async fn script(
        &self,
        source: &str,
        value: &Datum,
        name: &str,
    ) -> Result<Datum, FillError> {
        let names = vec![("value".to_owned(), value.to_json())];
        let json = self.engine.evaluate_json(source, names).await;
        let json = json.map_err(|source| FillError::Script {
            name: name.to_owned(),
            source,
        })?;
        Datum::from_json(&json).ok_or_else(|| FillError::Transform {
            name: name.to_owned(),
            why: "cannot be transformed: what came out is not valid text".to_owned(),
        })
    }
}
