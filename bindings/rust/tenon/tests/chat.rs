//! Turns of conversations in one call, and seeds that are random unless given.

mod common;

use common::model;
use std::collections::HashSet;
use std::ops::ControlFlow;
use tenon::{Chat, Delta, Error, Generate, SamplerOptions, Session, SessionOptions};

const NORWAY: &str = r#"{"messages": [{"role": "user", "content": "What is the capital of Norway?"}]}"#;

fn greedy() -> Generate<'static> {
    Generate::new().max_tokens(24).sampling(SamplerOptions::new().temperature(0.0))
}

#[test]
fn one_call_is_a_turn() {
    let model = model();
    let chat = Chat::new(&model).unwrap();
    let mut session = Session::new(&model).unwrap();
    let mut streamed = String::new();
    let message = chat
        .answer(&mut session, NORWAY, &greedy(), |delta| {
            if let Delta::Content(text) = delta {
                streamed.push_str(text);
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(message.contains("Oslo"), "{message}");
    assert!(message.contains(&streamed), "{message} {streamed}");
    let ended = chat.answer(&mut session, NORWAY, &greedy(), |_| ControlFlow::Break(()));
    assert!(matches!(ended, Err(Error::Cancelled(_))), "{ended:?}");
    let stopping = greedy().sampling(SamplerOptions::new().temperature(0.0).stop(["slo"]));
    let cut = chat.answer(&mut session, NORWAY, &stopping, |_| ControlFlow::Continue(())).unwrap();
    assert!(!cut.contains("slo"), "{cut}");
}

#[test]
fn oldest_turns_are_dropped() {
    let model = model();
    let chat = Chat::new(&model).unwrap();
    let turns: Vec<_> = (0..120)
        .map(|i| {
            let role = if i % 2 == 0 { "user" } else { "assistant" };
            format!(r#"{{"role": "{role}", "content": "Text {i}."}}, "#)
        })
        .collect();
    let many = format!(r#"{{"messages": [{} {{"role": "user", "content": "Hi"}}]}}"#, turns.concat());
    let mut session = Session::with(&model, &SessionOptions::new().context(128)).unwrap();
    let go_on = |_: &Delta| ControlFlow::Continue(());
    assert!(matches!(chat.answer(&mut session, &many, &greedy(), go_on), Err(Error::Limit(_))));
    chat.answer(&mut session, &many, &greedy().drop_oldest(true), go_on).unwrap();
}

#[test]
fn seeds_are_random_and_told() {
    let model = model();
    let hot = || SamplerOptions::new().temperature(2.0).top_k(0).top_p(1.0).min_p(0.0);
    let ask = |how: SamplerOptions| {
        let mut session = Session::new(&model).unwrap();
        let options = Generate::new().max_tokens(24).ignore_end(true).sampling(how);
        let generation = session.generate("Once upon a time", &options).unwrap();
        let seed = generation.seed().unwrap();
        let text = generation.text().unwrap();
        assert_eq!(session.seed().unwrap(), seed);
        (text, seed)
    };
    let mut texts = HashSet::new();
    for _ in 0..4 {
        let (text, seed) = ask(hot());
        assert_eq!(ask(hot().seed(seed)).0, text);
        texts.insert(text);
    }
    assert_eq!(texts.len(), 4);
}
