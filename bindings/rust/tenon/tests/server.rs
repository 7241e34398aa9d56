//! Servers: over HTTP as a client meets them, and asked without a socket; their ends in each order.

mod common;

use common::{block_on, demo, entries, model, root, ONCE};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};
use tenon::*;

const CHAT: &str = "/v1/chat/completions";
const CAPITAL: &str = r#"{"messages": [{"role": "user", "content": "What is the capital of Norway?"}],
    "temperature": 0, "max_tokens": 16}"#;
/// An answer that takes longer than any test.
const ENDLESS: &str = r#"{"messages": [{"role": "user", "content": "Hi"}], "stream": true,
    "max_tokens": 1900, "ignore_eos": true}"#;

/// One that runs, without an address.
fn running() -> Server {
    let mut server = Server::new().unwrap();
    server.add("demo", &model()).unwrap();
    server.start().unwrap();
    server
}

fn content_of(body: &str) -> String {
    let answer: serde_json::Value = serde_json::from_str(body).unwrap();
    answer["choices"][0]["message"]["content"].as_str().unwrap_or(body).to_owned()
}

/// The texts of a stream's events, joined.
fn streamed(events: &str) -> String {
    let data = events.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    data.filter_map(|data| {
        let event: serde_json::Value = serde_json::from_str(data).unwrap();
        event["choices"][0]["delta"]["content"].as_str().map(str::to_owned)
    })
    .collect()
}

/// What a client gets: the head, the body.
fn post(mut stream: impl Read + Write, target: &str, body: &str, headers: &str) -> (String, String) {
    let length = body.len();
    let head = format!("POST {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}");
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    let (head, body) = all.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[test]
fn clients_of_http_are_served() {
    let mut server = Server::new().unwrap();
    server.add("demo", &model()).unwrap();
    let port = server.listen("127.0.0.1", 0).unwrap();
    let path = std::env::temp_dir().join(format!("tenon-rust-{}", std::process::id()));
    server.listen_unix(&path).unwrap();
    server.start().unwrap();
    let (head, body) = post(TcpStream::connect(("127.0.0.1", port)).unwrap(), CHAT, CAPITAL, "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert_eq!(content_of(&body), "The capital of Norway is Oslo.");
    let (head, _) = post(UnixStream::connect(&path).unwrap(), CHAT, CAPITAL, "");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    server.stop(Duration::from_secs(1)).unwrap();
    assert!(!path.exists());
    let start = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_ok() {
        // A process that another test starts has all descriptors for a moment.
        assert!(start.elapsed() < Duration::from_secs(5), "nothing listens any more");
    }
}

#[test]
fn the_program_asks_without_a_socket() {
    let server = running();
    let mut answer = server.request("POST", CHAT, CAPITAL).unwrap();
    let head = answer.head().unwrap();
    assert_eq!((head.status, head.content_type.as_str()), (200, "application/json"));
    assert!(head.header("x-request-id").is_some_and(|id| !id.is_empty()), "{head:?}");
    assert_eq!(content_of(&answer.text().unwrap()), "The capital of Norway is Oslo.");

    let stream = CAPITAL.replace("\"temperature\"", "\"stream\": true, \"temperature\"");
    let mut answer = server.request("POST", CHAT, stream.as_str()).unwrap();
    assert_eq!(answer.head().unwrap().content_type, "text/event-stream");
    let parts: Vec<Vec<u8>> = answer.map(Result::unwrap).collect();
    assert!(parts.len() > 2 && parts.iter().all(|part| !part.is_empty()), "{} parts", parts.len());
    let joined = String::from_utf8(parts.concat()).unwrap();
    assert_eq!(streamed(&joined), "The capital of Norway is Oslo.");
    assert!(joined.ends_with("data: [DONE]\n\n"), "{joined}");

    // What is wrong with a request is in its answer.
    let mut wrong = server.request("POST", CHAT, "{").unwrap();
    assert_eq!(wrong.head().unwrap().status, 400);
    assert!(wrong.next().is_some() && wrong.next().is_none() && wrong.next().is_none());
    assert_eq!(server.request("GET", "/nowhere", "").unwrap().head().unwrap().status, 404);
    assert!(matches!(server.request("GET", "/a\0b", ""), Err(Error::Argument(_))));
}

#[test]
fn tasks_of_any_runtime_take_answers() {
    let server = Arc::new(running());
    let body = CAPITAL.replace("\"temperature\"", "\"stream\": true, \"temperature\"");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async {
        let before = entries("task");
        let tasks: Vec<_> = (0..32)
            .map(|_| {
                let (server, body) = (server.clone(), body.clone());
                tokio::spawn(async move {
                    let mut stream = server.request("POST", CHAT, body)?.into_stream();
                    assert_eq!(stream.head().await?.status, 200);
                    let mut events = Vec::new();
                    while let Some(part) = stream.next().await {
                        events.extend(part?);
                    }
                    assert!(stream.next().await.is_none());
                    Ok::<_, Error>(String::from_utf8(events).unwrap())
                })
            })
            .collect();
        for task in tasks {
            let events = task.await.unwrap().unwrap();
            assert_eq!(streamed(&events), "The capital of Norway is Oslo.");
        }
        // The other tests of this file have some of their own.
        assert!(entries("task") < before + 32, "no thread for a request");
    });
    let text = block_on(server.request("POST", CHAT, CAPITAL).unwrap().into_stream().text()).unwrap();
    assert_eq!(content_of(&text), "The capital of Norway is Oslo.");
    let mut begun = server.request("POST", CHAT, body).unwrap().into_stream();
    block_on(begun.head()).unwrap();
    assert!(streamed(&begun.into_blocking().text().unwrap()).contains("Oslo"));
}

fn under_way(server: &Server) -> usize {
    let slots = server.request("GET", "/slots", "").unwrap().text().unwrap();
    let slots: serde_json::Value = serde_json::from_str(&slots).unwrap();
    slots["data"].as_array().unwrap().len()
}

#[test]
fn what_is_dropped_is_cancelled() {
    let server = running();
    let mut answer = server.request("POST", CHAT, ENDLESS).unwrap();
    assert!(answer.next().unwrap().is_ok());
    assert!(answer.wait(Duration::from_secs(10)).unwrap().is_some());
    assert_eq!(under_way(&server), 1);
    drop(answer);
    let mut stream = server.request("POST", CHAT, ENDLESS).unwrap().into_stream();
    block_on(stream.next()).unwrap().unwrap();
    drop(stream);
    let start = Instant::now();
    while under_way(&server) > 0 {
        assert!(start.elapsed() < Duration::from_secs(2));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn wrong_options_and_orders_are_errors() {
    let argument = |result: Result<Server>, says: &str| match result.err() {
        Some(Error::Argument(sentence)) => assert!(sentence.contains(says), "{sentence}"),
        other => panic!("{other:?}"),
    };
    argument(Server::with(&ServerOptions::new().header_seconds(-1.0)), "negative");
    argument(Server::with(&ServerOptions::new().api_keys("# none\n")), "no key");
    argument(Server::with(&ServerOptions::new().tls_key_file("key.pem")), "certificate");
    argument(Server::with(&ServerOptions::new().cors_origin("a\0b")), "NUL");
    let files = ServerOptions::new().tls_certificate_file("/no.pem").tls_key_file("/no.pem");
    assert!(matches!(Server::with(&files), Err(Error::Io(_) | Error::Unsupported(_))));

    let model = model();
    let engine = Engine::new(&model).unwrap();
    let mut server = Server::new().unwrap();
    assert!(
        matches!(server.request("GET", "/health", ""), Err(Error::State(text)) if text.contains("started"))
    );
    assert!(matches!(server.add("", &model), Err(Error::Argument(_))));
    server.add("demo", Served::from(&model).context(64)).unwrap();
    assert!(matches!(server.add("demo", &engine), Err(Error::Argument(_))));
    let options = EngineOptions::new().set("runing", 8);
    assert!(matches!(server.add("b", Served::from(&model).engine_options(&options)),
        Err(Error::Argument(text)) if text.contains("running")));
    assert!(matches!(
        server.add("c", Served::from(&engine).engine_options(&options)),
        Err(Error::Argument(_))
    ));
    assert!(matches!(server.add_file("d", &ServerModelFile::new("/no.gguf")), Err(Error::Io(_))));
    let file = ServerModelFile::new(demo()).model_options(&ModelOptions::new().set("thraeds", 1));
    assert!(matches!(server.add_file("e", &file), Err(Error::Argument(text)) if text.contains("threads")));
    assert!(matches!(server.listen("no address", 0), Err(Error::Io(_))));
    assert!(matches!(server.listen_unix("/nowhere/socket"), Err(Error::Io(_))));
    server.start().unwrap();
    assert!(matches!(server.add("late", &model), Err(Error::State(_))));
    assert!(matches!(server.listen("127.0.0.1", 0), Err(Error::State(_))));
    server.stop(Duration::ZERO).unwrap();
    assert!(matches!(server.start(), Err(Error::State(_))));
    assert!(matches!(server.request("GET", "/health", ""), Err(Error::State(_))));
    server.stop(Duration::ZERO).unwrap();
    server.run().unwrap(); // as one that was about to
    server.close();
}

#[test]
fn options_arrive() {
    let (lines, log) = mpsc::channel();
    let lines = Mutex::new(lines);
    let options =
        ServerOptions::new().api_keys("secret anna weight=4\n").max_body_bytes(1000).without_page(true);
    let mut server = Server::with_log(&options, LogLevel::Info, move |level, line| {
        lines.lock().unwrap().send((level, line.to_owned())).unwrap();
        std::panic::resume_unwind(Box::new("of a log")); // without a message
    })
    .unwrap();
    let file = ServerModelFile::new(demo())
        .model_options(&ModelOptions::new().threads(1).check_weights(true))
        .engine_options(&EngineOptions::new().running(2))
        .context(256);
    server.add_file("demo", &file).unwrap();
    let port = server.listen("127.0.0.1", 0).unwrap();
    server.start().unwrap();
    let status = |request: ServerRequest| server.submit(&request).unwrap().head().unwrap().status;
    assert_eq!(status(ServerRequest::new("GET", "/v1/models")), 401);
    assert_eq!(status(ServerRequest::new("GET", "/v1/models").api_key("secret")), 200);
    let long = ServerRequest::new("POST", CHAT).api_key("secret");
    assert_eq!(status(long.clone().body(CAPITAL)), 200, "a file is loaded when it is asked for");
    let connect = || TcpStream::connect(("127.0.0.1", port)).unwrap();
    let key = "Authorization: Bearer secret\r\n";
    assert!(post(connect(), CHAT, &" ".repeat(1001), key).0.contains(" 413 "));
    assert!(post(connect(), "/", "", "").0.contains(" 40"));
    let (level, line) = log.recv_timeout(Duration::from_secs(5)).unwrap();
    assert!(level <= LogLevel::Info && serde_json::from_str::<serde_json::Value>(&line).is_ok(), "{line}");
    drop(server);
    while log.recv().is_ok() {} // the log is gone with the server
}

#[test]
fn one_thread_of_the_program_does_all() {
    let mut server = Server::new().unwrap();
    server.add("demo", &model()).unwrap();
    std::thread::scope(|scope| {
        let server = &server;
        let running = scope.spawn(move || server.run());
        let answer = loop {
            match server.request("POST", CHAT, CAPITAL) {
                Err(Error::State(_)) => std::thread::yield_now(), // it is about to run
                other => break other.unwrap(),
            }
        };
        let text = answer.text(); // looked at when the server has been stopped, which a failure would not do
        let stops: Vec<_> =
            (0..4).map(|seconds| scope.spawn(move || server.stop(Duration::from_secs(seconds)))).collect();
        stops.into_iter().for_each(|stop| stop.join().unwrap().unwrap());
        running.join().unwrap().unwrap();
        assert_eq!(content_of(&text.unwrap()), "The capital of Norway is Oslo.");
    });
}

#[test]
fn an_engine_is_shared_and_kept() {
    let engine = Engine::new(&model()).unwrap();
    let mut server = Server::new().unwrap();
    server.add("shared", &engine).unwrap();
    server.start().unwrap();
    let own = engine.stream(ONCE, &Generate::new().max_tokens(3)).unwrap();
    let answer = server.request("POST", CHAT, CAPITAL).unwrap();
    drop(engine);
    assert_eq!(content_of(&answer.text().unwrap()), "The capital of Norway is Oslo.");
    assert!(!block_on(own.text()).unwrap().is_empty());
    assert_eq!(
        content_of(&server.request("POST", CHAT, CAPITAL).unwrap().text().unwrap()),
        "The capital of Norway is Oslo."
    );
}

#[test]
fn each_order_of_ends_is_an_error_at_most() {
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
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
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
