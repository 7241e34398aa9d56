//! Finds the library: in the folder TENON_LIBRARY_DIR, else by pkg-config. Without the features
//! `bundled` and `link` it is needed only when the program runs.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The dynamic loader's name of "libtenon" or "libtenon-server"; a minor version of 0 may change
/// the interface.
fn file_name(library: &str) -> String {
    let part = |name| env::var(name).expect("cargo sets the parts of the version");
    let (major, minor) = (part("CARGO_PKG_VERSION_MAJOR"), part("CARGO_PKG_VERSION_MINOR"));
    if env::var("CARGO_CFG_TARGET_VENDOR").as_deref() == Ok("apple") {
        format!("{library}.{major}.{minor}.dylib")
    } else {
        format!("{library}.so.{major}.{minor}")
    }
}

fn has(feature: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{feature}")).is_some()
}

/// pkg-config's answer, or why there is none.
fn pkg_config(arguments: &[&str]) -> Result<String, String> {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    match Command::new(&program).args(arguments).arg("tenon").output() {
        Err(error) => Err(format!("{program} does not run: {error}")),
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

/// Ends the build, which lacks a requested part, with one sentence.
fn refuse(sentence: &str) -> ! {
    eprintln!("{}: {sentence}", env!("CARGO_PKG_NAME"));
    std::process::exit(1);
}

fn copy_library(folder: &Path) -> PathBuf {
    let target = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("lib");
    let copy = |from: &Path, to: &Path| {
        println!("cargo:rerun-if-changed={}", from.display());
        if let Err(error) =
            fs::create_dir_all(to.parent().expect("a file is in a folder")).and_then(|()| fs::copy(from, to))
        {
            refuse(&format!("{}: {error}", from.display()));
        }
    };
    for name in [file_name("libtenon"), file_name("libtenon-server")] {
        let _ = fs::remove_file(target.join(&name));
        // Builds without the server have none.
        if name == file_name("libtenon") || folder.join(&name).exists() {
            copy(&folder.join(&name), &target.join(&name));
        }
    }
    // Plugins: backends beside the built-in one.
    let _ = fs::remove_dir_all(target.join("tenon"));
    for entry in fs::read_dir(folder.join("tenon")).into_iter().flatten().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "so") {
            copy(&entry.path(), &target.join("tenon").join(entry.file_name()));
        }
    }
    target
}

fn link(folder: Option<&Path>) {
    let kind = if has("STATIC") { "static" } else { "dylib" };
    println!("cargo:rustc-link-lib={kind}=tenon");
    let mut libraries = Vec::new();
    if let Some(folder) = folder {
        println!("cargo:rustc-link-search=native={}", folder.display());
        libraries.extend(["stdc++", "m", "pthread", "dl"].map(String::from));
    } else {
        let arguments: &[&str] = if has("STATIC") { &["--libs", "--static"] } else { &["--libs"] };
        let flags = pkg_config(arguments).unwrap_or_else(|reason| {
            refuse(&format!(
                "the library is linked, and pkg-config does not know it; set PKG_CONFIG_PATH, or \
                 TENON_LIBRARY_DIR to its folder. {reason}"
            ))
        });
        for flag in flags.split_whitespace() {
            if let Some(path) = flag.strip_prefix("-L") {
                println!("cargo:rustc-link-search=native={path}");
            } else if let Some(library) = flag.strip_prefix("-l").filter(|name| *name != "tenon") {
                libraries.push(library.to_owned());
            }
        }
    }
    if has("STATIC") {
        if !libraries.iter().any(|name| name == "stdc++" || name == "c++") {
            libraries.push("stdc++".into());
        }
        for library in libraries {
            println!("cargo:rustc-link-lib=dylib={library}");
        }
    }
}

fn main() {
    for name in ["TENON_LIBRARY_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=TENON_SYS_FILE_NAME={}", file_name("libtenon"));
    println!("cargo:rustc-env=TENON_SYS_SERVER_FILE_NAME={}", file_name("libtenon-server"));
    let given = env::var_os("TENON_LIBRARY_DIR").map(PathBuf::from);
    if has("BUNDLED") {
        let Some(folder) = &given else {
            refuse("the feature `bundled` takes the library from the folder TENON_LIBRARY_DIR");
        };
        println!("cargo:rustc-env=TENON_SYS_BUNDLED_DIR={}", copy_library(folder).display());
    }
    if has("LINK") {
        link(given.as_deref());
    }
    let found = given.or_else(|| pkg_config(&["--variable=libdir"]).ok().map(PathBuf::from));
    if let Some(folder) = found.filter(|folder| folder.join(file_name("libtenon")).exists()) {
        println!("cargo:rustc-env=TENON_SYS_LIBRARY_DIR={}", folder.display());
    }
}
