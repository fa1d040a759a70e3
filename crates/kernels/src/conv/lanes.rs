//! Vector registers: the few operations that the convolution tile is written in.

/// A vector of `COUNT` elements in one register.
///
/// # Safety
/// The methods may only run on machines that have the implementation's instructions, which the
/// caller has found out before it entered code compiled for them.
pub(crate) unsafe trait Lanes: Copy {
    type Element: Copy;
    type Vector: Copy;
    const COUNT: usize;

    unsafe fn splat(x: Self::Element) -> Self::Vector;
    unsafe fn load(from: *const Self::Element) -> Self::Vector;
    unsafe fn store(to: *mut Self::Element, vector: Self::Vector);
    unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a * b + c`.
    unsafe fn fma(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
}

/// Arrays that the compiler turns into whatever registers the build has.
#[derive(Clone, Copy)]
pub(crate) struct Portable<T>(std::marker::PhantomData<T>);

macro_rules! portable {
    ($type:ty, $count:literal) => {
        // SAFETY: plain code that runs anywhere.
        unsafe impl Lanes for Portable<$type> {
            type Element = $type;
            type Vector = [$type; $count];
            const COUNT: usize = $count;

            #[inline(always)]
            unsafe fn splat(x: $type) -> Self::Vector {
                [x; $count]
            }

            #[inline(always)]
            unsafe fn load(from: *const $type) -> Self::Vector {
                // SAFETY: the caller's pointer is valid for `COUNT` elements.
                unsafe { from.cast::<[$type; $count]>().read_unaligned() }
            }

            #[inline(always)]
            unsafe fn store(to: *mut $type, vector: Self::Vector) {
                // SAFETY: as in `load`.
                unsafe { to.cast::<[$type; $count]>().write_unaligned(vector) }
            }

            #[inline(always)]
            unsafe fn add(a: Self::Vector, b: Self::Vector) -> Self::Vector {
                std::array::from_fn(|i| a[i] + b[i])
            }

            #[inline(always)]
            unsafe fn fma(a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector {
                std::array::from_fn(|i| a[i] * b[i] + c[i])
            }
        }
    };
}

portable!(f32, 4);
portable!(f64, 2);

#[cfg(target_arch = "x86_64")]
pub(crate) mod x86 {
    use std::arch::x86_64::*;

    use super::Lanes;

    macro_rules! intrinsics {
        ($name:ident, $type:ty, $vector:ty, $count:literal,
         $splat:ident, $load:ident, $store:ident, $add:ident, $fma:ident) => {
            #[derive(Clone, Copy)]
            pub(crate) struct $name;

            // SAFETY: each method is one instruction of the set that the type is named after.
            unsafe impl Lanes for $name {
                type Element = $type;
                type Vector = $vector;
                const COUNT: usize = $count;

                #[inline(always)]
                unsafe fn splat(x: $type) -> $vector {
                    // SAFETY: by the trait's contract the machine has the instruction.
                    unsafe { $splat(x) }
                }

                #[inline(always)]
                unsafe fn load(from: *const $type) -> $vector {
                    // SAFETY: as above; the caller's pointer is valid for `COUNT` elements.
                    unsafe { $load(from) }
                }

                #[inline(always)]
                unsafe fn store(to: *mut $type, vector: $vector) {
                    // SAFETY: as in `load`.
                    unsafe { $store(to, vector) }
                }

                #[inline(always)]
                unsafe fn add(a: $vector, b: $vector) -> $vector {
                    // SAFETY: as in `splat`.
                    unsafe { $add(a, b) }
                }

                #[inline(always)]
                unsafe fn fma(a: $vector, b: $vector, c: $vector) -> $vector {
                    // SAFETY: as in `splat`.
                    unsafe { $fma(a, b, c) }
                }
            }
        };
    }

    intrinsics!(
        Avx2Single,
        f32,
        __m256,
        8,
        _mm256_set1_ps,
        _mm256_loadu_ps,
        _mm256_storeu_ps,
        _mm256_add_ps,
        _mm256_fmadd_ps
    );
    intrinsics!(
        Avx2Double,
        f64,
        __m256d,
        4,
        _mm256_set1_pd,
        _mm256_loadu_pd,
        _mm256_storeu_pd,
        _mm256_add_pd,
        _mm256_fmadd_pd
    );
    intrinsics!(
        Avx512Single,
        f32,
        __m512,
        16,
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_fmadd_ps
    );
    intrinsics!(
        Avx512Double,
        f64,
        __m512d,
        8,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_fmadd_pd
    );
}
