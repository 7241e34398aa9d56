//! Functions of the caller that the library calls. A panic of theirs ends the call and resumes from
//! it. Nothing unwinds through the library.

use crate::error::Result;
use crate::library::lent;
use crate::sys;
use std::any::Any;
use std::ffi::c_void;
use std::ops::ControlFlow;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

/// A callback's result that ends the call.
const END: i32 = 1;
const GO_ON: i32 = 0;

/// A function for the time of one call, and its panic.
pub(crate) struct Guarded<F> {
    function: F,
    panic: Option<Box<dyn Any + Send>>,
}

impl<F> Guarded<F> {
    pub(crate) fn new(function: F) -> Self {
        Self { function, panic: None }
    }

    /// The `user` of a callback.
    pub(crate) fn user(&mut self) -> *mut c_void {
        std::ptr::from_mut(self).cast()
    }

    /// Runs a part of the function; after a panic it is not called again.
    fn run(&mut self, body: impl FnOnce(&mut F) -> ControlFlow<()>) -> i32 {
        if self.panic.is_some() {
            return END;
        }
        match catch_unwind(AssertUnwindSafe(|| body(&mut self.function))) {
            Ok(ControlFlow::Continue(())) => GO_ON,
            Ok(ControlFlow::Break(())) => END,
            Err(panic) => {
                self.panic = Some(panic);
                END
            }
        }
    }

    /// The call's result, unless the function panicked: the panic resumes here.
    pub(crate) fn end<T>(self, result: Result<T>) -> Result<T> {
        match self.panic {
            Some(panic) => resume_unwind(panic),
            None => result,
        }
    }
}

/// # Safety
/// `user` is a Guarded<F> that nobody else uses during the call; so for all of these.
pub(crate) unsafe extern "C" fn on_progress<F: FnMut(f64) -> ControlFlow<()>>(
    user: *mut c_void,
    fraction: f64,
) -> i32 {
    // SAFETY: the caller's.
    let guarded = unsafe { &mut *user.cast::<Guarded<F>>() };
    guarded.run(|function| function(fraction))
}

/// # Safety
/// As on_progress.
pub(crate) unsafe extern "C" fn on_logits<F: FnMut(u64, &[f32]) -> ControlFlow<()>>(
    user: *mut c_void,
    row: u64,
    logits: *const f32,
    vocabulary: u64,
) -> i32 {
    // SAFETY: the caller's; the row lives during the call.
    let (guarded, logits) = unsafe { (&mut *user.cast::<Guarded<F>>(), lent(logits, vocabulary as usize)) };
    guarded.run(|function| function(row, logits))
}

/// # Safety
/// As on_progress.
pub(crate) unsafe extern "C" fn on_candidate<F: FnMut(&sys::tenon_candidate) -> ControlFlow<()>>(
    user: *mut c_void,
    candidate: *const sys::tenon_candidate,
) -> i32 {
    // SAFETY: the caller's.
    let (guarded, candidate) = unsafe { (&mut *user.cast::<Guarded<F>>(), &*candidate) };
    guarded.run(|function| function(candidate))
}

/// # Safety
/// As on_progress.
pub(crate) unsafe extern "C" fn on_delta<F: FnMut(&sys::tenon_chat_delta) -> ControlFlow<()>>(
    user: *mut c_void,
    delta: *const sys::tenon_chat_delta,
) {
    // SAFETY: the caller's.
    let (guarded, delta) = unsafe { (&mut *user.cast::<Guarded<F>>(), &*delta) };
    guarded.run(|function| function(delta));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    /// Calls a function of the caller as the library does, several times; what each call said.
    fn call<F: FnMut(f64) -> ControlFlow<()>>(function: F) -> Result<Vec<i32>> {
        let mut guarded = Guarded::new(function);
        let user = guarded.user();
        // SAFETY: it is there, and nobody else uses it.
        let said = (0..3).map(|step| unsafe { on_progress::<F>(user, f64::from(step)) }).collect();
        guarded.end(Ok(said))
    }

    #[test]
    fn a_function_goes_on_or_ends_the_call() {
        let mut seen = Vec::new();
        let said = call(|fraction| {
            seen.push(fraction);
            if fraction < 1.0 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        });
        assert_eq!(said.unwrap(), [GO_ON, END, END]);
        assert_eq!(seen, [0.0, 1.0, 2.0]);
    }

    #[test]
    fn a_panic_ends_the_call_and_goes_on_after_it() {
        let mut count = 0;
        let caught = catch_unwind(AssertUnwindSafe(|| {
            call(|_| {
                count += 1;
                std::panic::panic_any(5_u8)
            })
        }));
        assert_eq!(caught.unwrap_err().downcast_ref(), Some(&5_u8));
        assert_eq!(count, 1, "it is not called again");
        let mut guarded = Guarded::new(|_: f64| ControlFlow::Continue(()));
        assert_eq!(guarded.run(|function| function(0.0)), GO_ON);
        assert!(matches!(guarded.end::<()>(Err(Error::Io("gone".into(), None))), Err(Error::Io(..))));
    }

    #[test]
    fn rows_of_logits_are_slices() {
        let (row, mut seen) = ([1.0_f32, 2.0], Vec::new());
        fn look<F: FnMut(u64, &[f32]) -> ControlFlow<()>>(row: &[f32], function: F) {
            let mut guarded = Guarded::new(function);
            // SAFETY: the row is there during the call.
            unsafe { on_logits::<F>(guarded.user(), 7, row.as_ptr(), row.len() as u64) };
            guarded.end(Ok(())).unwrap();
        }
        look(&row, |number, logits| {
            seen.push((number, logits.to_vec()));
            ControlFlow::Continue(())
        });
        assert_eq!(seen, [(7, row.to_vec())]);
    }
}
