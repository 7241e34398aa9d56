//! Tenon runs language models inside your program: no server, no compiler but Rust's at build.
//!
//! ```no_run
//! let model = tenon::Model::open("demo-q8_0.gguf")?;
//! let mut session = tenon::Session::new(&model)?;
//! for piece in session.generate("Once upon a time", &tenon::Generate::new().max_tokens(20))? {
//!     print!("{}", piece?);
//! }
//! # tenon::Result::Ok(())
//! ```
//!
//! A [`Model`] is loaded once and shared; a [`Session`] is a text in progress; an [`Engine`] serves
//! many of them at once, to waiting threads and to `async` code alike. The README shows chats, JSON
//! by schema, tools, embeddings and many requests; `tenon.h` documents each function.
//!
//! # Which library
//!
//! The one given to [`use_library`]; with the feature `bundled` the one beside the program, or that
//! of the build; the one that pkg-config named at build; the one that the system's loader finds. It
//! is compared with the interface this crate was made for before its first call: older and newer
//! minor versions work, and an incompatible library is `Error::Unsupported`. With the features
//! `link` and `static` it is the linker's.
#![warn(clippy::undocumented_unsafe_blocks)]

mod callback;
#[rustfmt::skip]
#[allow(clippy::undocumented_unsafe_blocks)]
mod calls;
mod cancel;
mod chat;
mod embedder;
mod engine;
mod error;
mod fit;
mod generate;
mod grammar;
mod handle;
#[rustfmt::skip]
mod info;
mod items;
mod json;
#[rustfmt::skip]
mod kinds;
mod library;
mod model;
#[rustfmt::skip]
mod option_sets;
mod options;
mod piece;
mod request;
mod sampler;
mod score;
mod server;
mod server_answer;
#[rustfmt::skip]
#[allow(clippy::undocumented_unsafe_blocks)]
mod server_calls;
mod server_library;
#[rustfmt::skip]
mod server_options;
mod session;
mod source;
mod time;
mod tokenizer;
mod wake;

pub use cancel::Canceller;
pub use chat::{Chat, Delta, Reply};
pub use embedder::{Embed, Embedder, Rows, TextRole};
pub use engine::Engine;
pub use error::{Error, Result};
pub use generate::{Drawn, Generate, Prompt};
pub use grammar::{Grammar, GrammarCache, Matcher};
pub use info::*;
pub use library::{api, check_library, library_path, use_library, version};
pub use model::{
    backend_devices, backends, options, random_model_formats, random_model_shapes, write_random_model,
    MetadataValue, Model,
};
pub use option_sets::*;
pub use options::Value;
pub use piece::{Candidate, Finish, Piece};
pub use request::{Generation, NextPiece, PieceStream, Request};
pub use sampler::{logprobs, Logprobs, Sampler};
pub use score::Score;
pub use server::{Served, Server};
pub use server_answer::{AnswerHead, AnswerStream, ServerAnswer};
pub use server_library::check_server_library;
pub use server_options::{ServerModelFile, ServerOptions, ServerRequest};
pub use session::Session;
pub use source::{Loader, LogLevel, Source};
/// The C interface.
pub use tenon_sys as sys;
pub use tokenizer::{TokenText, Tokenizer};

/// Index of a token in the vocabulary of its model.
pub type Token = i32;
