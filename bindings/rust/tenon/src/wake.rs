//! Notifications of the library: the tasks they wake, and objects that they drop.

use std::cell::Cell;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::thread;

thread_local! {
    /// True while this thread is in a function that the library calls and that must not call it.
    static IS_CALLED: Cell<bool> = const { Cell::new(false) };
}

/// True if this thread is in such a function.
pub(crate) fn is_called() -> bool {
    IS_CALLED.get()
}

/// Runs such a function, which is foreign code: its panic cannot be reported.
pub(crate) fn called(function: impl FnOnce()) {
    let outer = IS_CALLED.replace(true);
    let _ = catch_unwind(AssertUnwindSafe(function));
    IS_CALLED.set(outer);
}

/// Runs a function that calls the library: on a new thread if this one must not. If no thread can
/// start, it is not run.
pub(crate) fn on_a_free_thread(function: impl FnOnce() + Send + 'static) {
    if !is_called() {
        return function();
    }
    // Its captures must not be dropped on this thread.
    let function = ManuallyDrop::new(function);
    let _ =
        thread::Builder::new().name("tenon-end".into()).spawn(move || ManuallyDrop::into_inner(function)());
}

/// An object of the library whose drop waits for a running notification. A waker can drop it: with
/// the task, if the task has no other owner left.
pub(crate) struct Apart<T: Send + 'static>(ManuallyDrop<T>);

impl<T: Send + 'static> Apart<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }
}

impl<T: Send + 'static> Deref for Apart<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + 'static> Drop for Apart<T> {
    fn drop(&mut self) {
        // SAFETY: it is not used any more.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        on_a_free_thread(move || drop(value));
    }
}

/// The waker to call when something is ready.
#[derive(Default)]
pub(crate) struct Notified(Mutex<Option<Waker>>);

impl Notified {
    /// Sets the waker.
    pub(crate) fn set(&self, waker: &Waker) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !place.as_ref().is_some_and(|other| other.will_wake(waker)) {
            *place = Some(waker.clone());
        }
    }

    /// `user` of on_notify, valid as long as this.
    pub(crate) fn user(self: &Arc<Self>) -> *mut c_void {
        Arc::as_ptr(self).cast_mut().cast()
    }
}

/// # Safety
/// `user` is that of a Notified.
pub(crate) unsafe extern "C" fn on_notify(user: *mut c_void) {
    // SAFETY: the caller's.
    let notified = unsafe { &*user.cast::<Notified>() };
    let waker = notified.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(waker) = waker {
        called(|| waker.wake());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_waits_is_woken_once_for_each_time_it_waits() {
        let (notified, count) = (Arc::<Notified>::default(), Arc::<Count>::default());
        // SAFETY: it lives during the call.
        let notify = |place: &Arc<Notified>| unsafe { on_notify(place.user()) };
        notify(&notified);
        let waker = Waker::from(count.clone());
        for _ in 0..3 {
            notified.set(&waker);
            notified.set(&waker);
            let place = notified.clone();
            std::thread::spawn(move || (notify(&place), notify(&place))).join().unwrap();
        }
        assert_eq!(count.0.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn what_a_notification_drops_ends_on_another_thread() {
        struct Told(std::sync::mpsc::Sender<thread::ThreadId>);
        impl Drop for Told {
            fn drop(&mut self) {
                self.0.send(thread::current().id()).unwrap();
            }
        }
        let (sender, ends) = std::sync::mpsc::channel();
        let here = thread::current().id();
        let value = Apart::new(Told(sender.clone()));
        called(|| called(|| drop(value)));
        assert_ne!(ends.recv().unwrap(), here);
        called(|| panic!("of a waker"));
        assert!(!is_called());
        drop(Apart::new(Told(sender)));
        assert_eq!(ends.recv().unwrap(), here);
    }
}
