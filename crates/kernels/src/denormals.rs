//! Numbers too small for a normal float, taken for zero.
//!
//! Computing with such denormal numbers is up to a hundred times slower, and what decays, as
//! gradients through many positions and averages of optimisers do, soon is full of them. TensorFlow
//! computes without them; so do we, which also keeps results equal.

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use std::arch::asm;
use std::marker::PhantomData;

/// While it lives, denormal numbers count as zero on its thread, as inputs and as results.
#[derive(Debug)]
pub struct FlushDenormals {
    before: Control,
    /// The control word belongs to the thread.
    _not_send: PhantomData<*const ()>,
}

impl FlushDenormals {
    /// Begins to flush.
    #[expect(clippy::new_without_default, reason = "a guard is made on purpose")]
    pub fn new() -> FlushDenormals {
        let before = read();
        if before & FLUSH != FLUSH {
            write(before | FLUSH);
        }
        FlushDenormals { before, _not_send: PhantomData }
    }
}

impl Drop for FlushDenormals {
    fn drop(&mut self) {
        if self.before & FLUSH != FLUSH {
            write(self.before);
        }
    }
}

/// The control word of a thread's floating-point unit.
#[cfg(target_arch = "x86_64")]
type Control = u32;
#[cfg(not(target_arch = "x86_64"))]
type Control = u64;

/// The bits of MXCSR by which denormal results and denormal inputs become zero.
#[cfg(target_arch = "x86_64")]
const FLUSH: Control = 1 << 15 | 1 << 6;
/// The bit of FPCR that does both.
#[cfg(target_arch = "aarch64")]
const FLUSH: Control = 1 << 24;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const FLUSH: Control = 0;

fn read() -> Control {
    let mut control: Control = 0;
    // SAFETY: stores the control word at an address that is ours.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("stmxcsr [{}]", in(reg) &raw mut control, options(nostack, preserves_flags));
    }
    // SAFETY: reads a register.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("mrs {}, fpcr", out(reg) control, options(nomem, nostack, preserves_flags));
    }
    control
}

fn write(control: Control) {
    // SAFETY: loads a control word that differs from the thread's own only in whether denormal
    // numbers are flushed: no exception becomes unmasked and the rounding stays.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("ldmxcsr [{}]", in(reg) &raw const control, options(nostack, preserves_flags));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("msr fpcr, {}", in(reg) control, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = control;
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use std::hint::black_box;

    use super::*;
    use crate::{Parallel, Threads};

    fn is_flushed() -> bool {
        black_box(f32::MIN_POSITIVE) / black_box(16.0) == 0.0
            && black_box(f64::MIN_POSITIVE) / black_box(16.0) == 0.0
    }

    #[test]
    fn denormals_are_zero_while_a_guard_lives() {
        assert!(!is_flushed());
        {
            let _outer = FlushDenormals::new();
            assert!(is_flushed());
            drop(FlushDenormals::new());
            assert!(is_flushed(), "the outer guard still lives");
        }
        assert!(!is_flushed());
    }

    #[test]
    fn threads_that_compute_take_denormals_for_zero() {
        let flushed =
            Threads::new(3).unwrap().run(|| Parallel::all().map_ranges(1000, 1, |_| is_flushed()));
        assert!(flushed.len() > 1 && flushed.into_iter().all(|flushed| flushed));
    }
}
