// The message of a reply is the library's memory, too.
fn main() -> tenon::Result<()> {
    let model = tenon::Model::open("model.gguf")?;
    let mut reply = tenon::Chat::new(&model)?.reply("{}")?;
    let message = reply.message()?;
    reply.push(1)?; //~ E0499
    println!("{message}");
    Ok(())
}
