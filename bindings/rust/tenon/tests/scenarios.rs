//! Runs bindings/scenarios.json: the behaviour that every binding has in common. What a step means is told in
//! docs/bindings.md. Where Rust does not compile a wrong step (a closed object, used), tests/misuse has it,
//! and this runner answers what the others do.

mod common;
#[path = "common/scenario_steps.rs"]
mod scenario_steps;
#[path = "common/sha256.rs"]
mod sha256;

use common::{block_on, root};
use serde_json::{json, Value as Json};
use sha256::bits;
use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tenon::{
    Chat, ChatOptions, Embed, Embedder, EmbedderOptions, Engine, EngineOptions, Error, Generate, Grammar,
    Model, ModelOptions, Piece, Request, Sampler, SamplerOptions, Session, SessionOptions, Source, TokenText,
};

/// What a scenario keeps under a name. A request ends before its session, but only when it is closed.
enum Object {
    Model(Model),
    Engine(Engine),
    Session(Session),
    Request(Request),
    Grammar(Grammar),
    Chat(Chat),
    Embedder(Embedder),
    Sampler(Sampler),
    Saved(Vec<u8>),
    Closed,
}

/// How a step ended: with an error of the library, or with what a callback panicked with.
enum Failure {
    Library(Error),
    Thrown,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

type Outcome = Result<(Option<Object>, Json), Failure>;

struct Thrown;

struct Runner {
    path: PathBuf,
    options: Json,
    objects: HashMap<String, Object>,
}

/// A builder of options with those of an object set.
fn with_options<T>(builder: T, options: &Json, set: fn(T, &str, tenon::Value) -> T) -> T {
    options.as_object().into_iter().flatten().fold(builder, |builder, (name, value)| {
        let value = match value {
            Json::Bool(value) => (*value).into(),
            Json::Number(number) => match number.as_i64() {
                Some(value) => tenon::Value::Integer(value),
                None => tenon::Value::Float(number.as_f64().unwrap()),
            },
            Json::Array(texts) => {
                tenon::Value::List(texts.iter().map(|text| text.as_str().unwrap().to_owned()).collect())
            }
            text => text.as_str().unwrap().into(),
        };
        set(builder, name, value)
    })
}

fn tokens_of(value: &Json) -> Vec<i32> {
    value.as_array().unwrap().iter().map(|token| token.as_i64().unwrap() as i32).collect()
}

fn texts_of(value: &Json) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

fn generate_options<'a>(step: &'a Json, grammar: Option<&'a Grammar>) -> Generate<'a> {
    let flag = |name: &str| step[name].as_bool().unwrap_or(false);
    let sampling = with_options(SamplerOptions::new(), &step["sampling"], |options, name, value| {
        options.set(name, value)
    });
    let mut options = Generate::new()
        .max_tokens(step["max_tokens"].as_u64().unwrap_or(0))
        .parse_special(flag("parse_special"))
        .ignore_end(flag("ignore_end"))
        .sampling(sampling);
    if let Some(top) = step["logprobs"].as_u64() {
        options = options.logprobs(top as usize);
    }
    if let Some(seconds) = step["timeout"].as_f64() {
        options = options.timeout(Duration::from_secs_f64(seconds));
    }
    if let Some(priority) = step["priority"].as_i64() {
        options = options.priority(priority as i32);
    }
    if let Some(client) = step["client"].as_str() {
        options = options.client(client);
    }
    if let Some(weight) = step["weight"].as_f64() {
        options = options.weight(weight);
    }
    match grammar {
        Some(grammar) => options.grammar(grammar),
        None => options,
    }
}

fn as_result(pieces: &[Piece], with_logprobs: bool) -> Json {
    let mut result = json!({
        "pieces": pieces.iter().map(|piece| &piece.text).collect::<Vec<_>>(),
        "tokens": pieces.iter().map(|piece| piece.token).collect::<Vec<_>>(),
        "finish": pieces.last().and_then(|piece| piece.finish).map(|finish| finish.to_string()),
    });
    if with_logprobs {
        let top = pieces.iter().map(|piece| piece.top.iter().map(|(token, _)| *token).collect::<Vec<_>>());
        result["top"] = top.collect::<Vec<_>>().into();
        let values: Vec<f32> = pieces
            .iter()
            .flat_map(|piece| piece.logprob.into_iter().chain(piece.top.iter().map(|(_, value)| *value)))
            .collect();
        result["bits"] = bits(&values).into();
    }
    result
}

/// What a callback panics with is how the step ends.
fn catching<T>(call: impl FnOnce() -> tenon::Result<T>) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Err(payload) if payload.is::<Thrown>() => Err(Failure::Thrown),
        Err(payload) => std::panic::resume_unwind(payload),
        Ok(result) => Ok(result?),
    }
}

macro_rules! object {
    ($name:ident, $variant:ident, $type:ty) => {
        /// The object of a name; of a closed one every call is STATE.
        fn $name(&mut self, name: &Json) -> Result<&mut $type, Failure> {
            match self.objects.get_mut(name.as_str().unwrap()) {
                Some(Object::$variant(object)) => Ok(object),
                Some(Object::Closed) => Err(Error::State("it is closed".into()).into()),
                _ => panic!("{name} is no {}", stringify!($type)),
            }
        }
    };
}

impl Runner {
    object!(model, Model, Model);
    object!(engine, Engine, Engine);
    object!(session, Session, Session);
    object!(request, Request, Request);
    object!(grammar, Grammar, Grammar);
    object!(chat, Chat, Chat);
    object!(embedder, Embedder, Embedder);
    object!(sampler, Sampler, Sampler);

    fn new(setting: &Json) -> Self {
        let path = root().join(setting["file"].as_str().unwrap());
        let mut runner = Self { path, options: setting["options"].clone(), objects: HashMap::new() };
        let model = runner.open_model(&json!({})).ok().expect("the demo model opens");
        runner.objects.insert("model".into(), Object::Model(model));
        runner
    }

    fn run(&mut self, steps: &Json) -> Json {
        let mut results = json!({});
        for step in steps.as_array().unwrap() {
            let fails = step["fails"].as_str();
            let outcome = match self.step(step) {
                Ok(outcome) => outcome,
                Err(failure) => {
                    let (code, sentence) = match failure {
                        Failure::Library(error) => (error.code(), error.to_string()),
                        Failure::Thrown => ("THROWN", "the callback".into()),
                    };
                    assert_eq!(Some(code), fails, "{step}: {sentence}");
                    let says = step["says"].as_str().unwrap_or_default();
                    assert!(sentence.contains(says), "{step}: {sentence}");
                    continue;
                }
            };
            assert_eq!(fails, None, "{step} did not fail");
            if let Some(name) = step["as"].as_str() {
                self.objects.insert(name.into(), outcome.0.expect("the step makes something"));
            }
            if let Some(name) = step["into"].as_str() {
                results[name] = outcome.1;
            }
        }
        results
    }

    fn step(&mut self, step: &Json) -> Outcome {
        let text = step["text"].as_str().unwrap_or_default();
        let conversation = &step["conversation"];
        let made = |object| Ok((Some(object), Json::Null));
        let brought = |value: Json| Ok((None, value));
        match step["op"].as_str().unwrap() {
            "model" => made(Object::Model(self.open_model(step)?)),
            "session" => made(Object::Session(self.open_session(step)?)),
            "engine" => {
                let options =
                    with_options(EngineOptions::new(), &step["options"], |o, name, value| o.set(name, value));
                made(Object::Engine(Engine::with(self.model(&json!("model"))?, &options)?))
            }
            "grammar" => {
                let value = &step["value"];
                made(Object::Grammar(match step["kind"].as_str().unwrap() {
                    "json_schema" => Grammar::json_schema(value)?,
                    "choices" => Grammar::choices(texts_of(value))?,
                    "regex" => Grammar::regex(value.as_str().unwrap())?,
                    "gbnf" => Grammar::gbnf(value.as_str().unwrap())?,
                    "lark" => Grammar::lark(value.as_str().unwrap())?,
                    other => panic!("grammar of kind {other}"),
                }))
            }
            "chat" => made(Object::Chat(match step["template"].as_str() {
                Some(template) => Chat::with(None, &ChatOptions::new().template(template))?,
                None => Chat::new(self.model(&json!("model"))?)?,
            })),
            "embedder" => {
                let options = with_options(EmbedderOptions::new(), &step["options"], |o, name, value| {
                    o.set(name, value)
                });
                made(Object::Embedder(Embedder::with(self.model(&step["model"])?, &options)?))
            }
            "sampler" => {
                let options = with_options(SamplerOptions::new(), &step["options"], |o, name, value| {
                    o.set(name, value)
                });
                made(Object::Sampler(Sampler::new(&options)?))
            }
            "close" => {
                self.objects.insert(step["object"].as_str().unwrap().into(), Object::Closed);
                brought(Json::Null)
            }
            "submit" => made(Object::Request(self.submit(step)?)),
            "generate" => {
                let pieces: Vec<Piece> = self.submit(step)?.collect::<Result<_, _>>()?;
                brought(as_result(&pieces, !step["logprobs"].is_null()))
            }
            "take" => {
                let count = step["pieces"].as_u64().unwrap() as usize;
                let pieces: Vec<Piece> =
                    self.request(&step["request"])?.take(count).collect::<Result<_, _>>()?;
                brought(pieces.iter().map(|piece| piece.text.clone()).collect::<Vec<_>>().into())
            }
            "drain" => {
                self.request(&step["request"])?.try_for_each(|piece| piece.map(|_| ()))?;
                brought(Json::Null)
            }
            "cancel" => {
                self.request(&step["request"])?.cancel()?;
                brought(Json::Null)
            }
            "append" => {
                let times = step["times"].as_u64().unwrap_or(1) as usize;
                self.session(&step["session"])?.append(&text.repeat(times))?;
                brought(Json::Null)
            }
            "prefill" => {
                let stop_at = step["stop_at"].as_f64().unwrap_or(f64::INFINITY);
                self.session(&step["session"])?.prefill_with(|fraction| {
                    if fraction >= stop_at {
                        ControlFlow::Break(())
                    } else {
                        ControlFlow::Continue(())
                    }
                })?;
                brought(Json::Null)
            }
            "logits" => brought(bits(self.session(&step["session"])?.logits()?).into()),
            "evaluate" => {
                let (tokens, throws_at) = (tokens_of(&step["tokens"]), step["throws_at"].as_u64());
                let session = self.session(&step["session"])?;
                let mut rows = Vec::new();
                catching(|| {
                    session.evaluate(&tokens, |row, logits| {
                        if Some(row) == throws_at {
                            std::panic::panic_any(Thrown);
                        }
                        rows.push(bits(logits));
                        ControlFlow::Continue(())
                    })
                })?;
                brought(rows.into())
            }
            "fork" => made(Object::Session(self.session(&step["session"])?.fork()?)),
            "rewind" => {
                self.session(&step["session"])?.rewind(step["position"].as_u64().unwrap())?;
                brought(Json::Null)
            }
            "save" => made(Object::Saved(self.session(&step["session"])?.save_bytes()?)),
            "restore" => {
                let saved = self.saved(&step["from"]);
                self.session(&step["session"])?.restore_bytes(&saved)?;
                brought(Json::Null)
            }
            "position" => brought(self.session(&step["session"])?.position()?.into()),
            "tokens" => brought(self.session(&step["session"])?.tokens()?.to_vec().into()),
            "encode" => {
                let parse_special = step["parse_special"].as_bool().unwrap_or(false);
                let how = TokenText { parse_special, ..TokenText::default() };
                brought(self.model(&json!("model"))?.tokenizer()?.encode_as(text, how)?.into())
            }
            "render" => brought(self.chat(&step["chat"])?.render(conversation)?.into()),
            "encode_chat" => brought(self.chat(&step["chat"])?.encode(conversation)?.into()),
            "embed" => {
                let rows =
                    self.embedder(&step["embedder"])?.embed(&texts_of(&step["texts"]), &Embed::new())?;
                let hashes: Vec<String> = rows.iter().map(bits).collect();
                brought(json!({"counts": rows.counts(), "bits": hashes}))
            }
            "exit_under_way" => brought(self.exit_under_way(step)),
            _ => self.look(step),
        }
    }

    fn open_model(&self, step: &Json) -> Result<Model, Failure> {
        let mut all = self.options.clone();
        for (name, value) in step["options"].as_object().into_iter().flatten() {
            all[name] = value.clone();
        }
        let options =
            with_options(ModelOptions::new(), &all, |options, name, value| options.set(name, value));
        let bytes = match step["bytes"].as_str() {
            Some(bytes) => Some(bytes.as_bytes().to_vec()),
            None => (step["from"] == "bytes").then(|| std::fs::read(&self.path).unwrap()),
        };
        if step["throws"] == true || !step["stop_at"].is_null() {
            let stop_at = step["stop_at"].as_f64().unwrap_or(f64::INFINITY);
            let progress = |fraction| {
                if step["throws"] == true {
                    std::panic::panic_any(Thrown);
                }
                if fraction >= stop_at {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            };
            let loader = Model::loader([Source::path(&self.path)]).options(&options).progress(progress);
            return catching(|| loader.load());
        }
        Ok(match bytes {
            Some(bytes) => Model::loader([Source::bytes(bytes)]).options(&options).load()?,
            None => {
                let path = step["path"].as_str().map_or_else(|| self.path.clone(), PathBuf::from);
                Model::open_with(path, &options)?
            }
        })
    }

    fn open_session(&mut self, step: &Json) -> Result<Session, Failure> {
        let options = with_options(SessionOptions::new(), &step["options"], |options, name, value| {
            options.set(name, value)
        });
        if !step["engine"].is_null() {
            return Ok(self.engine(&step["engine"])?.open_session(&options)?);
        }
        let default = json!("model");
        let model = if step["model"].is_null() { &default } else { &step["model"] };
        Ok(Session::with(self.model(model)?, &options)?)
    }

    fn submit(&mut self, step: &Json) -> Result<Request, Failure> {
        // Taken out for the call, since all are in the map.
        let mut take = |key: &str| step[key].as_str().map(|name| (name, self.objects.remove(name).unwrap()));
        let (grammar, sampler) = (take("grammar"), take("sampler"));
        let result = self.submit_with(
            step,
            match &grammar {
                Some((_, Object::Grammar(grammar))) => Some(grammar),
                _ => None,
            },
            match &sampler {
                Some((_, Object::Sampler(sampler))) => Some(sampler),
                _ => None,
            },
        );
        for (name, object) in grammar.into_iter().chain(sampler) {
            self.objects.insert(name.into(), object);
        }
        result
    }

    fn submit_with(
        &mut self,
        step: &Json,
        grammar: Option<&Grammar>,
        sampler: Option<&Sampler>,
    ) -> Result<Request, Failure> {
        let options = generate_options(step, grammar);
        let drawn = match sampler {
            Some(sampler) => options.drawn_by(sampler),
            None => (&options).into(),
        };
        let session = self.session(&step["session"])?;
        Ok(match step["text"].as_str() {
            Some(text) => session.submit(text, drawn)?,
            None => session.submit((), drawn)?,
        })
    }

    /// A process of its own that exits while its requests run; the time from the line that it writes last.
    fn exit_under_way(&self, step: &Json) -> Json {
        let within = step["within_seconds"].as_f64().unwrap();
        let took = (0..3).map(|_| {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "exits_with_requests_under_way", "--nocapture", "--ignored"])
                .env("TENON_TEST_REQUESTS", step["requests"].to_string())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let lines = BufReader::new(child.stdout.take().unwrap()).lines();
            let _ = lines.map(Result::unwrap).find(|line| line.ends_with("exits now")).expect("it says so");
            let start = Instant::now();
            assert_eq!(child.wait().unwrap().code(), Some(3));
            start.elapsed().as_secs_f64()
        });
        // The least: the machine may have had something else to do.
        let least = took.fold(f64::INFINITY, f64::min);
        assert!(least <= within, "the process ended {least:.3} s after it exited");
        Json::Null
    }
}

/// Run by the scenario of that name.
#[test]
#[ignore = "a process of its own, which does not return"]
fn exits_with_requests_under_way() {
    if let Some(other) = std::env::var_os("TENON_TEST_LIBRARY") {
        tenon::use_library(other).unwrap();
    }
    let requests: usize = std::env::var("TENON_TEST_REQUESTS").expect("a scenario runs it").parse().unwrap();
    let engine = Engine::new(&common::model()).unwrap();
    let prompt = "word ".repeat(400);
    let mut streams: Vec<_> =
        (0..requests).map(|_| engine.stream(&prompt, &Generate::new()).unwrap()).collect();
    for stream in &mut streams {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(stream.poll_piece(&mut context).is_pending());
    }
    std::thread::sleep(Duration::from_millis(20));
    println!("\nexits now");
    std::process::exit(3);
}

#[test]
fn every_scenario_brings_what_is_expected() {
    if let Some(other) = std::env::var_os("TENON_TEST_LIBRARY") {
        tenon::use_library(other).unwrap();
    }
    // Panics of callbacks are part of them.
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<Thrown>() {
            usual(info);
        }
    }));
    let list = std::fs::read_to_string(root().join("bindings/scenarios.json")).unwrap();
    let list: Json = serde_json::from_str(&list).unwrap();
    let scenarios = list["scenarios"].as_array().unwrap();
    assert!(scenarios.len() >= 72);
    let mut failed = Vec::new();
    for scenario in scenarios {
        let name = scenario["name"].as_str().unwrap();
        let came = catch_unwind(|| {
            let mut runner = Runner::new(&list["model"]);
            let results = runner.run(&scenario["steps"]);
            // What is left ends in the order of a hash, another in each run.
            drop(runner);
            results
        });
        match came {
            Ok(came) if came == scenario["expect"] => {}
            Ok(came) => failed.push(format!("{name}:\n  came     {came}\n  expected {}", scenario["expect"])),
            Err(_) => failed.push(format!("{name}: see above")),
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
