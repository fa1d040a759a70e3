//! Settings in a TOML file: a key for each flag, tables where a flag takes pairs.

use serde_json::Value as Json;
use tensorfleet_tensor::{Result, invalid_argument, not_found};
use toml_edit::{Document, Item, TableLike, Value};

use super::{Kind, Known, Origin, Said, find, unknown, words};

/// Reads the file at a path.
pub(super) fn read(path: &str, known: &[Known]) -> Result<Vec<Said>> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| not_found!("--config: cannot read `{path}`: {error}"))?;
    parse(path, &text, known)
}

pub(super) fn parse(path: &str, text: &str, known: &[Known]) -> Result<Vec<Said>> {
    let line_of = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
    let document = Document::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(span.start));
        invalid_argument!("{path}:{line}: {}", error.message())
    })?;
    let mut said: Vec<Said> = Vec::new();
    for (name, item) in document.as_table().iter() {
        let at = document.as_table().key(name).and_then(toml_edit::Key::span);
        let line = at.or_else(|| item.span()).map_or(1, |span| line_of(span.start));
        let place = format!("{path}:{line}");
        let name = name.replace('-', "_");
        let Some(setting) = find(known, &name) else {
            return Err(unknown(&place, &name, known));
        };
        let Some(text) = written(setting, item) else {
            return Err(invalid_argument!("{place}: `{name}` cannot be {}", item.type_name()));
        };
        let Some(words) = words(setting, &text) else {
            return Err(invalid_argument!("{place}: `{name}` is true or false"));
        };
        if let Some(other) = said.iter().find(|said| said.id == setting.id) {
            return Err(invalid_argument!(
                "{place}: `{name}` is said before, at {}; keep one",
                other.origin
            ));
        }
        let origin = Origin::File(path.to_owned(), line);
        said.push(Said { id: setting.id.clone(), words, origin });
    }
    Ok(said)
}

/// A value as a flag takes it.
fn written(setting: &Known, item: &Item) -> Option<String> {
    if let Some(table) = item.as_table_like() {
        return match setting.kind {
            Kind::Many => pairs(table),
            Kind::One => json_of_table(table).map(|json| json.to_string()),
            Kind::Switch | Kind::Optional => None,
        };
    }
    match (setting.kind, item.as_value()?) {
        (Kind::Many, Value::Array(array)) => {
            let texts = array.iter().map(scalar).collect::<Option<Vec<String>>>()?;
            // A comma would make two of one.
            let is_plain = texts.iter().all(|text| !text.contains(','));
            is_plain.then(|| texts.join(","))
        }
        (Kind::Switch | Kind::Optional, Value::Boolean(is_set)) => Some(is_set.value().to_string()),
        (_, Value::Boolean(_)) => None,
        (_, value) => scalar(value),
    }
}

fn pairs(table: &dyn TableLike) -> Option<String> {
    let pairs =
        table.iter().map(|(name, item)| Some(format!("{name}={}", scalar(item.as_value()?)?)));
    let pairs: Option<Vec<String>> = pairs.collect();
    pairs.map(|pairs| pairs.join(","))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.value().clone()),
        Value::Integer(number) => Some(number.value().to_string()),
        Value::Float(number) => Some(number.value().to_string()),
        _ => None,
    }
}

fn json_of_table(table: &dyn TableLike) -> Option<Json> {
    let fields = table.iter().map(|(name, item)| {
        let value = match item.as_table_like() {
            Some(table) => json_of_table(table)?,
            None => json(item.as_value()?)?,
        };
        Some((name.to_owned(), value))
    });
    fields.collect::<Option<serde_json::Map<String, Json>>>().map(Json::Object)
}

fn json(value: &Value) -> Option<Json> {
    match value {
        Value::Array(array) => array.iter().map(json).collect::<Option<Vec<_>>>().map(Json::Array),
        Value::Integer(number) => Some(Json::from(*number.value())),
        value => scalar(value).map(Json::String),
    }
}
