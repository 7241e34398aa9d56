//! Programs that must not compile. Each file in tests/misuse marks its wrong lines with the compiler's error,
//! `//~ E0502`: with them the program is refused, there and for that; without them it compiles.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// The library of a crate as cargo has built it for this test: the newest of its name.
fn built(crate_name: &str) -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let prefix = format!("lib{crate_name}-");
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(&prefix) && name.ends_with(".rlib")
        })
        .max_by_key(|path| path.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH))
        .unwrap_or_else(|| panic!("{crate_name} is not built"))
}

/// What the compiler says, as `E0502 at line 7`.
///   scratch  a folder for what it writes: as root it would replace /dev/null by a file
fn errors_of(program: &Path, scratch: &Path) -> Vec<String> {
    let tenon = built("tenon");
    let output = Command::new("rustc")
        .args(["--edition=2021", "--emit=metadata", "--error-format=short", "--out-dir"])
        .arg(scratch)
        .args(["-L".as_ref(), tenon.parent().unwrap().as_os_str()])
        .arg("--extern")
        .arg(format!("tenon={}", tenon.display()))
        .arg(program)
        .output()
        .expect("rustc runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut errors: Vec<String> = said
        .lines()
        .filter_map(|line| {
            let (place, code) = line.split_once(": error[")?;
            let number = place.rsplit(':').nth(1)?;
            Some(format!("{} at line {number}", code.split(']').next()?))
        })
        .collect();
    errors.dedup(); // a line may be wrong in one way twice
    assert_eq!(output.status.success(), errors.is_empty(), "{}: {said}", program.display());
    errors
}

#[test]
fn misuse_does_not_compile() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/misuse");
    let scratch = std::env::temp_dir().join(format!("tenon-misuse-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let source = std::fs::read_to_string(&path).unwrap();
        let expected: Vec<String> = source
            .lines()
            .enumerate()
            .filter_map(|(index, line)| {
                let (_, code) = line.split_once("//~ ")?;
                Some(format!("{} at line {}", code.trim(), index + 1))
            })
            .collect();
        assert!(!expected.is_empty(), "{} marks no line", path.display());
        assert_eq!(errors_of(&path, &scratch), expected, "{}", path.display());
        let right: Vec<&str> = source.lines().filter(|line| !line.contains("//~ ")).collect();
        let fixed = scratch.join(path.file_name().unwrap());
        std::fs::write(&fixed, right.join("\n")).unwrap();
        assert_eq!(
            errors_of(&fixed, &scratch),
            [] as [&str; 0],
            "{} without its wrong lines",
            path.display()
        );
        count += 1;
    }
    std::fs::remove_dir_all(scratch).unwrap();
    assert!(count >= 12, "{count} programs");
}
