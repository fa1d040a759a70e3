//! Picks the widest instruction set of the machine at run time.
//!
//! A vectorised loop is written once, as plain Rust generic over an [`Isa`], inside `dispatch!`.
//! The macro compiles it for the build's baseline, for AVX2 with FMA and for AVX-512, where the
//! compiler's vectoriser widens it, and calls the best version the machine can run. So a binary built
//! without any target flags is still fast.

#[cfg(target_arch = "x86_64")]
use std::sync::LazyLock;

/// An instruction set that a loop is compiled for.
pub trait Isa: Copy {
    /// `a * b + c`: fused where that is one instruction, two roundings elsewhere.
    fn fma32(a: f32, b: f32, c: f32) -> f32;
    /// As [`Isa::fma32`], in double precision.
    fn fma64(a: f64, b: f64, c: f64) -> f64;
}

/// Whatever the build targets; without flags that is SSE2 on x86-64.
#[derive(Clone, Copy, Debug)]
pub struct Baseline;

/// Machines with fused multiply-add: AVX2 and AVX-512.
#[derive(Clone, Copy, Debug)]
pub struct Fused;

impl Isa for Baseline {
    #[inline(always)]
    fn fma32(a: f32, b: f32, c: f32) -> f32 {
        if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
            a.mul_add(b, c)
        } else {
            a * b + c
        }
    }

    #[inline(always)]
    fn fma64(a: f64, b: f64, c: f64) -> f64 {
        if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
            a.mul_add(b, c)
        } else {
            a * b + c
        }
    }
}

impl Isa for Fused {
    #[inline(always)]
    fn fma32(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }

    #[inline(always)]
    fn fma64(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

/// The instruction sets that loops are compiled for, narrowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The environment variable that holds newer instructions back, to see what an older machine would
/// do: `baseline`, `avx2` or `avx512`. It never makes a machine use what it has not.
#[cfg(target_arch = "x86_64")]
const CPU_VARIABLE: &str = "TENSORFLEET_CPU";

/// The highest level that a word allows; all of them for any other word.
#[cfg(target_arch = "x86_64")]
fn highest(word: &str) -> Level {
    match word {
        "baseline" => Level::Baseline,
        "avx2" => Level::Avx2,
        _ => Level::Avx512,
    }
}

/// The best level this machine can run, and may.
#[inline]
pub(crate) fn level() -> Level {
    #[cfg(test)]
    if let Some(level) = tests::FORCED.get() {
        return level;
    }
    #[cfg(target_arch = "x86_64")]
    {
        static USABLE: LazyLock<Level> = LazyLock::new(|| {
            let wanted = std::env::var(CPU_VARIABLE).unwrap_or_default();
            crate::announced::usable_level().min(highest(&wanted))
        });
        *USABLE
    }
    #[cfg(not(target_arch = "x86_64"))]
    Level::Baseline
}

/// Defines a function whose body is compiled for every [`Level`].
///
/// The brackets after the name take the [`Isa`] parameter and any generics; each generic must be
/// inferable from the arguments.
macro_rules! dispatch {
    (
        $(#[$meta:meta])*
        $vis:vis fn $name:ident [$isa:ident $(, $($generics:tt)+)?] (
            $($arg:ident: $type:ty),* $(,)?
        ) $(-> $output:ty)? $body:block
    ) => {
        $(#[$meta])*
        $vis fn $name $(<$($generics)+>)? ($($arg: $type),*) $(-> $output)? {
            #[inline(always)]
            fn body<$isa: $crate::simd::Isa $(, $($generics)+)?>(
                _: $isa, $($arg: $type),*
            ) $(-> $output)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            fn avx2 $(<$($generics)+>)? ($($arg: $type),*) $(-> $output)? {
                body($crate::simd::Fused, $($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")]
            fn avx512 $(<$($generics)+>)? ($($arg: $type),*) $(-> $output)? {
                body($crate::simd::Fused, $($arg),*)
            }

            match $crate::simd::level() {
                $crate::simd::Level::Baseline => body($crate::simd::Baseline, $($arg),*),
                // SAFETY: `level` names only what the machine was found to have.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx2 => unsafe { avx2($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx512 => unsafe { avx512($($arg),*) },
            }
        }
    };
}
pub(crate) use dispatch;

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        pub(super) static FORCED: Cell<Option<Level>> = const { Cell::new(None) };
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn words_hold_levels_back_and_never_raise_them() {
        assert_eq!(Level::Avx512.min(highest("avx2")), Level::Avx2);
        assert_eq!(Level::Avx512.min(highest("")), Level::Avx512);
        assert_eq!(Level::Avx2.min(highest("avx512")), Level::Avx2);
        assert_eq!(Level::Avx2.min(highest("baseline")), Level::Baseline);
    }

    /// Runs `f` once for every level that this machine has; work must stay on this thread.
    pub(crate) fn at_every_level(mut f: impl FnMut()) {
        let best = level();
        let mut levels = vec![Level::Baseline];
        #[cfg(target_arch = "x86_64")]
        levels.extend([Level::Avx2, Level::Avx512]);
        for level in levels.into_iter().filter(|level| *level <= best) {
            FORCED.set(Some(level));
            f();
        }
        FORCED.set(None);
    }
}
