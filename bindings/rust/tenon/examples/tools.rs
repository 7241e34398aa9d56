//! A model calls a function of the program, and answers with what it gave: `tools [MODEL]`.

use serde_json::{json, Value};
use tenon::{Chat, Generate, Model, Sampler, SamplerOptions, Session};

fn weather(city: &str) -> Value {
    json!({"city": city, "temperature": 4, "sky": "clear"})
}

/// The answer to a conversation, as a message.
fn answer(model: &Model, chat: &Chat, conversation: &Value) -> Result<Value, Box<dyn std::error::Error>> {
    let mut sampler = Sampler::new(&SamplerOptions::new().temperature(0.0))?;
    chat.constrain(conversation, &mut sampler)?;
    let mut reply = chat.reply(conversation)?;
    let mut session = Session::new(model)?;
    let options = Generate::new().max_tokens(100);
    for piece in session.generate(&chat.encode(conversation)?, options.drawn_by(&sampler))? {
        if let Some(token) = piece?.token {
            reply.push(token)?;
        }
    }
    reply.finish()?;
    Ok(serde_json::from_str(reply.message()?)?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "demo-q8_0.gguf".into());
    let model = Model::open(path)?;
    let chat = Chat::new(&model)?;
    let city = json!({"type": "string", "maxLength": 12});
    let mut conversation = json!({
        "messages": [{"role": "user", "content": "What is the weather in Oslo?"}],
        "tools": [{"type": "function", "function": {
            "name": "get_weather",
            "description": "Weather of a city",
            "parameters": {"type": "object", "properties": {"city": city}, "required": ["city"]},
        }}],
        "tool_choice": "required",
    });
    let message = answer(&model, &chat, &conversation)?;
    let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
    let messages = conversation["messages"].as_array_mut().ok_or("no messages")?;
    messages.push(message);
    for call in &calls {
        let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap_or("{}"))?;
        let result = weather(arguments["city"].as_str().unwrap_or_default());
        println!("{}({arguments}) = {result}", call["function"]["name"].as_str().unwrap_or_default());
        messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": result.to_string()}));
    }
    conversation["tool_choice"] = json!("none");
    println!("{}", answer(&model, &chat, &conversation)?["content"].as_str().unwrap_or_default());
    Ok(())
}
