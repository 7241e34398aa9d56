//! Every option comes to the library as it was given, by its own setter: name, kind and value.

mod common;
#[rustfmt::skip]
#[path = "options/table.rs"]
mod table;

use common::{demo, root};
use std::process::Command;

/// What a command prints; None where it cannot be run.
fn run(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    Some(said)
}

#[test]
fn every_option_comes_to_the_library_as_it_was_given() {
    let Ok(library) = tenon::library_path() else {
        return println!("left out: the library is in the program");
    };
    let folder = std::env::temp_dir().join(format!("tenon-options-{}", std::process::id()));
    let recording = root().join("bindings/recording.py");
    let library = library.canonicalize().unwrap();
    if run(Command::new("python3").arg("-B").arg(recording).arg(library).arg(&folder)).is_none() {
        return println!("left out: no python3");
    }
    let mut told = Command::new(std::env::current_exe().unwrap());
    told.args(["--exact", "tells", "--nocapture", "--ignored", "--test-threads=1"]);
    told.env("TENON_RECORD", folder.join("record")).env("TENON_TEST_RECORDING", folder.join("libtenon.so"));
    let said = run(&mut told).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(said.contains("all of them came"), "{said}");
}

/// In a process of its own, over the library that writes them down.
#[test]
#[ignore = "is run by the test above"]
fn tells() {
    let Some(library) = std::env::var_os("TENON_TEST_RECORDING") else { return };
    tenon::use_library(library).unwrap();
    let record = std::env::var_os("TENON_RECORD").unwrap();
    let model = tenon::Model::open(demo()).unwrap();
    let rows = table::rows(&model);
    assert!(rows.len() >= 79);
    for (name, wanted, make) in &rows {
        std::fs::write(&record, "").unwrap();
        make(); // values that nothing can be done with are refused after they were handed over
        let came = std::fs::read_to_string(&record).unwrap();
        assert_eq!(came.lines().collect::<Vec<_>>(), *wanted, "{name}");
    }
    println!("all of them came");
}
