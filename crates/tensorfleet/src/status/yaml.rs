//! JSON as YAML, for those who read that.

use serde_json::Value;

/// Writes a value as a document.
pub(super) fn write(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

/// Writes a value in lines of its own.
fn block(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let mut inner = String::new();
                block(item, depth + 1, &mut inner);
                // The dash takes the place of the first line's indent.
                text.push_str(&format!("{indent}- {}", inner.trim_start()));
            }
        }
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let key = Value::from(key.as_str());
                if is_nested(value) {
                    text.push_str(&format!("{indent}{key}:\n"));
                    block(value, depth + 1, text);
                } else {
                    text.push_str(&format!("{indent}{key}: {value}\n"));
                }
            }
        }
        // What JSON writes in one line, quotes and all, is YAML too.
        plain => text.push_str(&format!("{indent}{plain}\n")),
    }
}

fn is_nested(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty())
        || value.as_object().is_some_and(|fields| !fields.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nesting_is_indentation() {
        let value = json!([{"a": 1, "b": {"c": ["x: y", 2]}, "e": []}, 3]);
        let text = "\
- \"a\": 1
  \"b\":
    \"c\":
      - \"x: y\"
      - 2
  \"e\": []
- 3
";
        assert_eq!(write(&value), text);
    }
}
