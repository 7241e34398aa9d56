//! The first lines of the README: `hello [MODEL]`.

fn main() -> tenon::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "demo-q8_0.gguf".into());
    let model = tenon::Model::open(path)?;
    let mut session = tenon::Session::new(&model)?;
    for piece in session.generate("Once upon a time", &tenon::Generate::new().max_tokens(20))? {
        print!("{}", piece?);
    }
    println!();
    Ok(())
}
