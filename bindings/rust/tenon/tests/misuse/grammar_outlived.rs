// Options that name a grammar or sampler do not outlive it.
fn main() -> tenon::Result<()> {
    let model = tenon::Model::open("model.gguf")?;
    let mut session = tenon::Session::new(&model)?;
    let grammar = tenon::Grammar::regex("a+")?;
    let options = tenon::Generate::new().grammar(&grammar);
    drop(grammar); //~ E0505
    session.generate("Once", &options)?;
    Ok(())
}
