//! The README's Rust is compiled and run, and so is each example, beside the demo model.

mod common;

use common::root;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

/// Where cargo has put the crates of this test.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

fn crate_of(name: &str) -> PathBuf {
    let prefix = format!("lib{name}-");
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(&prefix) && name.ends_with(".rlib")
    };
    let files = std::fs::read_dir(built()).unwrap().map(|entry| entry.unwrap().path());
    let modified =
        |path: &PathBuf| path.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    files.filter(is_it).max_by_key(modified).unwrap_or_else(|| panic!("{name} is not built"))
}

/// What a program prints that is run beside the demo model.
fn said(program: &Path, input: &str) -> String {
    let mut child = Command::new(program)
        .current_dir(root().join("examples/models"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success(),
        "{}: {text}{}",
        program.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    text
}

#[test]
fn what_the_readme_shows_runs() {
    let text = std::fs::read_to_string(root().join("bindings/rust/README.md")).unwrap();
    let blocks: Vec<&str> =
        text.split("```rust\n").skip(1).map(|block| block.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 8);
    assert!(blocks[0].lines().count() <= 5);
    let has_server = common::has_server();
    let blocks: Vec<&str> =
        blocks.into_iter().filter(|block| has_server || !block.contains("Server::new()")).collect();
    // Each is a function of one program; what they print comes one after another.
    let functions = blocks.iter().enumerate().map(|(index, block)| {
        format!("fn part_{index}() -> Result<(), Box<dyn std::error::Error>> {{\n{block}println!();\nOk(())\n}}\n")
    });
    let calls = (0..blocks.len()).map(|index| format!("part_{index}()?;"));
    let program = format!(
        "{}fn main() -> Result<(), Box<dyn std::error::Error>> {{ {} Ok(()) }}",
        functions.collect::<String>(),
        calls.collect::<String>()
    );
    let folder = std::env::temp_dir().join(format!("tenon-readme-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (source, binary) = (folder.join("readme.rs"), folder.join("readme"));
    std::fs::write(&source, program).unwrap();
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition=2021", "-o"]).arg(&binary).arg("-L").arg(built());
    for name in ["tenon", "serde_json", "tokio"] {
        rustc.arg("--extern").arg(format!("{name}={}", crate_of(name).display()));
    }
    let output = rustc.arg(&source).output().expect("rustc runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = said(&binary, "");
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(said.starts_with("The capital of Norway is Oslo."), "{said}");
    assert!(said.contains("\n there was a"), "{said}");
    assert!(said.contains(r#""role":"assistant""#) || said.contains(r#""role": "assistant""#), "{said}");
    assert!(!has_server || said.contains("200 text/event-stream") && said.contains("data: [DONE]"), "{said}");
    assert!(said.contains(r#""name":"get_weather""#) && said.contains("2 rows of 256 numbers"), "{said}");
}

#[test]
fn the_first_lines_are_those_of_the_example() {
    let readme = std::fs::read_to_string(root().join("bindings/rust/README.md")).unwrap();
    let block = readme.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    let example = include_str!("../examples/hello.rs");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in block.lines().skip(1) {
        assert!(words(example).contains(&words(line)), "{line}");
    }
}

#[test]
fn examples_run() {
    let examples = built().parent().unwrap().join("examples");
    let run = |name: &str, input: &str| said(&examples.join(name), input);
    assert_eq!(run("hello", ""), "The capital of Norway is Oslo.\n");
    let chat = run("chat", "What is the capital of Norway?\nWhat is the capital of Norway?\n");
    assert!(chat.starts_with("The capital of Norway is Oslo.\n") && chat.lines().count() == 2, "{chat}");
    assert_eq!(run("json_schema", ""), "Mia is 41\n");
    let tools = run("tools", "");
    assert!(tools.starts_with("get_weather({\"city\":\"Oslo\"}) = {"), "{tools}");
    assert!(run("search", "").lines().next().unwrap().ends_with("Ships sail over the sea."));
    let many = run("many_requests", "");
    assert!(many.ends_with("8 finished, 1 cancelled\n"), "{many}");
}
