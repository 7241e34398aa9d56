//! Threads, processes, other libraries, and the ends of things.

mod common;

use common::{demo, entries, greedy, model, ONCE};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tenon::*;

fn options(tokens: u64) -> Generate<'static> {
    Generate::new().max_tokens(tokens).sampling(greedy())
}

#[test]
fn cancel_comes_from_another_thread() {
    let model = model();
    let mut session = Session::new(&model).unwrap();
    let canceller = session.canceller();
    let forever = Generate::new().ignore_end(true);
    let mut request = session.submit(&"word ".repeat(450), &forever).unwrap();
    let of_request = request.canceller();
    let result = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            of_request.cancel().unwrap();
        });
        request.try_for_each(|piece| piece.map(|_| ()))
    });
    assert!(matches!(result, Err(Error::Cancelled(_))), "{result:?}");
    assert!(request.next().is_none());
    drop(request);
    session.rewind(1).unwrap();
    canceller.cancel().unwrap(); // the next call
    assert!(matches!(session.prefill(), Err(Error::Cancelled(_))));
    assert!(!session.generate((), &options(2)).unwrap().text().unwrap().is_empty());
}

#[test]
fn a_busy_session_refuses_and_a_dropped_one_ends_its_request() {
    let model = model();
    let mut session = Session::new(&model).unwrap();
    let mut request = session.submit(ONCE, &Generate::new().ignore_end(true)).unwrap();
    assert!(matches!(session.append("more"), Err(Error::State(_))));
    assert!(request.wait(Duration::ZERO).unwrap().is_none());
    assert!(request.wait(Duration::from_secs(10)).unwrap().is_some());
    drop(session);
    let ends = request.try_for_each(|piece| piece.map(|_| ()));
    assert!(matches!(ends, Err(Error::Cancelled(_))), "{ends:?}");
}

#[test]
fn an_abandoned_generation_lets_the_session_go() {
    let model = model();
    let mut session = Session::new(&model).unwrap();
    let first = session.generate(ONCE, &options(50)).unwrap().next();
    assert!(first.is_some());
    session.append("more").unwrap();
}

#[test]
fn nothing_but_handles_keeps_memory() {
    struct Counted(Vec<u8>, #[allow(dead_code)] std::sync::Arc<()>);
    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let count = std::sync::Arc::new(());
    let bytes = Counted(std::fs::read(demo()).unwrap(), count.clone());
    let model = Model::loader([Source::bytes(bytes)]).load().unwrap();
    let (tokenizer, mut session) = (model.tokenizer().unwrap(), Session::new(&model).unwrap());
    drop(model);
    assert_eq!(session.generate(ONCE, &options(2)).unwrap().text().unwrap(), " there was");
    drop(session);
    assert!(!tokenizer.encode("fox").unwrap().is_empty());
    assert_eq!(std::sync::Arc::strong_count(&count), 2);
    drop(tokenizer);
    assert_eq!(std::sync::Arc::strong_count(&count), 1, "freed with the last of the model");
}

#[test]
fn a_panic_of_progress_goes_on_from_prefill() {
    let model = model();
    let mut session = Session::new(&model).unwrap();
    session.append(&"word ".repeat(300)).unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        session.prefill_with(|_| std::panic::panic_any("thrown"))
    }));
    assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"thrown"));
    session.rewind(0).unwrap();
    session.append(ONCE).unwrap();
    let end = session.prefill_with(|_| ControlFlow::Break(()));
    assert!(matches!(end, Err(Error::Cancelled(_))));
    assert_eq!(session.generate((), &options(2)).unwrap().text().unwrap(), " there was");
}

#[test]
fn a_hundred_sessions_leak_no_descriptor() {
    let model = model();
    let before = entries("fd");
    for _ in 0..100 {
        Session::new(&model).unwrap().generate(ONCE, &options(1)).unwrap().text().unwrap();
    }
    // Other tests open some, too.
    assert!(entries("fd") < before + 50);
}

// ---- Processes -----------------------------------------------------------------------------------

/// Runs an ignored test of this file in a process of its own; what it printed after "answer:".
fn in_a_process(test: &str, variable: &str, value: &Path) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--ignored", "--test-threads=1"])
        .env(variable, value)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said.lines().filter_map(|line| line.split("answer: ").nth(1)).collect::<Vec<_>>().join("\n")
}

extern "C" {
    fn fork() -> i32;
    fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

#[test]
fn objects_of_the_parent_are_refused_in_a_child() {
    let path = std::env::temp_dir().join(format!("tenon-child-{}", std::process::id()));
    assert_eq!(in_a_process("forks", "TENON_TEST_CHILD", &path), "parent:  there was; streams: ok");
    let child = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(child.contains("before fork()") && child.ends_with("| there was"), "{child}");
}

#[test]
#[ignore = "a process of its own, which forks"]
fn forks() {
    let model = model();
    let mut session = Session::new(&model).unwrap();
    session.append(ONCE).unwrap();
    let engine = Engine::new(&model).unwrap();
    let mut stream = engine.stream(ONCE, &options(3)).unwrap();
    common::block_on(stream.next()).unwrap().unwrap();
    // SAFETY: the child touches nothing that a thread of the parent may have locked, but the allocator,
    // which takes care of itself.
    let child = unsafe { fork() };
    if child == 0 {
        let refused = session.prefill().unwrap_err().to_string();
        drop((session, stream, engine));
        let fresh = common::model();
        let text = Session::new(&fresh).unwrap().generate(ONCE, &options(2)).unwrap().text().unwrap();
        std::fs::write(std::env::var_os("TENON_TEST_CHILD").unwrap(), format!("{refused}|{text}")).unwrap();
        // SAFETY: it ends the process.
        unsafe { _exit(0) }
    }
    let mut status = 0;
    // SAFETY: the child is ours.
    unsafe { waitpid(child, &mut status, 0) };
    assert_eq!(status, 0);
    let rest = common::block_on(stream.text());
    let text = session.generate((), &options(2)).unwrap().text().unwrap();
    println!("\nanswer: parent: {text}; streams: {}", if rest.is_ok() { "ok" } else { "fail" });
}

// ---- Other libraries -----------------------------------------------------------------------------

/// A shared library of these lines of C.
fn library_of(name: &str, source: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("tenon-library-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (code, library) = (folder.join(format!("{name}.c")), folder.join(format!("lib{name}.so")));
    std::fs::write(&code, source).unwrap();
    let status = Command::new("cc").args(["-shared", "-fPIC"]).arg(&code).arg("-o").arg(&library).status();
    assert!(status.expect("a C compiler is there").success());
    library
}

fn described(name: &str, description: &serde_json::Value) -> PathBuf {
    let text = serde_json::to_string(&description.to_string()).unwrap();
    library_of(
        name,
        &format!(
            "const char* tenon_interface_description(void) {{ return {text}; }}\n\
             const char* tenon_version_text(void) {{ return \"0.9.0\"; }}\n"
        ),
    )
}

fn description() -> serde_json::Value {
    let mut interface: serde_json::Value = serde_json::from_str(
        &std::fs::read_to_string(common::root().join("bindings/interface.json")).unwrap(),
    )
    .unwrap();
    for member in ["functions", "structs", "constants", "callbacks"] {
        for item in interface[member].as_array_mut().unwrap() {
            item.as_object_mut().unwrap().remove("doc");
        }
    }
    interface
}

fn refusal(path: &Path) -> String {
    match check_library(path) {
        Err(Error::Unsupported(sentence)) => sentence,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_library_that_does_not_fit_is_refused_with_a_sentence() {
    let mut interface = description();
    let pieces = interface["structs"].as_array_mut().unwrap();
    let piece = pieces.iter_mut().find(|item| item["name"] == "tenon_piece").unwrap();
    piece["fields"][1]["offset"] = 8.into();
    let sentence = refusal(&described("moved", &interface));
    assert!(sentence.contains("libtenon 0.9.0, which does not fit this binding"), "{sentence}");
    assert!(sentence.contains("tenon_piece.token lies at byte 8, not at 4"), "{sentence}");
    let old = library_of("old", "const char* tenon_version_text(void) { return \"0.0.1\"; }\n");
    assert!(refusal(&old).contains("too old"));
    let none = library_of("none", "const char* tenon_interface_description(void) { return 0; }\n");
    assert!(refusal(&none).contains("too old"));
    let prose = library_of("prose", "const char* tenon_interface_description(void) { return \"no\"; }\n");
    assert!(refusal(&prose).contains("in JSON: byte 0"));
    let text = std::env::temp_dir().join(format!("tenon-text-{}.so", std::process::id()));
    std::fs::write(&text, "no library").unwrap();
    assert!(refusal(&text).contains("no libtenon was found"));
    std::fs::remove_file(text).unwrap();
}

#[test]
fn an_older_library_lacks_functions_and_says_so() {
    let mut interface = description();
    interface["functions"].as_array_mut().unwrap().truncate(1);
    let library = described("older", &interface);
    assert_eq!(
        in_a_process("meets_an_older_library", "TENON_TEST_LIBRARY", &library),
        "libtenon 0.9.0 has no function tenon_tokenizer_open"
    );
}

#[test]
#[ignore = "a process of its own, with another library"]
fn meets_an_older_library() {
    use_library(std::env::var_os("TENON_TEST_LIBRARY").unwrap()).unwrap();
    let Err(Error::Unsupported(sentence)) = Tokenizer::open("file") else { panic!("it has the function") };
    println!("\nanswer: {sentence}");
}

#[test]
fn work_under_way_ends_with_its_owners() {
    let model = model();
    let start = Instant::now();
    let engine = Engine::new(&model).unwrap();
    let long = "word ".repeat(450);
    let streams: Vec<_> = (0..6).map(|_| engine.stream(&long, &Generate::new()).unwrap()).collect();
    drop(streams);
    drop(engine);
    assert!(start.elapsed() < Duration::from_secs(2));
}
