//! The name that somebody may have meant.

/// The nearest of names to what was written, if one is near.
pub(crate) fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (written.chars().count() / 3).max(1);
    let near = names.map(|name| (distance(written, name), name));
    near.filter(|(distance, _)| *distance <= limit).min().map(|(_, name)| name)
}

/// How many letters have to be added, removed, changed or swapped with the next, whatever their case.
fn distance(one: &str, other: &str) -> usize {
    let one: Vec<char> = one.to_lowercase().chars().collect();
    let other: Vec<char> = other.to_lowercase().chars().collect();
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for i in 1..=one.len() {
        let mut row = vec![i];
        for j in 1..=other.len() {
            let changed = rows[i - 1][j - 1] + usize::from(one[i - 1] != other[j - 1]);
            let mut best = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            let is_swap =
                i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
            if is_swap {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_found() {
        let names = ["MatMul", "Mul", "MatrixInverse"];
        let near = |written| nearest(written, names.into_iter());
        assert_eq!(near("Matmul"), Some("MatMul"));
        assert_eq!(near("MtaMul"), Some("MatMul"));
        assert_eq!(near("Conv2D"), None);
    }
}
