//! The operations of scenarios about one object (scores, samplers, grammars, chats, what is in a model), and
//! those that run several at a time. Those that make objects and generate are in scenarios.rs.

use super::*;
use tenon::{Delta, MetadataValue, Reply, Score};

fn floats_of(value: &Json) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect()
}

fn told(delta: &Delta) -> Json {
    match delta {
        Delta::Content(text) => json!(["content", text]),
        Delta::Reasoning(text) => json!(["reasoning", text]),
        Delta::CallBegin { name, .. } => json!(["call_begin", name]),
        Delta::Arguments { text, .. } => json!(["arguments", text]),
        Delta::CallEnd { .. } => json!(["call_end", ""]),
        Delta::CallRetract { .. } => json!(["call_retract", ""]),
        other => panic!("{other:?}"),
    }
}

/// The message of an answer, without the ids of its calls, which are made up anew each time.
fn message_of(reply: &mut Reply) -> Result<Json, Failure> {
    let mut message: Json = serde_json::from_str(reply.message()?).unwrap();
    for call in message.get_mut("tool_calls").and_then(Json::as_array_mut).into_iter().flatten() {
        call.as_object_mut().unwrap().remove("id");
    }
    Ok(message)
}

impl Runner {
    pub(super) fn saved(&self, name: &Json) -> Vec<u8> {
        match self.objects.get(name.as_str().unwrap()) {
            Some(Object::Saved(saved)) => saved.clone(),
            _ => panic!("{name} is nothing that was saved"),
        }
    }

    /// A session and a sampler that it draws with.
    fn with_sampler<T>(
        &mut self,
        step: &Json,
        call: impl FnOnce(&mut Session, &mut Sampler) -> tenon::Result<T>,
    ) -> Result<T, Failure> {
        let name = step["sampler"].as_str().unwrap();
        let Some(Object::Sampler(mut sampler)) = self.objects.remove(name) else {
            panic!("{name} is no sampler");
        };
        let result = call(self.session(&step["session"])?, &mut sampler);
        self.objects.insert(name.into(), Object::Sampler(sampler));
        Ok(result?)
    }

    fn score(&mut self, step: &Json) -> Result<Json, Failure> {
        let session = self.session(&step["session"])?;
        let rows = match step["tokens"].as_array() {
            Some(tokens) => {
                session.score_tokens(&tokens.iter().map(tokens_of).collect::<Vec<_>>(), &Score::new())?
            }
            None => session.score(&texts_of(&step["texts"]), &Score::new())?,
        };
        let counts: Vec<usize> = rows.iter().map(Vec::len).collect();
        let hashes: Vec<String> = rows.iter().map(|row| bits(row)).collect();
        Ok(json!({"counts": counts, "bits": hashes}))
    }

    /// What an answer that comes in parts amounts to: kinds and texts, and its message.
    fn read_answer(&mut self, step: &Json) -> Result<Json, Failure> {
        let mut reply = self.chat(&step["chat"])?.reply(&step["conversation"])?;
        let mut deltas = Vec::new();
        for part in texts_of(&step["parts"]) {
            deltas.extend(reply.push_text(part)?);
        }
        deltas.extend(reply.finish()?);
        let message = message_of(&mut reply)?;
        Ok(json!({"deltas": deltas.iter().map(told).collect::<Vec<_>>(), "message": message}))
    }

    fn chat_answer(&mut self, step: &Json) -> Result<Json, Failure> {
        let conversation = &step["conversation"];
        let mut sampler = Sampler::new(&common::greedy())?;
        let chat = self.chat(&step["chat"])?;
        chat.constrain(conversation, &mut sampler)?;
        let (mut reply, prompt) = (chat.reply(conversation)?, chat.encode(conversation)?);
        let options = Generate::new().max_tokens(step["max_tokens"].as_u64().unwrap());
        for piece in self.session(&step["session"])?.generate(&prompt, options.drawn_by(&sampler))? {
            if let Some(token) = piece?.token {
                reply.push(token)?;
            }
        }
        reply.finish()?;
        message_of(&mut reply)
    }

    fn threads(&mut self, step: &Json) -> Result<Json, Failure> {
        let model = self.model(&json!("model"))?.clone();
        let text = step["text"].as_str().unwrap();
        let texts: Result<Vec<String>, Error> = std::thread::scope(|scope| {
            let work = || Session::new(&model)?.generate(text, &generate_options(step, None))?.text();
            let threads: Vec<_> = (0..step["count"].as_u64().unwrap()).map(|_| scope.spawn(work)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        Ok(texts?.into())
    }

    fn stream_many(&mut self, step: &Json) -> Result<Json, Failure> {
        let engine = Engine::new(self.model(&json!("model"))?)?;
        let streams: Result<Vec<_>, Error> = (0..step["count"].as_u64().unwrap())
            .map(|seed| {
                let sampling = SamplerOptions::new().temperature(1.0).seed(seed as i64);
                let options =
                    Generate::new().max_tokens(step["max_tokens"].as_u64().unwrap()).sampling(sampling);
                engine.stream(step["text"].as_str().unwrap(), &options)
            })
            .collect();
        let texts: Result<Vec<String>, Error> = block_on(async {
            let mut texts = Vec::new();
            for stream in streams? {
                texts.push(stream.text().await?);
            }
            Ok(texts)
        });
        Ok(texts?.into())
    }

    pub(super) fn look(&mut self, step: &Json) -> Outcome {
        let text = step["text"].as_str().unwrap_or_default();
        let count = step["count"].as_u64().unwrap_or_default();
        let model = json!("model");
        let brought = |value: Json| Ok((None, value));
        match step["op"].as_str().unwrap() {
            "score" => brought(self.score(step)?),
            "next" => {
                let draw = |session: &mut Session, sampler: &mut Sampler| {
                    (0..count).map(|_| Ok(session.next_piece(Some(sampler))?.text)).collect()
                };
                let texts: Vec<String> = self.with_sampler(step, draw)?;
                brought(texts.into())
            }
            "take_held" => brought(self.session(&step["session"])?.take_held()?.into()),
            "best_of" => {
                let max_tokens = step["max_tokens"].as_u64().unwrap();
                let (candidates, best) = self.with_sampler(step, |session, sampler| {
                    session.best_of(count as u32, max_tokens, Some(sampler))
                })?;
                let texts: Vec<String> = candidates.into_iter().map(|candidate| candidate.text).collect();
                brought(json!({"texts": texts, "best": best}))
            }
            "set_source" => {
                self.session(&step["session"])?.set_source(text)?;
                brought(Json::Null)
            }
            "cancel_session" => {
                self.session(&step["session"])?.canceller().cancel()?;
                brought(Json::Null)
            }
            "damage" => {
                let mut copy = self.saved(&step["saved"]);
                let middle = copy.len() / 2;
                copy[middle] ^= 1;
                Ok((Some(Object::Saved(copy)), Json::Null))
            }
            "decode" => {
                let (tokens, tokenizer) = (tokens_of(&step["tokens"]), self.model(&model)?.tokenizer()?);
                brought(if step["special"] == true {
                    tokenizer.decode_special(&tokens)?.into()
                } else {
                    tokenizer.decode(&tokens)?.into()
                })
            }
            "decode_bytes" => {
                let bytes = self.model(&model)?.tokenizer()?.decode_bytes(&tokens_of(&step["tokens"]))?;
                brought(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into())
            }
            "find" => brought(self.model(&model)?.tokenizer()?.find(text)?.into()),
            "metadata" => brought(match self.model(&model)?.metadata(step["key"].as_str().unwrap())? {
                None => Json::Null,
                Some(MetadataValue::Text(text)) => text.into(),
                Some(other) => panic!("{other:?}"),
            }),
            "info" => {
                let name = if step["model"].is_null() { &model } else { &step["model"] };
                let info = self.model(name)?.info()?;
                brought(json!([
                    info.architecture,
                    info.vocabulary,
                    info.layers,
                    info.width,
                    info.heads,
                    info.trained_context,
                    info.has_weights != 0,
                ]))
            }
            "version" => brought(tenon::version()?.into()),
            "bias" => {
                let (token, bias) = (step["token"].as_i64().unwrap(), step["bias"].as_f64().unwrap());
                self.sampler(&step["sampler"])?.set_bias(token as i32, bias)?;
                brought(Json::Null)
            }
            "stop_token" => {
                let token = step["token"].as_i64().unwrap();
                self.sampler(&step["sampler"])?.add_stop_token(token as i32)?;
                brought(Json::Null)
            }
            "sample" => {
                let (logits, sampler) = (floats_of(&step["logits"]), self.sampler(&step["sampler"])?);
                let draws: tenon::Result<Vec<i32>> =
                    (0..count as usize).map(|length| sampler.sample(&logits, &vec![0; length])).collect();
                brought(draws?.into())
            }
            "logprobs_of" => {
                let num_top = step["top"].as_u64().unwrap() as usize;
                let found =
                    tenon::logprobs(&floats_of(&step["logits"]), &tokens_of(&step["tokens"]), num_top)?;
                let values: Vec<f32> =
                    found.of_tokens.into_iter().chain(found.top.iter().map(|(_, value)| *value)).collect();
                let top: Vec<i32> = found.top.iter().map(|(token, _)| *token).collect();
                brought(json!({"top": top, "bits": bits(&values)}))
            }
            "accepts" => brought(self.grammar(&step["grammar"])?.accepts(text)?.into()),
            "match" => {
                let tokenizer = self.model(&model)?.tokenizer()?;
                let mut matcher = self.grammar(&step["grammar"])?.matcher(&tokenizer)?;
                let is_taken = matcher.accept_text(text)?;
                brought(json!([is_taken, matcher.forced_text()?, matcher.is_complete()?]))
            }
            "threads" => brought(self.threads(step)?),
            "stream_many" => brought(self.stream_many(step)?),
            "chat_answer" => brought(self.chat_answer(step)?),
            "read_answer" => brought(self.read_answer(step)?),
            other => panic!("no operation {other}"),
        }
    }
}
