//! Real functions that the kernels crate has no vector loops for, one element at a time.

use tensorfleet_kernels::elementwise::{MIN_CHEAP, MIN_COSTLY, Unary};

macro_rules! functions {
    ($min_len:expr; $($(#[$doc:meta])* $name:ident = $function:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(super) struct $name;

        impl Unary for $name {
            const MIN_LEN: usize = $min_len;

            fn single(x: &[f32], out: &mut [f32]) {
                let f: fn(f32) -> f32 = $function;
                out.iter_mut().zip(x).for_each(|(out, &x)| *out = f(x));
            }

            fn double(x: &[f64], out: &mut [f64]) {
                let f: fn(f64) -> f64 = $function;
                out.iter_mut().zip(x).for_each(|(out, &x)| *out = f(x));
            }
        }
    )+};
}

functions! {
    MIN_CHEAP;
    Abs = |x| x.abs();
    Neg = |x| -x;
    /// One with the sign of the argument; zero for zeros of both signs.
    Sign = |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else if x == 0.0 { 0.0 } else { x };
}

functions! {
    MIN_COSTLY;
    Acos = |x| x.acos();
    Acosh = |x| x.acosh();
    Asin = |x| x.asin();
    Asinh = |x| x.asinh();
    Atan = |x| x.atan();
    Atanh = |x| x.atanh();
    Tan = |x| x.tan();
}
