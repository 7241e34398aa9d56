//! Many requests at once through one engine, on tokio: `many_requests [MODEL]`. Any other runtime does.

use std::time::Duration;
use tenon::{Engine, Error, Generate, Model, SamplerOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "demo-q8_0.gguf".into());
    let engine = Engine::new(&Model::open(path)?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    runtime.block_on(async {
        let tasks: Vec<_> = (0..8)
            .map(|seed| {
                let engine = engine.clone();
                tokio::spawn(async move {
                    let options = Generate::new()
                        .max_tokens(12)
                        .timeout(Duration::from_secs(60))
                        .sampling(SamplerOptions::new().seed(seed));
                    engine.stream("Once upon a time", &options)?.text().await
                })
            })
            .collect();
        for task in tasks {
            match task.await? {
                Ok(text) => println!("Once upon a time{text} ..."),
                Err(Error::Deadline(_)) => println!("one took too long"),
                Err(error) => return Err(error.into()),
            }
        }
        // Dropping a stream cancels its request.
        let mut stream = engine.stream("Once upon a time", &Generate::new())?;
        stream.next().await;
        drop(stream);
        println!("{} finished, {} cancelled", engine.stats()?.finished, engine.stats()?.cancelled);
        Ok(())
    })
}
