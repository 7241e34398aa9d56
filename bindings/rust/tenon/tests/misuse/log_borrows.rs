// A log lives as long as anything of the model: it borrows nothing.
use std::sync::Mutex;
fn main() -> tenon::Result<()> {
    let lines = Mutex::new(Vec::new());
    tenon::Model::loader([tenon::Source::path("model.gguf")])
        .log(tenon::LogLevel::Info, |_, line| lines.lock().unwrap().push(line.to_owned())) //~ E0373
        .log(tenon::LogLevel::Info, |_, line| println!("{line}"))
        .load()?;
    lines.lock().unwrap().push("the end".to_owned());
    Ok(())
}
