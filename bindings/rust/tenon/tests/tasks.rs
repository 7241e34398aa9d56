//! async: no runtime of its own, one thread for each engine, none for a request; tokio as one of many.

mod common;

use common::{block_on, entries, greedy, model, ONCE};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use tenon::*;

/// The tests count threads.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn options(tokens: u64) -> Generate<'static> {
    Generate::new().max_tokens(tokens).sampling(greedy())
}

#[test]
fn a_stream_brings_what_an_iterator_does() {
    let _alone = alone();
    let engine = Engine::new(&model()).unwrap();
    let by_iterator: Result<Vec<Piece>> = engine.generate(ONCE, &options(12)).unwrap().collect();
    let by_task = block_on(async {
        let mut stream = engine.stream(ONCE, &options(12))?;
        let mut pieces = Vec::new();
        while let Some(piece) = stream.next().await {
            pieces.push(piece?);
        }
        assert!(stream.next().await.is_none());
        Ok::<_, Error>(pieces)
    });
    assert_eq!(by_iterator.unwrap(), by_task.unwrap());
}

#[test]
#[cfg(feature = "stream")]
fn a_stream_is_a_stream_of_futures_core() {
    let _alone = alone();
    fn texts(stream: impl futures_core::Stream<Item = Result<Piece>>) -> Vec<String> {
        let mut stream = pin!(stream);
        block_on(std::future::poll_fn(|context| {
            let mut texts = Vec::new();
            // As far as there is one; a poll that is pending starts again with what came.
            loop {
                match stream.as_mut().poll_next(context) {
                    Poll::Ready(Some(piece)) => texts.push(piece.unwrap().text),
                    Poll::Ready(None) => return Poll::Ready(texts),
                    Poll::Pending if texts.is_empty() => return Poll::Pending,
                    Poll::Pending => return Poll::Ready(texts),
                }
            }
        }))
    }
    let model = model();
    assert_eq!(texts(Engine::new(&model).unwrap().stream(ONCE, &options(1)).unwrap()), [" there"]);
}

#[test]
fn a_session_streams_and_goes_on() {
    let _alone = alone();
    let mut session = Session::new(&model()).unwrap();
    let text = block_on(session.stream(ONCE, &options(5)).unwrap().text());
    assert_eq!(text.unwrap(), " there was a lonely owl");
    let first = session.generate((), &options(1)).unwrap().text().unwrap();
    assert_eq!(first, " named");
}

#[test]
fn two_hundred_requests_share_one_thread() {
    let _alone = alone();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap();
    let engine = Engine::with(&model(), &EngineOptions::new().running(200)).unwrap();
    runtime.block_on(async {
        engine.stream(ONCE, &options(2)).unwrap().text().await.unwrap();
        let before = entries("task");
        let most = Arc::new(AtomicUsize::new(before));
        let tasks: Vec<_> = (0..200)
            .map(|_| {
                let (stream, most) = (engine.stream(ONCE, &options(8)).unwrap(), most.clone());
                tokio::spawn(async move {
                    let text = stream.text().await;
                    most.fetch_max(entries("task"), Ordering::Relaxed);
                    text
                })
            })
            .collect();
        for task in tasks {
            assert_eq!(task.await.unwrap().unwrap(), " there was a lonely owl named Omar.");
        }
        assert_eq!(most.load(Ordering::Relaxed), before);
    });
}

#[test]
fn dropping_the_task_cancels_the_request() {
    let _alone = alone();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let engine = Engine::new(&model()).unwrap();
    runtime.block_on(async {
        let mut session = engine.open_session(&SessionOptions::new()).unwrap();
        {
            let mut stream = session.stream(&"word ".repeat(450), &Generate::new()).unwrap();
            let waited = tokio::time::timeout(Duration::from_millis(1), stream.next()).await;
            assert!(waited.is_err(), "the prompt takes longer");
        }
        session.rewind(1).unwrap(); // the session is let go
        let stream = engine.stream(&"word ".repeat(450), &Generate::new()).unwrap();
        let task = tokio::spawn(stream.text());
        tokio::time::sleep(Duration::from_millis(2)).await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    });
    // What a task leaves is ended by the engine's thread.
    let start = Instant::now();
    while engine.stats().unwrap().cancelled < 2 && start.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(engine.stats().unwrap().cancelled, 2);
}

#[test]
fn a_dropped_future_loses_no_piece() {
    let _alone = alone();
    let engine = Engine::new(&model()).unwrap();
    let mut stream = engine.stream(ONCE, &options(6)).unwrap();
    let mut text = String::new();
    let mut polls = 0;
    let waker = Waker::noop();
    loop {
        // A future of its own for each poll.
        polls += 1;
        match pin!(stream.next()).poll(&mut Context::from_waker(waker)) {
            Poll::Ready(Some(piece)) => text.push_str(&piece.unwrap()),
            Poll::Ready(None) => break,
            Poll::Pending => std::thread::sleep(Duration::from_micros(200)),
        }
    }
    assert_eq!(text, " there was a lonely owl named");
    assert!(polls >= 7);
}

#[test]
fn cancel_and_deadline_come_out_of_a_task() {
    let _alone = alone();
    let engine = Engine::new(&model()).unwrap();
    let long = "word ".repeat(450);
    let late = engine.stream(&long, &Generate::new().timeout(Duration::from_nanos(1))).unwrap();
    assert!(matches!(block_on(late.text()), Err(Error::Deadline(_))));
    let stream = engine.stream(&long, &Generate::new()).unwrap();
    let canceller = stream.canceller();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(2));
        canceller.cancel().unwrap();
        canceller
    });
    assert!(matches!(block_on(stream.text()), Err(Error::Cancelled(_))));
    thread.join().unwrap().cancel().unwrap(); // what is gone is not cancelled
}

#[test]
fn a_stream_outlives_engine_and_model_handles() {
    let _alone = alone();
    let stream = {
        let model = model();
        Engine::new(&model).unwrap().stream(ONCE, &options(2)).unwrap()
    };
    assert_eq!(block_on(stream.text()).unwrap(), " there was");
}

#[test]
fn it_moves_from_an_iterator_to_a_task_and_back() {
    let _alone = alone();
    let mut generation = Engine::new(&model()).unwrap().generate(ONCE, &options(4)).unwrap();
    let first = generation.next().unwrap().unwrap();
    let mut stream = generation.into_stream();
    let second = block_on(stream.next()).unwrap().unwrap();
    let rest = stream.into_blocking().text().unwrap();
    assert_eq!(format!("{first}{second}{rest}"), " there was a lonely");
}

#[test]
fn the_thread_of_an_engine_ends_with_it() {
    let _alone = alone();
    let model = model();
    let before = entries("task");
    for _ in 0..20 {
        block_on(Engine::new(&model).unwrap().stream(ONCE, &options(1)).unwrap().text()).unwrap();
    }
    let start = Instant::now();
    // Those of other tests may end meanwhile, too.
    while entries("task") > before {
        assert!(start.elapsed() < Duration::from_secs(5), "{} threads, {before} before", entries("task"));
        std::thread::sleep(Duration::from_millis(1));
    }
}

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("of a waker");
    }
}

#[test]
fn a_waker_that_panics_is_survived() {
    let _alone = alone();
    let engine = Engine::new(&model()).unwrap();
    let mut stream = engine.stream(ONCE, &options(3)).unwrap();
    let waker = Waker::from(Arc::new(Panics));
    let mut context = Context::from_waker(&waker);
    let start = Instant::now();
    let mut count = 0;
    while count < 3 {
        if let Poll::Ready(piece) = stream.poll_piece(&mut context) {
            piece.unwrap().unwrap();
            count += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
        assert!(start.elapsed() < Duration::from_secs(60));
    }
}
