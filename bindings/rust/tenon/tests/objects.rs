//! Objects in Rust: errors, options, buffers, tokenizers, samplers, chats, what is in a model.

mod common;

use common::{demo, greedy, model, ONCE};
use std::ops::ControlFlow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::Duration;
use tenon::*;

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());
const END: ControlFlow<()> = ControlFlow::Break(());

fn session(model: &Model) -> Session {
    Session::new(model).unwrap()
}

#[test]
fn errors_of_files_have_the_kind_of_std() {
    use std::io::ErrorKind;
    let folder = std::env::temp_dir().join(format!("tenon-kinds-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let missing = folder.join("none.gguf");
    let file = folder.join("file");
    std::fs::write(&file, "").unwrap();
    let mut saved = session(&model());
    saved.append("Once").unwrap();
    let found: Vec<Error> = vec![
        Model::open(&missing).err().unwrap(),
        Tokenizer::open(&missing).err().unwrap(),
        Session::new(&model()).unwrap().restore(&missing).unwrap_err(),
        saved.save(folder.join("no/folder")).unwrap_err(),
        Model::open(file.join("below")).err().unwrap(),
    ];
    std::fs::remove_dir_all(&folder).unwrap();
    let kinds: Vec<_> = found.iter().map(|error| error.io_kind()).collect();
    assert_eq!(kinds[..4], [Some(ErrorKind::NotFound); 4], "{found:?}");
    assert_eq!(kinds[4], Some(ErrorKind::NotADirectory), "{found:?}");
    for error in found {
        let (code, said) = (error.raw_os_error(), error.to_string());
        let as_std = std::io::Error::from(error.clone());
        assert_eq!((Some(as_std.kind()), as_std.to_string()), (error.io_kind(), said));
        let inside = as_std.get_ref().unwrap().downcast_ref::<Error>().unwrap();
        assert_eq!((inside, inside.raw_os_error()), (&error, code));
    }
}

#[test]
fn errors_are_variants_with_a_sentence() {
    let error = Model::open("/nonexistent.gguf").err().unwrap();
    assert!(matches!(&error, Error::Io(sentence, _) if sentence.contains("no such file")), "{error:?}");
    assert_eq!((error.code(), error.to_string()), ("IO", error.sentence().to_owned()));
    let error = Model::open_with(demo(), &ModelOptions::new().set("thraeds", 2)).err().unwrap();
    assert_eq!((error.io_kind(), error.raw_os_error()), (None, None));
    assert_eq!(std::io::Error::from(error.clone()).kind(), std::io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("nearest name is \"threads\""), "{error}");
    assert!(matches!(Model::open("a\0b"), Err(Error::Argument(sentence)) if sentence.contains("NUL")));
    fn is_error<T: std::error::Error + Send + Sync + 'static>() {}
    is_error::<Error>();
}

#[test]
fn a_model_tells_what_is_in_it() {
    let model = model();
    let info = model.info().unwrap();
    assert_eq!((info.architecture.as_str(), info.vocabulary), ("llama", 1024));
    assert_eq!(model.metadata("general.architecture").unwrap(), Some(MetadataValue::Text("llama".into())));
    let Some(MetadataValue::Array(tokens)) = model.metadata("tokenizer.ggml.tokens").unwrap() else {
        panic!("no tokens")
    };
    assert_eq!(tokens.len(), 1024);
    assert_eq!(model.metadata("no.such.key").unwrap(), None);
    assert!(model.metadata_keys().unwrap().contains(&"general.architecture".to_owned()));
    assert_eq!(model.tensors().unwrap()[0].shape, [1024, 256, 1, 1]);
    assert_eq!(model.memory(64).unwrap().context, 64);
    assert_eq!(model.execution().unwrap().threads, 2);
    let plan = model.plan(128, 2, &model.measure().unwrap()).unwrap();
    assert_eq!((plan.sessions, plan.fits), (2, 1));
    let placed = model.placement(128, 2, &model.measure().unwrap()).unwrap();
    assert_eq!((placed.len(), placed[0].backend.as_str(), placed[0].fits), (1, "cpu", 1));
    assert!(backends(&ModelOptions::new()).unwrap().iter().any(|backend| backend.name == "cpu"));
    let cpu =
        backends(&ModelOptions::new()).unwrap().iter().position(|backend| backend.name == "cpu").unwrap();
    assert_eq!(backend_devices(&ModelOptions::new(), cpu).unwrap()[0].name, "cpu");
    assert!(options().unwrap().iter().any(|option| option.name == "temperature"));
}

#[test]
fn models_without_an_encoder_take_no_source() {
    let model = model();
    assert!(matches!(session(&model).set_source("Once"), Err(Error::State(_))));
    assert!(matches!(session(&model).set_source_tokens(&[1, 2]), Err(Error::State(_))));
}

#[test]
fn progress_ends_loading_and_its_panic_goes_on() {
    let load = |progress: fn(f64) -> ControlFlow<()>| {
        Model::loader([Source::path(demo())]).progress(progress).load().map(|_| ())
    };
    let mut seen = Vec::new();
    let loader = Model::loader([Source::path(demo())]).progress(|fraction| {
        seen.push(fraction);
        GO_ON
    });
    loader.load().unwrap();
    assert!(seen.windows(2).all(|pair| pair[0] <= pair[1]) && seen.last() == Some(&1.0));
    assert!(matches!(load(|_| END), Err(Error::Cancelled(_))));
    let payload = catch_unwind(|| load(|_| std::panic::panic_any(7_u8))).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&7_u8));
}

#[test]
fn a_model_comes_from_bytes_files_and_readers() {
    let bytes = std::fs::read(demo()).unwrap();
    let file = || std::fs::File::open(demo()).unwrap();
    let whole = bytes.clone();
    let read = move |offset: u64, buffer: &mut [u8]| {
        let rest = &whole[whole.len().min(offset as usize)..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    };
    let size = bytes.len() as u64;
    for source in [Source::file(file(), 0, 0), Source::bytes(bytes), Source::reader(size, read)] {
        let model = Model::loader([source]).options(&ModelOptions::new().threads(1)).load().unwrap();
        let options = Generate::new().max_tokens(2).sampling(greedy());
        assert_eq!(session(&model).generate(ONCE, &options).unwrap().text().unwrap(), " there was");
    }
    let fails = Source::reader(size, |_, _| Err(std::io::Error::other("gone")));
    assert!(matches!(Model::loader([fails]).load(), Err(Error::Io(_, None))));
    let panics = Source::reader(size, |_, _| panic!("read"));
    assert!(catch_unwind(AssertUnwindSafe(|| Model::loader([panics]).load())).is_err());
}

#[test]
fn lines_of_the_log_come_to_a_function() {
    let lines = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = lines.clone();
    let log = move |level, line: &str| {
        kept.lock().unwrap().push((level, line.to_owned()));
        panic!("of a log is dropped");
    };
    let model = Model::loader([Source::path(demo())]).log(LogLevel::Debug, log).load();
    // Whether it logs is the library's; what comes is a line.
    assert!(lines.lock().unwrap().iter().all(|(_, line)| !line.contains('\n')));
    model.unwrap();
}

#[test]
fn tokenizers_go_there_and_back() {
    let tokenizer = model().tokenizer().unwrap(); // the model's last other owner is gone
    let text = "Grüße, 世界 🦊";
    let tokens = tokenizer.encode(text).unwrap();
    assert_eq!(tokenizer.decode(&tokens).unwrap(), text);
    assert_eq!(tokenizer.count().unwrap(), 1024);
    assert_eq!(tokenizer.decode_bytes(&tokens[..3]).unwrap(), &text.as_bytes()[..3]);
    let parsed = tokenizer.encode_as("<|im_end|>", TokenText { parse_special: true, ..TokenText::default() });
    assert_eq!(tokenizer.find("<|im_end|>").unwrap(), Some(parsed.unwrap()[0]));
    let special = tokenizer.find("<|im_end|>").unwrap().unwrap();
    assert_eq!(tokenizer.decode_special(&[special]).unwrap(), "<|im_end|>");
    assert_eq!(tokenizer.decode(&[special]).unwrap(), "");
    assert_eq!(tokenizer.find("no such token").unwrap(), None);
    assert_eq!(Tokenizer::open(demo()).unwrap().encode(text).unwrap(), tokens);
    let source = Source::bytes(std::fs::read(demo()).unwrap());
    assert_eq!(Tokenizer::load(&source).unwrap().encode(text).unwrap(), tokens);
    assert_eq!(tokenizer.info(tokens[1]).unwrap().text.len(), 1);
}

#[test]
fn logits_are_a_slice_without_a_copy() {
    let model = model();
    let mut session = session(&model);
    session.append(ONCE).unwrap();
    let logits = session.logits().unwrap();
    assert_eq!(logits.len(), 1024);
    let largest = (0..1024).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap() as Token;
    assert_eq!(Sampler::new(&greedy()).unwrap().sample(logits, &[]).unwrap(), largest);
    let logprobs = logprobs(logits, &[largest], 2).unwrap();
    assert_eq!(logprobs.top[0], (largest, logprobs.of_tokens[0]));
    let place = logits.as_ptr();
    assert_eq!(session.logits().unwrap().as_ptr(), place);
}

#[test]
fn evaluate_hands_out_rows_and_panics() {
    let model = model();
    let mut session = session(&model);
    let tokens = model.tokenizer().unwrap().encode(ONCE).unwrap();
    let mut rows = Vec::new();
    let on_row = |row, logits: &[f32]| {
        rows.push((row, logits.len()));
        GO_ON
    };
    session.evaluate(&tokens, on_row).unwrap();
    assert_eq!(rows, (0..tokens.len() as u64).map(|row| (row, 1024)).collect::<Vec<_>>());
    assert!(matches!(session.evaluate(&tokens, |_, _| END), Err(Error::Cancelled(_))));
    let mut calls = 0;
    let panics = |_, _: &[f32]| {
        calls += 1;
        panic!("once")
    };
    assert!(catch_unwind(AssertUnwindSafe(|| session.evaluate(&tokens, panics))).is_err());
    assert_eq!(calls, 1);
    session.rewind(0).unwrap();
}

#[test]
fn pieces_are_text_with_a_token() {
    let model = model();
    let mut session = session(&model);
    let options = Generate::new().max_tokens(3).logprobs(2).sampling(greedy());
    let pieces: Result<Vec<Piece>> = session.generate(ONCE, &options).unwrap().collect();
    let pieces = pieces.unwrap();
    let tokens: Vec<Token> = pieces.iter().map(|piece| piece.token.unwrap()).collect();
    let text: String = pieces.iter().map(|piece| &**piece).collect();
    assert_eq!(text, model.tokenizer().unwrap().decode(&tokens).unwrap());
    assert_eq!((pieces[0].finish, pieces[2].finish), (None, Some(Finish::MaxTokens)));
    assert_eq!(pieces[0].top[0], (tokens[0], pieces[0].logprob.unwrap()));
    assert_eq!(pieces[0].top.len(), 2);
    assert_eq!(format!("{}|{:>8}", pieces[0], pieces[0]), " there|   there");
}

#[test]
fn samplers_and_grammars() {
    let model = model();
    let grammar = Grammar::choices(["yes", "no"]).unwrap();
    assert!(grammar.accepts("no").unwrap() && !grammar.accepts("maybe").unwrap());
    let answer =
        session(&model).generate("Is it? ", &Generate::new().grammar(&grammar)).unwrap().text().unwrap();
    assert!(answer == "yes" || answer == "no");
    let mut matcher = grammar.matcher(&model.tokenizer().unwrap()).unwrap();
    assert!(matcher.accept_text("ye").unwrap() && !matcher.is_complete().unwrap());
    assert_eq!(matcher.forced_text().unwrap(), "s");
    assert!(matcher.accept_text("s").unwrap() && matcher.has_ended().unwrap());
    assert_eq!(matcher.mask().unwrap().len(), 16);
    let mut sampler = Sampler::new(&greedy()).unwrap();
    sampler.set("top_k", 5).unwrap();
    sampler.set("top_p", 0.5).unwrap();
    sampler.set_bias(7, f64::NEG_INFINITY).unwrap();
    assert!(matches!(sampler.set("top_kk", 5), Err(Error::Argument(_))));
    assert!(matches!(sampler.set("top_k", "5"), Err(Error::Argument(_))));
    let both = Generate::new().grammar(&grammar);
    assert!(matches!(session(&model).generate(ONCE, both.drawn_by(&sampler)), Err(Error::Argument(_))));
    assert!(matches!(Grammar::regex("a("), Err(Error::Grammar(_))));
    let cache = GrammarCache::new(1 << 20).unwrap();
    assert!(cache.json_schema(r#"{"type": "integer"}"#).unwrap().accepts("12").unwrap());
}

#[test]
fn best_of_and_next_piece() {
    let model = model();
    let mut session = session(&model);
    session.append(ONCE).unwrap();
    let mut sampler = Sampler::new(&SamplerOptions::new().seed(1)).unwrap();
    let (candidates, best) = session.best_of(3, 4, Some(&mut sampler)).unwrap();
    assert_eq!(candidates.len(), 3);
    assert!(session.tokens().unwrap().ends_with(&candidates[best as usize].tokens));
    assert!(session.next_piece(Some(&mut Sampler::new(&greedy()).unwrap())).unwrap().token.is_some());
    assert_eq!(session.drawn_logits().unwrap().len(), 1024);
    assert_eq!(session.take_held().unwrap(), "");
}

#[test]
fn files_of_sessions() {
    let model = model();
    let mut first = session(&model);
    first.append(ONCE).unwrap();
    first.prefill().unwrap();
    let path = std::env::temp_dir().join(format!("tenon-session-{}", std::process::id()));
    first.save(&path).unwrap();
    let mut second = session(&model);
    second.restore(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(first.tokens().unwrap(), second.tokens().unwrap());
    assert!(matches!(second.restore_bytes(b"nothing that was saved"), Err(Error::Format(_))));
}

#[test]
fn rows_of_embedders() {
    let model = Model::open_with(demo(), &ModelOptions::new().embeddings(Embeddings::On)).unwrap();
    let embedder = Embedder::new(&model).unwrap();
    let rows = embedder.embed(&["a fox", "the sea", "a fox"], &Embed::new()).unwrap();
    assert_eq!((rows.len(), rows.dimensions(), rows[0].len()), (3, 256, embedder.dimensions()));
    assert!(rows[0] == rows[2] && rows[0] != rows[1]);
    let length: f32 = rows[1].iter().map(|value| value * value).sum();
    assert!((length - 1.0).abs() < 1e-4);
    assert!(embedder.embed::<&str>(&[], &Embed::new()).unwrap().is_empty());
    assert_ne!(&embedder.embed_tokens(&[[593, 591]], &Embed::new()).unwrap()[0], &rows[0]);
    let scores = embedder.rank("a fox", &["the sea", "a fox"], None).unwrap();
    assert!(scores[1] > scores[0]);
    let late = Embed::new().timeout(Duration::ZERO);
    assert!(matches!(embedder.embed(&["a fox"], &late), Err(Error::Deadline(_))));
    let each = EmbedderOptions::new().pooling(Pooling::None);
    let rows = Embedder::with(&model, &each).unwrap().embed(&["a fox", "the sea"], &Embed::new()).unwrap();
    assert_eq!(rows.counts().iter().sum::<u64>() as usize, rows.len());
    assert!(rows.len() > 2);
}

#[test]
fn chats_read_answers() {
    let model = model();
    let chat = Chat::new(&model).unwrap();
    assert_eq!(chat.format().unwrap(), "hermes");
    let conversation = r#"{"messages": [{"role": "user", "content": "What is the capital of Norway?"}]}"#;
    let mut reply = chat.reply(conversation).unwrap();
    let mut content = String::new();
    let prompt = chat.encode(conversation).unwrap();
    let mut session = session(&model);
    for piece in session.generate(&prompt, &Generate::new().sampling(greedy())).unwrap() {
        let token = piece.unwrap().token;
        for delta in token.map(|token| reply.push(token).unwrap()).unwrap_or_default() {
            if let Delta::Content(text) = delta {
                content.push_str(&text);
            }
        }
    }
    reply.finish().unwrap();
    assert_eq!(content, "The capital of Norway is Oslo.");
    let message: serde_json::Value = serde_json::from_str(reply.message().unwrap()).unwrap();
    assert_eq!(message["content"], content);
    assert!(chat.grammar(conversation).unwrap().is_none());
}

#[test]
fn random_models_are_written() {
    let path = std::env::temp_dir().join(format!("tenon-random-{}.gguf", std::process::id()));
    assert!(random_model_shapes().unwrap().contains(&"llama-1b"));
    let format = random_model_formats().unwrap()[0];
    let cancelled = write_random_model(&path, "llama-1b:1", format, 1, |_| END);
    assert!(matches!(cancelled, Err(Error::Cancelled(_))) && !path.exists());
}

#[test]
fn versions_and_paths_are_told() {
    assert_eq!(version().unwrap(), env!("CARGO_PKG_VERSION"));
    let path = library_path().unwrap();
    check_library(path).unwrap();
    assert!(matches!(use_library("/another.so"), Err(Error::State(_))));
    use_library(path).unwrap();
    assert!(api().unwrap().tenon_version.is_some());
}
