//! Handles of the library, each destroyed with its last owner, and the threads that may use them.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A type that a handle can point to.
pub(crate) trait Kind {
    /// # Safety
    /// The pointer is live, and not used any more.
    unsafe fn destroy(pointer: *mut Self);
}

/// Types that tenon.h allows on any thread, several at a time. All others may move from thread to
/// thread.
///
/// # Safety
///
/// By the header's rule alone.
pub(crate) unsafe trait AnyThread {}

/// Restricts an object that holds it to one thread at a time: Send, not Sync.
pub(crate) type OneThread = PhantomData<Cell<()>>;

/// An object of the library, destroyed with this.
pub(crate) struct Handle<T: Kind> {
    pointer: NonNull<T>,
}

// SAFETY: the library ties nothing to a thread but last_error, which is read in the call that failed.
unsafe impl<T: Kind> Send for Handle<T> {}
// SAFETY: by AnyThread.
unsafe impl<T: Kind + AnyThread> Sync for Handle<T> {}

impl<T: Kind> Handle<T> {
    /// None for null.
    ///
    /// # Safety
    /// The pointer comes from the library, and is nobody else's to destroy.
    pub(crate) unsafe fn new(pointer: *mut T) -> Option<Self> {
        NonNull::new(pointer).map(|pointer| Self { pointer })
    }

    pub(crate) fn as_ptr(&self) -> *mut T {
        self.pointer.as_ptr()
    }
}

impl<T: Kind> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: it was ours, and nobody has it any more.
        unsafe { T::destroy(self.pointer.as_ptr()) }
    }
}

/// A handle that one thread at a time uses, and any thread may cancel meanwhile.
pub(crate) struct Cancellable<T: Kind>(pub(crate) Handle<T>);

// SAFETY: who shares one, such as a Canceller, only cancels; its owner is a OneThread.
unsafe impl<T: Kind> Sync for Cancellable<T> {}

/// Unwraps the handle of a call that did not fail.
pub(crate) fn made<T: Kind>(handle: Option<Handle<T>>) -> crate::Result<Handle<T>> {
    handle.ok_or_else(|| crate::Error::Internal("the library made nothing".into()))
}
