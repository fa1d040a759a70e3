//! What decompositions of matrices do with rows.

use crate::real::Wide;
use crate::simd::dispatch;

pub use crate::gemm::dot;

dispatch! {
    /// Adds `factor * x` to `y`.
    pub fn add_scaled[I, T: Wide](y: &mut [T], factor: T, x: &[T]) {
        for (y, &x) in y.iter_mut().zip(x) {
            *y = factor.fma::<I>(x, *y);
        }
    }
}

dispatch! {
    /// Turns pairs of elements: `(x, y)` becomes `(c x + s y, c y - s x)`.
    pub fn rotate[I, T: Wide](x: &mut [T], y: &mut [T], c: T, s: T) {
        for (x, y) in x.iter_mut().zip(y) {
            (*x, *y) = (c.fma::<I>(*x, s * *y), c.fma::<I>(*y, -(s * *x)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::tests::at_every_level;

    #[test]
    fn rows_are_added_turned_and_multiplied() {
        at_every_level(|| {
            for len in [0, 1, 7, 16, 67] {
                let x: Vec<f64> = (0..len).map(|i| f64::from(i) - 3.0).collect();
                let y: Vec<f64> = (0..len).map(|i| f64::from(i * i % 13)).collect();
                let mut sum = y.clone();
                add_scaled(&mut sum, 2.0, &x);
                let (mut turned_x, mut turned_y) = (x.clone(), y.clone());
                rotate(&mut turned_x, &mut turned_y, 0.5, 4.0);
                for i in 0..x.len() {
                    assert_eq!(sum[i], y[i] + 2.0 * x[i]);
                    assert_eq!(turned_x[i], 0.5 * x[i] + 4.0 * y[i]);
                    assert_eq!(turned_y[i], 0.5 * y[i] - 4.0 * x[i]);
                }
                let want: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
                assert_eq!(dot(&x, &y), want);
            }
        });
    }
}
