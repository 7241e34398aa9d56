// A session cannot be used while a generation of it is under way.
fn main() -> tenon::Result<()> {
    let model = tenon::Model::open("model.gguf")?;
    let mut session = tenon::Session::new(&model)?;
    let mut generation = session.generate("Once", &tenon::Generate::new())?;
    session.append("more")?; //~ E0499
    session.position()?; //~ E0502
    generation.next();
    Ok(())
}
