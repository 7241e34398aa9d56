//! What the tests of servers share.

use crate::common::model;
use tenon::Server;

pub const CHAT: &str = "/v1/chat/completions";
pub const CAPITAL: &str = r#"{"messages": [{"role": "user", "content": "What is the capital of Norway?"}],
    "temperature": 0, "max_tokens": 16}"#;
/// An answer that takes longer than any test.
pub const ENDLESS: &str = r#"{"messages": [{"role": "user", "content": "Hi"}], "stream": true,
    "max_tokens": 1900, "ignore_eos": true}"#;

/// One that runs, without an address.
pub fn running() -> Server {
    let mut server = Server::new().unwrap();
    server.add("demo", &model()).unwrap();
    server.start().unwrap();
    server
}

pub fn content_of(body: &str) -> String {
    let answer: serde_json::Value = serde_json::from_str(body).unwrap();
    answer["choices"][0]["message"]["content"].as_str().unwrap_or(body).to_owned()
}
