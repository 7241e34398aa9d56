// What was given away or dropped is not used.
fn main() -> tenon::Result<()> {
    let model = tenon::Model::open("model.gguf")?;
    let mut session = tenon::Session::new(&model)?;
    session.append("Once")?;
    drop(session);
    session.append("more")?; //~ E0382
    let session = tenon::Session::new(&model)?;
    let generation = session.into_generation("Once", &tenon::Generate::new())?;
    session.position()?; //~ E0382
    drop(generation);
    Ok(())
}
