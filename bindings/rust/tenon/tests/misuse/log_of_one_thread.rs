// Any thread may call a log or a reader; progress is of the thread that loads.
use std::{cell::Cell, ops::ControlFlow, rc::Rc};
fn main() -> tenon::Result<()> {
    let (count, seen) = (Rc::new(Cell::new(0)), Cell::new(false));
    let of_reader = count.clone();
    tenon::Source::reader(8, move |_, _| Ok(of_reader.get())); //~ E0277
    tenon::Model::loader([tenon::Source::path("model.gguf")])
        .log(tenon::LogLevel::Info, move |_, _| seen.set(true)) //~ E0277
        .progress(|_| { count.set(2); ControlFlow::Continue(()) })
        .load()?;
    Ok(())
}
