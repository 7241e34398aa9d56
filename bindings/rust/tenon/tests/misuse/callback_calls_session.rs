// A callback does not call the session that calls it.
use std::ops::ControlFlow;
fn main() -> tenon::Result<()> {
    let model = tenon::Model::open("model.gguf")?;
    let mut session = tenon::Session::new(&model)?;
    session.prefill_with(|_| { session.append("more").ok(); ControlFlow::Continue(()) })?; //~ E0499
    session.prefill_with(|_| ControlFlow::Continue(()))?;
    Ok(())
}
