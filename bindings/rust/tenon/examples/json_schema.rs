//! An answer that is a JSON document of a schema: `json_schema [MODEL]`.

use serde_json::{json, Value};
use tenon::{Chat, Generate, Grammar, Model, SamplerOptions, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "demo-q8_0.gguf".into());
    let model = Model::open(path)?;
    // The answer has the properties in this order. A text keeps it, serde_json::Value sorts its keys.
    let grammar = Grammar::json_schema(
        r#"{
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 8},
            "age": {"type": "integer", "minimum": 0, "maximum": 99}
        },
        "required": ["name", "age"],
        "additionalProperties": false
    }"#,
    )?;
    let question = "Extract name and age as JSON: Mia is 41 years old.";
    let prompt = Chat::new(&model)?.encode(json!({"messages": [{"role": "user", "content": question}]}))?;
    let options =
        Generate::new().grammar(&grammar).max_tokens(48).sampling(SamplerOptions::new().temperature(0.0));
    let text = Session::new(&model)?.generate(&prompt, &options)?.text()?;
    let document: Value = serde_json::from_str(&text)?;
    println!("{} is {}", document["name"].as_str().unwrap_or("?"), document["age"]);
    Ok(())
}
