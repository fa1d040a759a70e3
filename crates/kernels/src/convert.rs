//! Conversions between `f32`, the half-precision types and integers, slice by slice.

use half::{bf16, f16};

use crate::simd::{Level, dispatch, level};

dispatch! {
    /// Widens every element; exact.
    pub fn bf16_to_f32[I](x: &[bf16], out: &mut [f32]) {
        assert_eq!(x.len(), out.len());
        for (out, x) in out.iter_mut().zip(x) {
            *out = f32::from_bits(u32::from(x.to_bits()) << 16);
        }
    }
}

dispatch! {
    /// Rounds every element to the nearest `bf16`, ties to even; a NaN stays one.
    pub fn f32_to_bf16[I](x: &[f32], out: &mut [bf16]) {
        assert_eq!(x.len(), out.len());
        for (out, x) in out.iter_mut().zip(x) {
            let bits = x.to_bits();
            let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
            // A NaN whose payload is in the low bits only must not become an infinity.
            let quiet = (bits >> 16) | 0x40;
            let chosen = if bits & 0x7fff_ffff > 0x7f80_0000 { quiet } else { rounded };
            *out = bf16::from_bits(chosen as u16);
        }
    }
}

dispatch! {
    /// Cuts every element to an integer; the smallest one stands for what is out of range and for NaN,
    /// as processors have it.
    pub fn f32_to_i32[I](x: &[f32], out: &mut [i32]) {
        assert_eq!(x.len(), out.len());
        for (out, &x) in out.iter_mut().zip(x) {
            // `as` already gives the smallest integer for what is below.
            *out = if x < 2_147_483_648.0 { x as i32 } else { i32::MIN };
        }
    }
}

/// Widens every element; exact.
pub fn f16_to_f32(x: &[f16], out: &mut [f32]) {
    assert_eq!(x.len(), out.len());
    #[cfg(target_arch = "x86_64")]
    if level() > Level::Baseline {
        // SAFETY: every level above the baseline has F16C.
        return unsafe { x86::widen(x, out) };
    }
    out.iter_mut().zip(x).for_each(|(out, x)| *out = x.to_f32());
}

/// Rounds every element to the nearest `f16`, ties to even.
pub fn f32_to_f16(x: &[f32], out: &mut [f16]) {
    assert_eq!(x.len(), out.len());
    #[cfg(target_arch = "x86_64")]
    if level() > Level::Baseline {
        // SAFETY: every level above the baseline has F16C.
        return unsafe { x86::narrow(x, out) };
    }
    out.iter_mut().zip(x).for_each(|(out, x)| *out = f16::from_f32(*x));
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use half::f16;

    #[target_feature(enable = "avx2,f16c")]
    pub(super) fn widen(x: &[f16], out: &mut [f32]) {
        let (x, x_tail) = x.as_chunks::<8>();
        let (out, out_tail) = out.as_chunks_mut::<8>();
        for (out, x) in out.iter_mut().zip(x) {
            // SAFETY: both are arrays of eight, and `f16` is a 16-bit pattern.
            unsafe {
                let packed = _mm_loadu_si128(x.as_ptr().cast());
                _mm256_storeu_ps(out.as_mut_ptr(), _mm256_cvtph_ps(packed));
            }
        }
        for (out, x) in out_tail.iter_mut().zip(x_tail) {
            *out = x.to_f32();
        }
    }

    #[target_feature(enable = "avx2,f16c")]
    pub(super) fn narrow(x: &[f32], out: &mut [f16]) {
        let (x, x_tail) = x.as_chunks::<8>();
        let (out, out_tail) = out.as_chunks_mut::<8>();
        for (out, x) in out.iter_mut().zip(x) {
            // SAFETY: both are arrays of eight, and `f16` is a 16-bit pattern.
            unsafe {
                let wide = _mm256_loadu_ps(x.as_ptr());
                let packed = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(wide);
                _mm_storeu_si128(out.as_mut_ptr().cast(), packed);
            }
        }
        for (out, x) in out_tail.iter_mut().zip(x_tail) {
            *out = f16::from_f32(*x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::tests::at_every_level;

    #[test]
    fn integers_are_cut_and_have_one_value_for_all_else() {
        let x = [0.0, -0.9, 1.9, -7.5, 2147483520.0, 2147483648.0, -2147483648.0, -3e9, f32::NAN];
        let x = [&x[..], &[f32::INFINITY, f32::NEG_INFINITY]].concat();
        let (top, least) = (2147483520, i32::MIN);
        let want = [0, 0, 1, -7, top, least, least, least, least, least, least];
        at_every_level(|| {
            for shift in 0..x.len() {
                let mut out = vec![1; x.len() - shift];
                f32_to_i32(&x[shift..], &mut out);
                assert_eq!(out, want[shift..]);
            }
        });
    }

    #[test]
    fn every_half_survives_a_round_trip() {
        let f16s: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
        let bf16s: Vec<bf16> = (0..=u16::MAX).map(bf16::from_bits).collect();
        at_every_level(|| {
            let mut wide = vec![0.0; f16s.len()];
            let mut back = vec![f16::ZERO; f16s.len()];
            f16_to_f32(&f16s, &mut wide);
            f32_to_f16(&wide, &mut back);
            for ((x, wide), back) in f16s.iter().zip(&wide).zip(&back) {
                assert!(
                    x.is_nan() && wide.is_nan() && back.is_nan()
                        || x.to_f32() == *wide && x == back
                );
            }
            let mut back = vec![bf16::ZERO; bf16s.len()];
            bf16_to_f32(&bf16s, &mut wide);
            f32_to_bf16(&wide, &mut back);
            for ((x, wide), back) in bf16s.iter().zip(&wide).zip(&back) {
                assert!(
                    x.is_nan() && wide.is_nan() && back.is_nan()
                        || x.to_f32() == *wide && x == back
                );
            }
        });
    }

    #[test]
    fn rounding_is_to_nearest_even() {
        // Steps over all exponents and many mantissas, special values among them.
        let wide: Vec<f32> = (0..=u32::MAX).step_by(65_521).map(f32::from_bits).collect();
        at_every_level(|| {
            let mut f16s = vec![f16::ZERO; wide.len()];
            let mut bf16s = vec![bf16::ZERO; wide.len()];
            f32_to_f16(&wide, &mut f16s);
            f32_to_bf16(&wide, &mut bf16s);
            for (i, &x) in wide.iter().enumerate() {
                assert!(x.is_nan() && f16s[i].is_nan() || f16s[i] == f16::from_f32(x), "{x}");
                assert!(x.is_nan() && bf16s[i].is_nan() || bf16s[i] == bf16::from_f32(x), "{x}");
            }
        });
    }
}
