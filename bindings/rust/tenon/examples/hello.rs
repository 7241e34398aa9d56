//! The first lines of the README: `hello [MODEL]`.

fn main() -> tenon::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "demo-q8_0.gguf".into());
    let model = tenon::Model::open(path)?;
    let (chat, mut session) = (tenon::Chat::new(&model)?, tenon::Session::new(&model)?);
    let asked = r#"{"messages": [{"role": "user", "content": "What is the capital of Norway?"}]}"#;
    let print = |part: &tenon::Delta| {
        print!("{part}");
        std::ops::ControlFlow::Continue(())
    };
    chat.answer(&mut session, asked, &tenon::Generate::new().greedy(), print)?;
    println!();
    Ok(())
}
