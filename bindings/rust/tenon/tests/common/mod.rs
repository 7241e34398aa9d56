//! What tests share: the demo model, seeded dice, an executor of a few lines.
#![allow(dead_code)]

use std::future::Future;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

pub const ONCE: &str = "Once upon a time";

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

pub fn demo() -> PathBuf {
    root().join("examples/models/demo-q8_0.gguf")
}

pub fn model() -> tenon::Model {
    tenon::Model::open_with(demo(), &tenon::ModelOptions::new().threads(2)).expect("the demo model opens")
}

/// Whether the library was built with its server: without Boost it is not, and test.sh says so.
pub fn has_server() -> bool {
    tenon::library_path().is_ok_and(|path| path.with_file_name(tenon::sys::SERVER_FILE_NAME).exists())
}

pub fn greedy() -> tenon::SamplerOptions {
    tenon::SamplerOptions::new().temperature(0.0)
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread: all of an executor that the binding needs.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value;
        }
        std::thread::park();
    }
}

/// SplitMix64.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }
}

/// How many entries a folder of /proc/self has.
pub fn entries(folder: &str) -> usize {
    std::fs::read_dir(format!("/proc/self/{folder}")).expect("/proc is there").count()
}
