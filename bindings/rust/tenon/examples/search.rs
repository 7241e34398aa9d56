//! Search by meaning: `search [MODEL]`. With a model for embeddings it finds what a question is about.

use tenon::{Embed, Embedder, Embeddings, Model, ModelOptions, TextRole};

fn main() -> tenon::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "demo-q8_0.gguf".into());
    // Embeddings::On: the demo model is one that generates.
    let model = Model::open_with(path, &ModelOptions::new().embeddings(Embeddings::On))?;
    let embedder = Embedder::new(&model)?;
    let documents = ["The fox sleeps in the forest.", "Ships sail over the sea.", "Bread is made of flour."];
    let rows = embedder.embed(&documents, &Embed::new().role(TextRole::Document))?;
    let question = "Ships sail over the ocean.";
    let query = embedder.embed(&[question], &Embed::new().role(TextRole::Query))?;
    // Rows have length 1, so the product is the cosine.
    let cosine = |row: &[f32]| -> f32 { row.iter().zip(&query[0]).map(|(a, b)| a * b).sum() };
    let mut found: Vec<(f32, &str)> = rows.iter().map(cosine).zip(documents).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (score, document) in found {
        println!("{score:.3} {document}");
    }
    Ok(())
}
