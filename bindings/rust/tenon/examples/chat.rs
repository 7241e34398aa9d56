//! A chat in the terminal: `chat [MODEL]`. Each line is a message; the session keeps what was computed.

use serde_json::json;
use std::io::{BufRead, Write};
use tenon::{Chat, Delta, Generate, Model, SamplerOptions, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "demo-q8_0.gguf".into());
    let model = Model::open(path)?;
    let chat = Chat::new(&model)?;
    let mut messages = Vec::new();
    let options = Generate::new().max_tokens(200).sampling(SamplerOptions::new().temperature(0.0));
    for line in std::io::stdin().lock().lines() {
        messages.push(json!({"role": "user", "content": line?}));
        let conversation = json!({"messages": messages});
        let mut reply = chat.reply(&conversation)?;
        // Beginnings that were computed before are not computed again, in whatever session.
        let mut session = Session::new(&model)?;
        for piece in session.generate(&chat.encode(&conversation)?, &options)? {
            let Some(token) = piece?.token else { continue };
            for delta in reply.push(token)? {
                if let Delta::Content(text) = delta {
                    print!("{text}");
                    std::io::stdout().flush()?;
                }
            }
        }
        reply.finish()?;
        println!();
        messages.push(serde_json::from_str(reply.message()?)?);
    }
    Ok(())
}
