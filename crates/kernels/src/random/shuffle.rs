//! A random order.

use super::philox::Philox;

/// The words that [`shuffle`] takes for `size` values, for `GuardedPhilox::reserve_words`.
///
/// TensorFlow does not touch the generator when there is nothing to shuffle.
pub fn shuffle_words(size: usize) -> u64 {
    size.saturating_sub(1) as u64
}

/// Puts `values` into the order `RandomShuffle` puts the rows of its input into.
pub fn shuffle<T>(philox: Philox, values: &mut [T]) {
    let mut words = philox.words();
    let size = values.len();
    for position in 0..size.saturating_sub(1) {
        // The bound is cut to 32 bits like TensorFlow's.
        let choices = ((size - position) as u32).max(1);
        values.swap(position, position + (words.next_u32() % choices) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from `RandomShuffle` with the seeds 11 and 22.
    #[test]
    fn golden() {
        let mut values: Vec<u8> = (0..10).collect();
        shuffle(Philox::new(11, 22), &mut values);
        assert_eq!(values, [9, 0, 4, 1, 5, 6, 7, 3, 8, 2]);
        shuffle(Philox::new(11, 22), &mut values[..0]);
    }
}
