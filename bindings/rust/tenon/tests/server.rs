//! Servers: over HTTP as a client meets them, and asked without a socket. Their ends are in server_ends.rs.

mod common;
#[path = "common/serving.rs"]
mod serving;

use common::{block_on, demo, entries, has_server, model, ONCE};
use serving::{content_of, running, CAPITAL, CHAT, ENDLESS};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::{mpsc, Arc, Mutex};
use std::time::{Duration, Instant};
use tenon::*;

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
    if !has_server() {
        return;
    }
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
    if !has_server() {
        return;
    }
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
    assert!(parts.iter().all(|part| !part.is_empty()));
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
    if !has_server() {
        return;
    }
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
    if !has_server() {
        return;
    }
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
        assert!(start.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn wrong_options_and_orders_are_errors() {
    if !has_server() {
        return;
    }
    let argument = |result: Result<Server>, says: &str| match result.err() {
        Some(Error::Argument(sentence)) => assert!(sentence.contains(says), "{sentence}"),
        other => panic!("{other:?}"),
    };
    argument(Server::with(&ServerOptions::new().header_seconds(-1.0)), "negative");
    argument(Server::with(&ServerOptions::new().api_keys("# none\n")), "no key");
    argument(Server::with(&ServerOptions::new().tls_key_file("key.pem")), "certificate");
    argument(Server::with(&ServerOptions::new().cors_origin("a\0b")), "NUL");
    let files = ServerOptions::new().tls_certificate_file("/no.pem").tls_key_file("/no.pem");
    assert!(matches!(Server::with(&files), Err(Error::Io(..) | Error::Unsupported(_))));

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
    assert!(matches!(server.add_file("d", &ServerModelFile::new("/no.gguf")), Err(Error::Io(..))));
    let file = ServerModelFile::new(demo()).model_options(&ModelOptions::new().set("thraeds", 1));
    assert!(matches!(server.add_file("e", &file), Err(Error::Argument(text)) if text.contains("threads")));
    assert!(matches!(server.listen("no address", 0), Err(Error::Io(..))));
    assert!(matches!(server.listen_unix("/nowhere/socket"), Err(Error::Io(..))));
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
    if !has_server() {
        return;
    }
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
    if !has_server() {
        return;
    }
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
    if !has_server() {
        return;
    }
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
