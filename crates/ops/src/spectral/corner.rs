//! The part at the origin of an array, which a transform of given lengths looks at.

/// Copies the corner at the origin of the last axes from one array to another; what the target has
/// beyond it stays as it is.
pub(super) fn copy_corner<S: Copy, T>(
    (from, from_dims): (&[S], &[usize]),
    (to, to_dims): (&mut [T], &[usize]),
    convert: &impl Fn(S) -> T,
) {
    let (Some((&from_first, from_rest)), Some((&to_first, to_rest))) =
        (from_dims.split_first(), to_dims.split_first())
    else {
        if let (Some(from), Some(to)) = (from.first(), to.first_mut()) {
            *to = convert(*from);
        }
        return;
    };
    if from.is_empty() || to.is_empty() {
        return;
    }
    let (from_block, to_block) = (from.len() / from_first, to.len() / to_first);
    if from_rest.is_empty() {
        for (to, from) in to.iter_mut().zip(from) {
            *to = convert(*from);
        }
        return;
    }
    for (from, to) in from.chunks_exact(from_block).zip(to.chunks_exact_mut(to_block)) {
        copy_corner((from, from_rest), (to, to_rest), convert);
    }
}
