//! Accuracy against double precision, in units in the last place, and behaviour at special values.

use super::*;
use crate::simd::tests::at_every_level;
use crate::simd::{Baseline, dispatch};

/// Floats of every exponent and sign, with all kinds of mantissas.
fn sweep(low: f32, high: f32) -> Vec<f32> {
    let all = (0..=u32::MAX).step_by(6_007).map(f32::from_bits);
    let mut values: Vec<f32> = all.filter(|x| *x >= low && *x <= high).collect();
    values.extend((0..200_000).map(|i| low.max(-20.0) + i as f32 * 2e-4).filter(|x| *x <= high));
    values
}

fn ulps(found: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if found == nearest || found.is_nan() && nearest.is_nan() {
        return 0.0;
    }
    let exponent = (nearest.abs().max(f32::MIN_POSITIVE).to_bits() >> 23) as i32 - 127 - 23;
    (f64::from(found) - exact).abs() / f64::from(exponent).exp2()
}

macro_rules! check {
    ($name:literal, $range:expr, $limit:expr, |$x:ident| $ours:expr, $exact:expr) => {{
        dispatch! {
            fn run[I](x: &[f32], out: &mut [f32]) {
                for (out, &$x) in out.iter_mut().zip(x) {
                    *out = $ours;
                }
            }
        }
        let x = sweep($range.0, $range.1);
        let mut out = vec![0.0; x.len()];
        at_every_level(|| {
            run(&x, &mut out);
            let exact = |$x: f64| -> f64 { $exact };
            let (worst, at) = x
                .iter()
                .zip(&out)
                .map(|(&x, &out)| (ulps(out, exact(f64::from(x))), x))
                .fold((0.0, 0.0), |a, b| if b.0 > a.0 || b.0.is_nan() { b } else { a });
            assert!(worst <= $limit, "{}: {worst} ulp at {at} ({:?})", $name, crate::simd::level());
        });
    }};
}

const ALL: (f32, f32) = (f32::NEG_INFINITY, f32::INFINITY);

#[test]
fn single_precision_is_accurate() {
    check!("exp", ALL, 1.5, |x| x.exp_::<I>(), x.exp());
    check!("expm1", ALL, 2.0, |x| x.expm1_::<I>(), x.exp_m1());
    check!("ln", ALL, 1.5, |x| x.ln_::<I>(), x.ln());
    check!("ln1p", ALL, 2.0, |x| x.ln1p_::<I>(), x.ln_1p());
    check!("erf", ALL, 1.5, |x| x.erf_::<I>(), x.erf_::<Baseline>());
    check!("erfc", ALL, 4.0, |x| x.erfc_::<I>(), x.erfc_::<Baseline>());
    check!("sin", (-1e6, 1e6), 2.0, |x| x.sin_::<I>(), x.sin());
    check!("cos", (-1e6, 1e6), 2.0, |x| x.cos_::<I>(), x.cos());
    check!("tanh", ALL, 2.5, |x| tanh::<I, f32>(x), x.tanh());
    check!("sigmoid", ALL, 2.5, |x| sigmoid::<I, f32>(x), 1.0 / (1.0 + (-x).exp()));
    check!("softplus", ALL, 2.0, |x| softplus::<I, f32>(x), x.max(0.0) + (-x.abs()).exp().ln_1p());
    check!("sinh", ALL, 3.0, |x| sinh::<I, f32>(x), x.sinh());
    check!("cosh", ALL, 3.0, |x| cosh::<I, f32>(x), x.cosh());
    check!("tan", (-1e6, 1e6), 4.0, |x| x.tan_::<I>(), x.tan());
    check!("atan", ALL, 3.0, |x| atan::<I, f32>(x), x.atan());
    check!("asin", ALL, 3.0, |x| asin::<I, f32>(x), x.asin());
    check!("acos", ALL, 3.0, |x| acos::<I, f32>(x), x.acos());
    check!("asinh", ALL, 4.0, |x| asinh::<I, f32>(x), x.asinh());
    check!("acosh", ALL, 4.0, |x| acosh::<I, f32>(x), x.acosh());
    check!("atanh", ALL, 4.0, |x| atanh::<I, f32>(x), x.atanh());
    check!("atan2 by 1.3", ALL, 4.0, |x| atan2::<I, f32>(x, 1.3), x.atan2(f64::from(1.3f32)));
    check!("atan2 of -0.7", ALL, 4.0, |x| atan2::<I, f32>(-0.7, x), f64::from(-0.7f32).atan2(x));
    check!("pow 2.5", (0.0, f32::MAX), 1.0, |x| x.pow_::<I>(2.5), x.powf(2.5));
}

/// The functions of double precision, and a reference for each.
type Double = (&'static str, fn(f64) -> f64, fn(f64) -> f64);

#[test]
fn double_precision_is_accurate() {
    let functions: &[Double] = &[
        ("exp", |x| x.exp_::<Baseline>(), f64::exp),
        ("expm1", |x| x.expm1_::<Baseline>(), f64::exp_m1),
        ("ln", |x| x.ln_::<Baseline>(), f64::ln),
        ("ln1p", |x| x.ln1p_::<Baseline>(), f64::ln_1p),
        ("atan", atan::<Baseline, f64>, f64::atan),
        ("asin", asin::<Baseline, f64>, f64::asin),
        ("acos", acos::<Baseline, f64>, f64::acos),
        ("tanh", tanh::<Baseline, f64>, f64::tanh),
        ("sinh", sinh::<Baseline, f64>, f64::sinh),
        ("cosh", cosh::<Baseline, f64>, f64::cosh),
    ];
    let step = 0x0003_1415_9265_3589_u64;
    let bits = (0..u64::MAX / step).map(|i| f64::from_bits(i * step));
    let near = (0..20_000).map(|i| f64::from(i - 10_000) * 1.234_567e-3);
    let values: Vec<f64> = bits.chain(near).collect();
    for (name, ours, exact) in functions {
        for &x in &values {
            let (found, exact) = (ours(x), exact(x));
            if found == exact || found.is_nan() && exact.is_nan() {
                continue;
            }
            let error = (found - exact).abs() / exact.abs().max(f64::MIN_POSITIVE) / f64::EPSILON;
            assert!(error <= 3.0, "{name}({x}) is {found} for {exact}");
        }
    }
}

/// `(x, erf(x), erfc(x))`, computed with forty digits.
#[rustfmt::skip]
const ERF: &[(f64, f64, f64)] = &[
    (-6.5, -1.0, 2.0),
    (-3.2, -0.9999939742388483, 1.9999939742388482),
    (-1.0, -0.8427007929497149, 1.8427007929497148),
    (-0.75, -0.7111556336535151, 1.7111556336535152),
    (-0.3, -0.3286267594591274, 1.3286267594591274),
    (-1e-09, -1.1283791670955127e-09, 1.0000000011283792),
    (0.0, 0.0, 1.0),
    (1e-300, 1.1283791670955126e-300, 1.0),
    (1e-05, 1.1283791670579e-05, 0.9999887162083294),
    (0.2, 0.22270258921047847, 0.7772974107895215),
    (0.49, 0.511668261188523, 0.4883317388114769),
    (0.5, 0.5204998778130465, 0.4795001221869535),
    (0.51, 0.5292436198411704, 0.4707563801588296),
    (0.9, 0.7969082124228322, 0.20309178757716786),
    (0.999, 0.8422852702064969, 0.15771472979350307),
    (1.0, 0.8427007929497149, 0.15729920705028513),
    (1.3, 0.9340079449406524, 0.06599205505934755),
    (1.75, 0.9866716712191824, 0.013328328780817557),
    (2.0, 0.9953222650189527, 0.004677734981047266),
    (2.5, 0.999593047982555, 0.0004069520174449589),
    (3.1, 0.9999883513426328, 1.1648657367199589e-05),
    (4.0, 0.9999999845827421, 1.541725790028002e-08),
    (4.7, 0.9999999999700474, 2.9952597863796555e-11),
    (5.6, 0.9999999999999977, 2.382836284583028e-15),
    (6.3, 1.0, 5.124221687395715e-19),
    (8.0, 1.0, 1.1224297172982926e-29),
    (11.0, 1.0, 1.4408661379436948e-54),
    (15.5, 1.0, 1.6632016400488723e-106),
    (20.0, 1.0, 5.395865611607901e-176),
    (24.0, 1.0, 1.6489825831519335e-252),
    (26.5, 1.0, 2.2109076642637343e-307),
];

#[test]
fn error_functions_are_accurate() {
    for &(x, erf, erfc) in ERF {
        let close =
            |found: f64, exact: f64| (found - exact).abs() <= 4.0 * f64::EPSILON * exact.abs();
        assert!(close(x.erf_::<Baseline>(), erf), "erf({x})");
        assert!(close(x.erfc_::<Baseline>(), erfc), "erfc({x}): {} {erfc}", x.erfc_::<Baseline>());
    }
    assert_eq!(f64::NEG_INFINITY.erfc_::<Baseline>(), 2.0);
    assert_eq!(f64::INFINITY.erfc_::<Baseline>(), 0.0);
}

#[test]
fn not_a_number_stays_one() {
    fn all<T: Math>() -> [T; 15] {
        let x = T::nan();
        [
            x.exp_::<Baseline>(),
            x.expm1_::<Baseline>(),
            x.ln_::<Baseline>(),
            x.ln1p_::<Baseline>(),
            x.erf_::<Baseline>(),
            x.erfc_::<Baseline>(),
            x.sin_::<Baseline>(),
            x.cos_::<Baseline>(),
            sigmoid::<Baseline, T>(x),
            tanh::<Baseline, T>(x),
            softplus::<Baseline, T>(x),
            elu::<Baseline, T>(x),
            selu::<Baseline, T>(x),
            sinh::<Baseline, T>(x),
            cosh::<Baseline, T>(x),
        ]
    }
    assert!(all::<f32>().iter().all(|x| x.is_nan()), "{:?}", all::<f32>());
    assert!(all::<f64>().iter().all(|x| x.is_nan()), "{:?}", all::<f64>());
}

#[test]
fn zeros_keep_their_sign() {
    for zero in [0.0f32, -0.0] {
        for found in [
            zero.expm1_::<Baseline>(),
            zero.ln1p_::<Baseline>(),
            zero.erf_::<Baseline>(),
            zero.sin_::<Baseline>(),
            tanh::<Baseline, f32>(zero),
            sinh::<Baseline, f32>(zero),
        ] {
            assert_eq!(found.to_bits(), zero.to_bits());
        }
    }
}

/// `(x, ln |gamma(x)|)` of numbers that single precision has exactly.
#[rustfmt::skip]
const LGAMMA: &[(f32, f64)] = &[
    (0.5, 0.5723649429247001), (1.0, 0.0), (1.5, -0.12078223763524522), (2.0, 0.0),
    (3.0, std::f64::consts::LN_2), (8.0, 8.525161361065415), (100.0, 359.1342053695754),
    (-0.5, 1.2655121234846454), (-2.5, -0.05624371649767405),
];

#[test]
fn the_logarithm_of_gamma_is_accurate_and_infinite_at_its_poles() {
    for &(x, exact) in LGAMMA {
        let found = f64::from(lgamma::<Baseline>(x));
        assert!((found - exact).abs() <= 1.5e-7 * exact.abs() + 1e-14, "lgamma({x}): {found}");
    }
    for x in [0.0, -0.0, -1.0, -2.0, -1e20, f32::INFINITY, f32::NEG_INFINITY] {
        assert_eq!(lgamma::<Baseline>(x), f32::INFINITY, "{x}");
    }
    assert!(lgamma::<Baseline>(f32::NAN).is_nan());
}

#[test]
fn quantiles_are_inverses_of_the_error_functions() {
    let edge = [(0.0, 0.0), (1.0, f32::INFINITY), (-1.0, f32::NEG_INFINITY)];
    edge.into_iter().for_each(|(x, exact)| assert_eq!(erfinv::<Baseline>(x), exact));
    assert!(erfinv::<Baseline>(1.1).is_nan() && erfinv::<Baseline>(f32::NAN).is_nan());
    for i in -999..1000 {
        let x = i as f32 * 1e-3;
        let back = f64::from(erfinv::<Baseline>(x)).erf_::<Baseline>();
        // Rounding of the result, as the function sees it.
        let slope = 1.13 * (-f64::from(erfinv::<Baseline>(x)).powi(2)).exp();
        let allowed = slope * 1.2e-7 * f64::from(erfinv::<Baseline>(x).abs()) + 1e-16;
        assert!((back - f64::from(x)).abs() <= allowed, "erfinv({x})");
    }
    for p in [1e-38f32, 1e-30, 1e-10, 1e-3, 0.02, 0.3, 0.5, 0.7, 0.999] {
        let quantile = f64::from(ndtri::<Baseline>(p));
        let back = 0.5 * (-quantile * std::f64::consts::FRAC_1_SQRT_2).erfc_::<Baseline>();
        let allowed = 1.3e-7 * (1.0 + quantile * quantile) * f64::from(p);
        assert!((back - f64::from(p)).abs() <= allowed, "ndtri({p}): {quantile}");
    }
    assert_eq!(ndtri::<Baseline>(0.0), f32::NEG_INFINITY);
    assert_eq!(ndtri::<Baseline>(1.0), f32::INFINITY);
    assert!(ndtri::<Baseline>(-0.1).is_nan() && ndtri::<Baseline>(1.5).is_nan());
}

#[test]
fn angles_of_special_points_are_those_of_the_standard_library() {
    let special =
        [0.0, -0.0, 1.0, -1.0, 1e-30, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    for y in special {
        for x in special {
            let (found, exact) = (atan2::<Baseline, f32>(y, x), y.atan2(x));
            let same = found.to_bits() == exact.to_bits() || found.is_nan() && exact.is_nan();
            assert!(
                same || (found - exact).abs() <= 3e-7 * exact.abs(),
                "atan2({y}, {x}): {found}"
            );
        }
    }
}
