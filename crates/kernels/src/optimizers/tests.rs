//! That every way of applying a rule does the same. The rules' values are compared with
//! TensorFlow's in `conformance/test_optimizers.py`.

use half::bf16;

use super::*;
use crate::Parallel;
use crate::simd::tests::at_every_level;

const RULE: Adam<f32> =
    Adam { alpha: 0.125, beta1: 0.5, beta2: 0.75, epsilon: 1.0, use_nesterov: false };

fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 37 + seed * 101) % 64) as f32 / 16.0 + 0.5).collect()
}

fn state(count: usize) -> [Vec<f32>; 3] {
    std::array::from_fn(|k| numbers(count, k))
}

fn one_by_one(state: &mut [Vec<f32>; 3], grad: &[f32], place: usize) {
    for (i, &grad) in grad.iter().enumerate() {
        let next = RULE.step(std::array::from_fn(|k| state[k][place + i]), grad);
        (0..3).for_each(|k| state[k][place + i] = next[k]);
    }
}

#[test]
fn dense_updates_touch_every_element() {
    for len in [0, 1, 15, 16, 33, 200_003] {
        let grad = numbers(len, 9);
        let mut want = state(len);
        one_by_one(&mut want, &grad, 0);
        let mut have = state(len);
        dense(Parallel::new(3), have.each_mut().map(|v| &mut v[..]), &grad, RULE);
        assert_close(&want, &have);
        at_every_level(|| {
            let mut have = state(len);
            dense(Parallel::SERIAL, have.each_mut().map(|v| &mut v[..]), &grad, RULE);
            assert_close(&want, &have);
        });
    }
}

#[test]
fn rows_are_updated_in_order() {
    for (count, width) in [(5, 1), (3, 40), (1000, 64)] {
        let rows: Vec<usize> = (0..3 * count).map(|i| i * i % count).collect();
        let grad = numbers(rows.len() * width, 9);
        let mut want = state(count * width);
        for (&row, grad) in rows.iter().zip(grad.chunks(width)) {
            one_by_one(&mut want, grad, row * width);
        }
        for par in [Parallel::SERIAL, Parallel::new(4)] {
            let mut have = state(count * width);
            sparse(par, have.each_mut().map(|v| &mut v[..]), count, &grad, &rows, RULE);
            assert_close(&want, &have);
        }
    }
}

#[test]
fn halves_are_computed_wide_and_rounded_once() {
    let len = 1000;
    let grad: Vec<bf16> = numbers(len, 9).into_iter().map(bf16::from_f32).collect();
    let mut want = state(len);
    let mut have = state(len).map(|v| v.into_iter().map(bf16::from_f32).collect::<Vec<_>>());
    let wide: Vec<f32> = grad.iter().map(|v| v.to_f32()).collect();
    one_by_one(&mut want, &wide, 0);
    dense(Parallel::SERIAL, have.each_mut().map(|v| &mut v[..]), &grad, RULE);
    for (want, have) in want.iter().zip(&have) {
        for (&want, &have) in want.iter().zip(have) {
            assert_eq!(bf16::from_f32(want), have);
        }
    }
}

fn assert_close(want: &[Vec<f32>; 3], have: &[Vec<f32>; 3]) {
    for (want, have) in want.iter().zip(have) {
        for (want, have) in want.iter().zip(have) {
            assert!((want - have).abs() <= 1e-6 * want.abs(), "{want} {have}");
        }
    }
}
