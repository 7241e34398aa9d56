//! The same from Rust: many MODEL COUNT TOKENS
use std::time::Instant;
use tenon::{Engine, EngineOptions, Generate, Model, Result, SamplerOptions, SessionOptions};

async fn generate(engine: &Engine, count: i64, max_tokens: u64) -> Result<u64> {
    let tasks: Vec<_> = (0..count)
        .map(|seed| {
            let engine = engine.clone();
            tokio::spawn(async move {
                let sampling = SamplerOptions::new().seed(seed);
                let options = Generate::new().max_tokens(max_tokens).ignore_end(true).sampling(sampling);
                let mut session = engine.open_session(&SessionOptions::new().context(256))?;
                let mut stream = session.stream("Once upon a time", &options)?;
                let mut tokens = 0;
                while let Some(piece) = stream.next().await {
                    tokens += u64::from(piece?.token.is_some());
                }
                Ok::<_, tenon::Error>(tokens)
            })
        })
        .collect();
    let mut tokens = 0;
    for task in tasks {
        tokens += task.await.expect("no task panics")?;
    }
    Ok(tokens)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    if let Ok(library) = std::env::var("MANY_LIBRARY") {
        tenon::use_library(library)?;
    }
    let (count, max_tokens) = (arguments[2].parse()?, arguments[3].parse()?);
    let engine = Engine::with(&Model::open(&arguments[1])?, &EngineOptions::new().running(count))?;
    tokio::runtime::Builder::new_multi_thread().build()?.block_on(async {
        generate(&engine, count, 2).await?;
        let begin = Instant::now();
        let tokens = generate(&engine, count, max_tokens).await?;
        println!("{}", tokens as f64 / begin.elapsed().as_secs_f64());
        Ok(())
    })
}
