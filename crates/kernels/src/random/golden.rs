//! The distributions against values recorded from TensorFlow 2.21.
//!
//! Each line is the second run of an op with the attributes `seed = 87654321, seed2 = -7` and an
//! output of seven values, written as bits: the second, so that the reservation of the first
//! counts; seven, so that the last group is short.

use std::fmt::Debug;

use half::{bf16, f16};

use super::*;
use crate::Parallel;

trait Bits: Copy + Default + PartialEq + Debug {
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($float:ty),*; $($int:ty as $unsigned:ty),*) => {
        $(impl Bits for $float { fn bits(self) -> u64 { self.to_bits().into() } })*
        $(impl Bits for $int { fn bits(self) -> u64 { (self as $unsigned).into() } })*
    };
}

bits!(f16, bf16, f32, f64; i32 as u32, u32 as u32, i64 as u64, u64 as u64);

/// Compares the second run with `want`, allowing for `ulps` units in the last place.
fn check<D: Distribution<Value: Bits>>(distribution: &D, ulps: u64, want: [u64; 7]) {
    let generator = GuardedPhilox::new(87_654_321, -7);
    let mut got = [D::Value::default(); 7];
    generator.reserve_outputs(7);
    fill(Parallel::SERIAL, distribution, generator.reserve_outputs(7), &mut got);
    for (got, want) in got.iter().zip(want) {
        let difference = got.bits().abs_diff(want);
        assert!(difference <= ulps, "{got:?} is {:#x}, not {want:#x}", got.bits());
    }
}

/// Fills a large slice split into tasks and serially.
fn check_split<D: Distribution<Value: Bits>>(distribution: &D) {
    let philox = Philox::new(1, 2);
    let size = 3 * D::PER_TASK + 5;
    let (mut split, mut serial) =
        (vec![D::Value::default(); size], vec![D::Value::default(); size]);
    fill(Parallel::new(3), distribution, philox, &mut split);
    distribution.fill(philox, &mut serial);
    assert!(split == serial);
}

#[test]
fn uniform_floats() {
    check(&Uniform::<f16>::new(), 0, [0x3434, 0x36a4, 0x3100, 0x372c, 0x3b3c, 0x3bae, 0x3946]);
    check(&Uniform::<bf16>::new(), 0, [0x3dd0, 0x3ea4, 0x3e80, 0x3f16, 0x3e70, 0x3f2e, 0x3e8c]);
    check(
        &Uniform::<f32>::new(),
        0,
        [0x3e36_4868, 0x3f7d_0b52, 0x3f22_2140, 0x3ec1_872c, 0x3ebc_1e78, 0x3f07_8fae, 0x3de0_6a30],
    );
    check(
        &Uniform::<f64>::new(),
        0,
        [
            0x3fdb_2437_dffa_16a4,
            0x3fb1_0a09_fb06_1cb0,
            0x3fee_0f3c_1b87_8fae,
            0x3fec_0d47_e3e6_0be2,
            0x3fe6_8549_8c4e_8cb6,
            0x3fce_ca66_6e7a_c6e0,
            0x3fec_2d5b_7dd3_9fb4,
        ],
    );
}

#[test]
fn uniform_integers() {
    check(
        &UniformInt::<i32>::new(-3, 1_000_000).unwrap(),
        0,
        [0x1f0d2, 0x9c4e6, 0x84912, 0x1f6a3, 0x4764e, 0xe3fa2, 0x6cd4],
    );
    check(
        &UniformInt::<i64>::new(i64::MIN, i64::MAX).unwrap(),
        0,
        [
            0x77fe_85a9_eb16_c90d,
            0x1fb0_61cb_4dd1_10a0,
            0x8dc3_c7d7_c92f_079e,
            0x71f3_05f1_040e_06a3,
            0x4627_465b_433b_42a4,
            0x4dcf_58dc_c043_d94c,
            0x3ee9_cfda_24ee_16ad,
        ],
    );
    assert!(UniformInt::<i32>::new(4, 4).is_none());
}

#[test]
fn normals() {
    check(&Normal::<f16>::new(), 1, [0xb04f, 0x3f69, 0x394e, 0xb982, 0xb42e, 0xbd90, 0xbd01]);
    check(&Normal::<bf16>::new(), 1, [0xbe0a, 0x3fed, 0x3f2a, 0xbf30, 0xbe86, 0xbfb2, 0xbfa0]);
    check(
        &Normal::<f32>::new(),
        2,
        [0xbe09_e5b6, 0x3fed_2fd2, 0x3f29_be85, 0xbf30_3b8b, 0xbe85_b042, 0xbfb2_05b1, 0xbfa0_1985],
    );
    check(
        &Normal::<f64>::new(),
        2,
        [
            0x3fe1_05b6_36df_515c,
            0x3ff3_26ad_8347_f885,
            0xbfcf_afd0_3822_2a63,
            0x3fd0_2b63_954d_c365,
            0x3fea_c691_da26_482d,
            0x3fa9_7668_467c_2f6f,
            0xbf8e_3ca8_ad57_a08f,
        ],
    );
}

#[test]
fn truncated_normals() {
    check(
        &TruncatedNormal::<f16>::new(),
        1,
        [0xb04f, 0x3f69, 0x394e, 0xb982, 0xb8a4, 0x34cb, 0x3240],
    );
    check(
        &TruncatedNormal::<bf16>::new(),
        1,
        [0xbe0a, 0x3fed, 0x3f2a, 0xbf30, 0xbf14, 0x3e99, 0x3e48],
    );
    check(
        &TruncatedNormal::<f32>::new(),
        2,
        [0xbe09_e5b6, 0x3fed_2fd2, 0x3f29_be85, 0xbf30_3b8b, 0xbf14_7cb0, 0x3e99_52d0, 0x3e47_f21b],
    );
    check(
        &TruncatedNormal::<f64>::new(),
        2,
        [
            0x3fe1_05b6_36df_515c,
            0x3ff3_26ad_8347_f885,
            0x3fe4_2227_7440_75a7,
            0x3f96_351d_0a36_8246,
            0xbff2_d702_4616_d18f,
            0xbfd8_66fe_2a3c_49ef,
            0x3fe0_27f4_a2e6_544e,
        ],
    );
}

#[test]
fn full_integers_are_the_words_of_the_stream() {
    let philox = Philox::from_stateless_seed([1, 2]);
    let mut words = philox.words();
    let mut long = [0u64; 3];
    fill(Parallel::SERIAL, &FullInt::<u64>::new(), philox, &mut long);
    assert_eq!(long, std::array::from_fn(|_| words.next_u64()));
    let (mut signed, mut unsigned) = ([0i32; 5], [0u32; 5]);
    fill(Parallel::SERIAL, &FullInt::<i32>::new(), philox, &mut signed);
    fill(Parallel::SERIAL, &FullInt::<u32>::new(), philox, &mut unsigned);
    let mut words = philox.words();
    assert_eq!(unsigned, std::array::from_fn(|_| words.next_u32()));
    assert_eq!(unsigned.map(|word| word as i32), signed);
}

/// Recorded from `StatefulUniformFullInt` on a variable that holds `[5, 0, 77]`.
#[test]
fn generator_variables_hold_counter_and_key() {
    let philox = Philox::from_key_counter(77, [5, 0]);
    let mut out = [0u64; 2];
    fill(Parallel::SERIAL, &FullInt::<u64>::new(), philox, &mut out);
    assert_eq!(out, [1137944225443492965, 4124406728587134880]);
}

#[test]
fn a_split_fill_is_a_serial_fill() {
    check_split(&Uniform::<bf16>::new());
    check_split(&Uniform::<f64>::new());
    check_split(&UniformInt::<i32>::new(-9, 9).unwrap());
    check_split(&FullInt::<u64>::new());
    check_split(&Normal::<f16>::new());
    check_split(&Normal::<f64>::new());
    check_split(&TruncatedNormal::<f32>::new());
    check_split(&TruncatedNormal::<f64>::new());
}
