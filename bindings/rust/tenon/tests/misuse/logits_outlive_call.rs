// Logits are the library's memory: no call on the session comes between.
fn main() -> tenon::Result<()> {
    let model = tenon::Model::open("model.gguf")?;
    let mut session = tenon::Session::new(&model)?;
    let logits = session.logits()?;
    session.append("more")?; //~ E0499
    println!("{}", logits[0]);
    let tokens = session.tokens()?;
    session.rewind(0)?; //~ E0499
    println!("{}", tokens[0]);
    Ok(())
}
