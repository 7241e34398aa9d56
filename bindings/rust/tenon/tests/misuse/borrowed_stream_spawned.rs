// A generation that borrows its session does not move to a thread that may outlive it; one that has it does.
fn main() -> tenon::Result<()> {
    let model = tenon::Model::open("model.gguf")?;
    let mut session = tenon::Session::new(&model)?;
    let options = tenon::Generate::new();
    session.append("Once")?;
    let generation = tenon::Engine::new(&model)?.generate("Once", &options)?;
    let generation = session.generate("Once", &options)?; //~ E0597
    std::thread::spawn(move || generation.text());
    Ok(())
}
