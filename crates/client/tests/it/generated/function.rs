//! The function for one op.

use std::fmt::Write as _;

use tensorfleet_graph::{ArgDef, AttrDef, AttrList, AttrValue, OpDef};

use super::names::{safe, snake_case};

/// The type of a parameter for an attribute, and how it becomes the attribute.
fn parameter(kind: &str) -> (&'static str, &'static str) {
    match kind {
        "int" => ("i64", "{}"),
        "float" => ("f32", "{}"),
        "bool" => ("bool", "{}"),
        "string" => ("&str", "{}"),
        "type" => ("DType", "{}"),
        "shape" => ("PartialShape", "{}"),
        "tensor" => ("Tensor", "{}"),
        "func" => ("Func", "{}"),
        "list(int)" => ("&[i64]", "{}.to_vec()"),
        "list(float)" => ("&[f32]", "{}.to_vec()"),
        "list(bool)" => ("&[bool]", "{}.to_vec()"),
        "list(string)" => ("&[&str]", "strings({})"),
        "list(type)" => ("&[DType]", "{}.to_vec()"),
        "list(shape)" => ("&[PartialShape]", "{}.to_vec()"),
        "list(func)" => ("&[Func]", "{}.to_vec()"),
        other => panic!("there are no attributes of the kind {other}"),
    }
}

/// Whether the types and numbers of the inputs say what an attribute is.
fn is_inferred(def: &OpDef, attr: &AttrDef) -> bool {
    def.inputs.iter().any(|input| {
        [&input.type_attr, &input.number_attr, &input.type_list_attr]
            .into_iter()
            .any(|name| name.as_deref() == Some(&attr.name))
    })
}

/// The function, with its documentation.
pub(crate) fn text(def: &OpDef, summary: Option<&str>) -> String {
    let free = || def.attrs.iter().filter(|attr| !is_inferred(def, attr));
    let required: Vec<&AttrDef> = free().filter(|attr| attr.default.is_none()).collect();
    let optional: Vec<&AttrDef> = free().filter(|attr| attr.default.is_some()).collect();

    let mut taken: Vec<String> = Vec::new();
    let mut unique = |name: &str| {
        let mut name = safe(name);
        while taken.contains(&name) {
            name.push('_');
        }
        taken.push(name.clone());
        name
    };
    let inputs: Vec<String> = def.inputs.iter().map(|input| unique(&input.name)).collect();
    let attrs: Vec<String> = required.iter().map(|attr| unique(&attr.name)).collect();

    let mut text = String::from("\n");
    document(&mut text, def, summary, &optional);
    text.push_str("#[track_caller]\n");
    let mut parameters = vec!["graph: &Graph".to_owned()];
    for (input, name) in def.inputs.iter().zip(&inputs) {
        let kind =
            if input.is_list() { "impl IntoIterator<Item = impl Operand>" } else { "impl Operand" };
        parameters.push(format!("{name}: {kind}"));
    }
    for (attr, name) in required.iter().zip(&attrs) {
        parameters.push(format!("{name}: {}", parameter(&attr.kind).0));
    }
    let head = format!("pub fn {}(", snake_case(&def.name));
    let one_line = format!("{head}{}) -> OpBuilder {{", parameters.join(", "));
    if one_line.len() <= 100 {
        writeln!(text, "{one_line}").unwrap();
    } else {
        writeln!(text, "{head}\n    {},\n) -> OpBuilder {{", parameters.join(",\n    ")).unwrap();
    }
    let mut calls = vec![format!(".op({:?})", def.name)];
    for (input, name) in def.inputs.iter().zip(&inputs) {
        let method = if input.is_list() { "inputs" } else { "input" };
        calls.push(format!(".{method}({name})"));
    }
    for (attr, name) in required.iter().zip(&attrs) {
        let value = parameter(&attr.kind).1.replace("{}", name);
        calls.push(format!(".attr({:?}, {value})", attr.name));
    }
    let one_line = format!("    graph{}", calls.concat());
    if one_line.len() <= 100 {
        writeln!(text, "{one_line}").unwrap();
    } else {
        writeln!(text, "    graph\n        {}", calls.join("\n        ")).unwrap();
    }
    text.push_str("}\n");
    text
}

/// What the op does, what comes out of it, and what can be set.
fn document(text: &mut String, def: &OpDef, summary: Option<&str>, optional: &[&AttrDef]) {
    let mut paragraphs = Vec::new();
    match summary {
        Some(summary) => paragraphs.push(summary.to_owned()),
        None if def.outputs.is_empty() => {
            paragraphs.push(format!("`{}`, which is run for its effect.", def.name));
        }
        None => {
            let from = match &def.inputs[..] {
                [] => String::new(),
                inputs => format!(" of {}", names(inputs)),
            };
            paragraphs.push(format!("`{}`: {}{from}.", def.name, names(&def.outputs)));
        }
    }
    let outputs: Vec<String> = def.outputs.iter().map(output).collect();
    let outputs = match &outputs[..] {
        [] => "No outputs".to_owned(),
        [one] => format!("Output: {one}"),
        many => format!("Outputs: {}", many.join(", ")),
    };
    paragraphs.push(match summary {
        Some(_) => format!("Op `{}`. {outputs}.", def.name),
        None => format!("{outputs}."),
    });
    if !optional.is_empty() {
        let list: Vec<String> = optional.iter().map(|attr| attribute(attr)).collect();
        paragraphs.push(format!("Attributes with defaults: {}.", list.join(", ")));
    }
    for (index, paragraph) in paragraphs.iter().enumerate() {
        if index > 0 {
            text.push_str("///\n");
        }
        wrap(text, paragraph);
    }
}

fn names(args: &[ArgDef]) -> String {
    args.iter().map(|arg| format!("`{}`", arg.name)).collect::<Vec<_>>().join(", ")
}

/// An output with its type, if that is always the same.
fn output(arg: &ArgDef) -> String {
    let list = if arg.is_list() { " (a list)" } else { "" };
    match arg.dtype {
        Some(dtype) => format!("`{}: {}`{list}", arg.name, dtype.name()),
        None => format!("`{}`{list}", arg.name),
    }
}

/// An attribute with its default, as `sorted: bool = true`.
fn attribute(attr: &AttrDef) -> String {
    let default = match &attr.default {
        Some(AttrValue::String(bytes)) => format!("{:?}", String::from_utf8_lossy(bytes)),
        Some(AttrValue::List(list)) if list.is_empty() => "[]".to_owned(),
        Some(AttrValue::List(AttrList::Strings(strings))) => {
            let strings: Vec<_> = strings.iter().map(|s| String::from_utf8_lossy(s)).collect();
            format!("{strings:?}")
        }
        Some(value) => value.to_string(),
        None => String::new(),
    };
    format!("`{}: {} = {default}`", attr.name, attr.kind)
}

/// Writes a paragraph as lines of documentation; code is not broken.
fn wrap(text: &mut String, paragraph: &str) {
    let mut line = String::from("///");
    for word in words(paragraph) {
        if line.len() + 1 + word.len() > 100 && line != "///" {
            writeln!(text, "{line}").unwrap();
            line = String::from("///");
        }
        line.push(' ');
        line.push_str(&word);
    }
    writeln!(text, "{line}").unwrap();
}

/// Words, with code between backquotes as one.
fn words(paragraph: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut is_code = false;
    for part in paragraph.split(' ') {
        match words.last_mut().filter(|_| is_code) {
            Some(last) => {
                last.push(' ');
                last.push_str(part);
            }
            None => words.push(part.to_owned()),
        }
        is_code ^= part.matches('`').count() % 2 == 1;
    }
    words
}
