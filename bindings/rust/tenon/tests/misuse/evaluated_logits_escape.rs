// A row of logits does not leave the callback.
use std::ops::ControlFlow;
fn main() -> tenon::Result<()> {
    let model = tenon::Model::open("model.gguf")?;
    let mut session = tenon::Session::new(&model)?;
    let mut kept: Vec<&[f32]> = Vec::new();
    session.evaluate(&[1, 2], |_row, logits| {
        kept.push(logits); //~ E0521
        ControlFlow::Continue(())
    })?;
    println!("{}", kept.len());
    Ok(())
}
