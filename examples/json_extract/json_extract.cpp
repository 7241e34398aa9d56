// Extracts facts from a sentence as JSON that always obeys the schema.
#include <iostream>
#include <tenon/tenon.hpp>

constexpr const char* kSchema = R"({
  "type": "object",
  "properties": {"name": {"type": "string", "maxLength": 40},
                 "age": {"type": "integer", "minimum": 0, "maximum": 150},
                 "city": {"type": "string", "maxLength": 40}},
  "required": ["name", "age", "city"], "additionalProperties": false})";

int main(int argc, char** argv) {
  if (argc < 3) return std::cerr << "usage: json_extract MODEL SENTENCE\n", 2;
  try {
    const tenon::Model model(argv[1]);
    tenon::Session session(model);
    session.append(std::string("<|im_start|>user\nExtract JSON: ") + argv[2] +
                       "<|im_end|>\n<|im_start|>assistant\n",
                   {.add_special = true, .parse_special = true});
    tenon::Sampler sampler(tenon::SamplerOptions{.temperature = 0.0});
    sampler.set_grammar(tenon::Grammar::json_schema(kSchema), model.tokenizer());
    for (const auto& piece : session.generate(sampler, 96)) std::cout << piece;
    std::cout << '\n';
  } catch (const tenon::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
