// A session moves to another thread, but is not shared by two; a model and an engine are.
fn shared<T: Sync>(_: &T) {}
fn moved<T: Send>(_: &T) {}
fn main() -> tenon::Result<()> {
    let model = tenon::Model::open("model.gguf")?;
    let engine = tenon::Engine::new(&model)?;
    let session = tenon::Session::new(&model)?;
    shared(&model);
    shared(&engine);
    shared(&model.tokenizer()?);
    shared(&tenon::Chat::new(&model)?);
    shared(&tenon::Embedder::new(&model)?);
    shared(&tenon::Grammar::regex("a")?);
    shared(&session.canceller());
    shared(&tenon::Generate::new());
    moved(&session);
    shared(&session); //~ E0277
    let sampler = tenon::Sampler::new(&tenon::SamplerOptions::new())?;
    moved(&sampler);
    shared(&sampler); //~ E0277
    let reply = tenon::Chat::new(&model)?.reply("{}")?;
    moved(&reply);
    shared(&reply); //~ E0277
    let matcher = tenon::Grammar::regex("a")?.matcher(&model.tokenizer()?)?;
    moved(&matcher);
    shared(&matcher); //~ E0277
    let stream = engine.stream("Once", &tenon::Generate::new())?;
    moved(&stream);
    shared(&stream); //~ E0277
    let server = tenon::Server::new()?;
    shared(&server);
    let answer = server.request("GET", "/health", "")?;
    moved(&answer);
    shared(&answer); //~ E0277
    Ok(())
}
