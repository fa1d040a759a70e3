//! Names of ops and arguments as Rust writes them.

/// `MatMul` as `mat_mul`, `Conv2DBackpropInput` as `conv2d_backprop_input`.
pub(crate) fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::new();
    for (index, &c) in chars.iter().enumerate() {
        let before = index.checked_sub(1).map(|i| chars[i]);
        let next_is_lower = chars.get(index + 1).is_some_and(|next| next.is_lowercase());
        let starts_word =
            c.is_uppercase() && before.is_some_and(|before| before.is_lowercase() || next_is_lower);
        let is_version = c == 'V' && before.is_some_and(|before| before.is_ascii_digit());
        if (starts_word || is_version) && !snake.ends_with('_') {
            snake.push('_');
        }
        snake.extend(c.to_lowercase());
    }
    safe(&snake)
}

/// A name that is not a word of the language.
pub(crate) fn safe(name: &str) -> String {
    const WORDS: &[&str] = &[
        "abstract", "as", "box", "break", "const", "continue", "do", "else", "enum", "fn", "for",
        "if", "impl", "in", "let", "loop", "match", "mod", "move", "ref", "return", "self",
        "static", "struct", "super", "try", "type", "unsafe", "use", "where", "while", "yield",
    ];
    let name = name.to_lowercase();
    if WORDS.contains(&name.as_str()) || name == "graph" { format!("{name}_") } else { name }
}

#[test]
fn words_are_found_in_names() {
    let names = [
        ("MatMul", "mat_mul"),
        ("Conv2DBackpropInput", "conv2d_backprop_input"),
        ("IRFFT3D", "irfft3d"),
        ("BatchMatMulV2", "batch_mat_mul_v2"),
        ("MaxPool3DGradGrad", "max_pool3d_grad_grad"),
        ("DecodeCSV", "decode_csv"),
        ("TPUReplicate", "tpu_replicate"),
        ("Where", "where_"),
    ];
    for (name, expected) in names {
        assert_eq!(snake_case(name), expected);
    }
}
