// Logits do not outlive their session.
fn main() -> tenon::Result<()> {
    let model = tenon::Model::open("model.gguf")?;
    let mut session = tenon::Session::new(&model)?;
    let logits = session.logits()?;
    drop(session); //~ E0505
    println!("{}", logits[0]);
    Ok(())
}
