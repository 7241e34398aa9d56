//! The ends of servers and their answers: in each order, by wakers, in processes that fork and exit; and libraries
//! that are none of theirs.

mod common;
#[path = "common/serving.rs"]
mod serving;

use common::{block_on, demo, has_server, model, root, ONCE};
use serving::{content_of, running, CAPITAL, CHAT, ENDLESS};
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use tenon::*;

#[test]
fn each_order_of_ends_is_an_error_at_most() {
    if !has_server() {
        return;
    }
    // The answer outlives its server, and what was there has been taken.
    let server = running();
    let mut answer = server.request("POST", CHAT, ENDLESS).unwrap();
    let mut stream = server.request("POST", CHAT, ENDLESS).unwrap().into_stream();
    let quick = server.request("GET", "/health", "").unwrap();
    answer.head().unwrap();
    block_on(stream.head()).unwrap();
    drop(server);
    let end = loop {
        match answer.next() {
            Some(Ok(_)) => {}
            other => break other,
        }
    };
    assert!(matches!(end, Some(Err(Error::Cancelled(_)))), "{end:?}");
    assert!(answer.next().is_none() && answer.wait(Duration::ZERO).unwrap().is_none());
    let end = block_on(stream.bytes());
    assert!(matches!(end, Err(Error::Cancelled(_))), "{end:?}");
    drop(quick);
    drop(answer);

    // Stopped while a thread waits.
    let server = running();
    let mut answer = server.request("POST", CHAT, ENDLESS).unwrap();
    answer.head().unwrap();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(move || answer.find_map(Result::err));
        server.stop(Duration::ZERO).unwrap();
        assert!(matches!(waiting.join().unwrap(), Some(Error::Cancelled(_))));
    });

    // Everything else first: the server keeps what it serves.
    let bytes = Arc::new(std::fs::read(demo()).unwrap());
    struct Shared(Arc<Vec<u8>>);
    impl AsRef<[u8]> for Shared {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let model = Model::loader([Source::bytes(Shared(bytes.clone()))]).load().unwrap();
    let mut server = Server::new().unwrap();
    server.add("demo", &model).unwrap();
    drop(model);
    server.start().unwrap();
    let answer = server.request("POST", CHAT, CAPITAL).unwrap();
    assert_eq!(content_of(&answer.text().unwrap()), "The capital of Norway is Oslo.");
    let late = server.request("POST", CHAT, ENDLESS).unwrap();
    drop(server);
    assert_eq!(Arc::strong_count(&bytes), 2, "an answer keeps it");
    drop(late);
    assert_eq!(Arc::strong_count(&bytes), 1, "freed with the last of the server");
}

/// A waker that owns what it wakes, and ends it when it is woken: a task whose executor is gone.
struct Owner<T: Send>(Mutex<Option<T>>, AtomicUsize);

impl<T: Send> Wake for Owner<T> {
    fn wake(self: Arc<Self>) {
        let task = self.0.lock().unwrap().take();
        drop(task);
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

/// Polls something once, which then has no owner but its waker; waits until that has been woken.
fn abandon<T: Send + 'static>(task: T, poll: impl FnOnce(&mut T, &mut Context<'_>) -> bool) {
    let owner = Arc::new(Owner(Mutex::new(Some(task)), AtomicUsize::new(0)));
    let waker = Waker::from(owner.clone());
    let mut task = owner.0.lock().unwrap();
    let is_pending = poll(task.as_mut().unwrap(), &mut Context::from_waker(&waker));
    drop(task);
    assert!(is_pending);
    let start = Instant::now();
    while owner.1.load(Ordering::Relaxed) == 0 {
        assert!(start.elapsed() < Duration::from_secs(10), "the wake does not return");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_task_may_end_with_its_waker() {
    if !has_server() {
        return;
    }
    let server = running();
    let stream = server.request("POST", CHAT, ENDLESS).unwrap().into_stream();
    abandon(stream, |stream, context| stream.poll_part(context).is_pending());
    let stream = server.request("POST", CHAT, ENDLESS).unwrap().into_stream();
    abandon((stream, server), |(stream, _), context| stream.poll_part(context).is_pending());
    let engine = Engine::new(&model()).unwrap();
    let stream = engine.stream(ONCE, &Generate::new()).unwrap();
    abandon(stream, |stream, context| stream.poll_piece(context).is_pending());
    let stream = engine.stream(ONCE, &Generate::new()).unwrap();
    abandon((stream, engine), |(stream, _), context| stream.poll_piece(context).is_pending());
}

#[test]
fn what_the_library_calls_may_not_call_the_server() {
    if !has_server() {
        return;
    }
    struct Asks(Arc<Server>, mpsc::Sender<Option<Error>>);
    impl Wake for Asks {
        fn wake(self: Arc<Self>) {
            self.1.send(self.0.request("GET", "/health", "").err()).unwrap();
            self.1.send(self.0.stop(Duration::ZERO).err()).unwrap();
        }
    }
    let (sender, errors) = mpsc::channel();
    let server = Arc::new(running());
    let mut stream = server.request("POST", CHAT, ENDLESS).unwrap().into_stream();
    let waker = Waker::from(Arc::new(Asks(server, sender)));
    assert!(matches!(stream.poll_part(&mut Context::from_waker(&waker)), Poll::Pending));
    for _ in 0..2 {
        let error = errors.recv_timeout(Duration::from_secs(10)).unwrap();
        assert!(matches!(error, Some(Error::State(_))), "{error:?}");
    }
}

// ---- Processes -----------------------------------------------------------------------------------

extern "C" {
    fn fork() -> i32;
    fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// Runs an ignored test of this file in a process of its own.
fn in_a_process(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--ignored", "--test-threads=1"]);
    command
}

#[test]
fn a_child_of_fork_is_refused_and_leaves_the_server_alone() {
    if !has_server() {
        return;
    }
    let output = in_a_process("forks").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "a process of its own, which forks"]
fn forks() {
    let server = running();
    let mut answer = server.request("POST", CHAT, ENDLESS).unwrap();
    answer.head().unwrap();
    // SAFETY: the child touches nothing that a thread of the parent may have locked, but the allocator.
    let child = unsafe { fork() };
    if child == 0 {
        let refused = matches!(server.request("GET", "/health", ""), Err(Error::State(text)) if text.contains("fork"))
            && matches!(server.stop(Duration::from_secs(9)), Err(Error::State(_)))
            && matches!(answer.next(), Some(Ok(_)) | Some(Err(Error::State(_))))
            && matches!(answer.wait(Duration::from_secs(9)), Ok(None) | Err(Error::State(_)));
        drop((answer, server));
        let fresh = running();
        let text = fresh.request("POST", CHAT, CAPITAL).unwrap().text().unwrap();
        drop(fresh);
        // SAFETY: it ends the process.
        unsafe { _exit(i32::from(!refused || !text.contains("Oslo"))) }
    }
    let mut status = 0;
    // SAFETY: the child is ours.
    unsafe { waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    assert!(answer.next().unwrap().is_ok());
    assert!(server.request("POST", CHAT, CAPITAL).unwrap().text().unwrap().contains("Oslo"));
}

#[test]
fn exit_waits_for_no_answer() {
    if !has_server() {
        return;
    }
    // The least of three: the machine may have had something else to do.
    let took = (0..3).map(|_| exit_took()).min().unwrap();
    assert!(took < Duration::from_millis(500), "{took:?}");
}

fn exit_took() -> Duration {
    let mut child = in_a_process("exits").stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut stdout = child.stdout.take().unwrap();
    while !said.contains("exits now") {
        let mut byte = [0];
        assert_eq!(stdout.read(&mut byte).unwrap(), 1, "{said}");
        said.push(byte[0].into());
    }
    let start = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(7));
    start.elapsed()
}

#[test]
#[ignore = "a process of its own, which exits"]
fn exits() {
    static SERVER: Mutex<Option<Server>> = Mutex::new(None);
    let server = running();
    let answers: Vec<_> = (0..4).map(|_| server.request("POST", CHAT, ENDLESS).unwrap()).collect();
    *SERVER.lock().unwrap() = Some(server);
    std::thread::spawn(move || answers.into_iter().for_each(|answer| answer.for_each(drop)));
    std::thread::sleep(Duration::from_millis(50));
    println!("exits now");
    std::process::exit(7);
}

// ---- Other libraries -----------------------------------------------------------------------------

/// The message of a library, made from these lines of C and linked with the libtenon in use, when it is checked.
fn refusal(name: &str, source: &str, is_linked: bool) -> String {
    let folder = std::env::temp_dir().join(format!("tenon-server-library-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (code, library) = (folder.join("code.c"), folder.join("libtenon-server.so"));
    std::fs::write(&code, source).unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC"]).arg(&code).arg("-o").arg(&library);
    if is_linked {
        cc.arg("-Wl,--no-as-needed").arg(library_path().unwrap());
    }
    assert!(cc.status().expect("a C compiler is there").success());
    let checked = check_server_library(&library);
    std::fs::remove_dir_all(folder).unwrap();
    match checked {
        Err(Error::Unsupported(sentence)) => sentence,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_library_that_does_not_fit_is_refused_with_a_sentence() {
    if !has_server() {
        return;
    }
    let text = std::fs::read_to_string(root().join("bindings/server_interface.json")).unwrap();
    let mut interface: serde_json::Value = serde_json::from_str(&text).unwrap();
    interface["structs"][0]["fields"][1]["offset"] = 8.into();
    interface["version"] = "0.9.0".into();
    let described = serde_json::to_string(&interface.to_string()).unwrap();
    let describes =
        format!("const char* tenon_server_interface_description(void) {{ return {described}; }}\n");
    let sentence = refusal("moved", &describes, true);
    assert!(sentence.contains("libtenon-server 0.9.0, which does not fit this binding"), "{sentence}");
    assert!(sentence.contains("tenon_server_options.without_page lies at byte 8, not at 4"), "{sentence}");
    let sentence = refusal("old", "int nothing;\n", true);
    assert!(sentence.contains("too old"), "{sentence}");
    let other = format!("{describes}const char* tenon_version_text(void) {{ return \"0.1.0\"; }}\n");
    let sentence = refusal("other", &other, false);
    assert!(sentence.contains("uses another libtenon"), "{sentence}");
    let missing = check_server_library("/nowhere/libtenon-server.so").unwrap_err();
    assert!(missing.to_string().contains("libtenon-server, which was not found"), "{missing}");
    check_server_library(library_path().unwrap().with_file_name(sys::SERVER_FILE_NAME)).unwrap();
}

#[test]
fn a_program_without_the_library_learns_so_at_its_first_server() {
    if !has_server() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("tenon-alone-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(library_path().unwrap(), folder.join(sys::FILE_NAME)).unwrap();
    let output =
        in_a_process("has_no_server_library").env("TENON_TEST_LIBRARY", folder.join(sys::FILE_NAME)).output();
    let output = output.unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "a process of its own, with another library"]
fn has_no_server_library() {
    use_library(std::env::var_os("TENON_TEST_LIBRARY").unwrap()).unwrap();
    let text = Session::new(&model()).unwrap().generate(ONCE, &Generate::new().max_tokens(1)).unwrap().text();
    assert!(text.is_ok());
    let Err(Error::Unsupported(sentence)) = Server::new() else { panic!("there is one") };
    assert!(sentence.contains("needs libtenon-server"), "{sentence}");
}
