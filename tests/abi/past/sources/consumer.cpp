// The same for the C++ headers, whose code lives in the programs that include them: what a program has
// of them, of its year, must go on working with a newer library.  consumer MODEL WORK_FOLDER
#include <atomic>
#include <iostream>
#include <tenon/tenon.hpp>

namespace {

constexpr std::string_view kPrompt =
    "<|im_start|>user\nWhat is the capital of Norway?<|im_end|>\n<|im_start|>assistant\n";
constexpr std::string_view kConversation =
    R"({"messages": [{"role": "user", "content": "What is the capital of Norway?"}]})";

void sessions(const tenon::Model& model, const std::string& folder) {
  tenon::Session session(model, {.context = 256});
  const tenon::GenerateOptions greedy{
      .max_tokens = 8, .parse_special = true, .sampler = {.temperature = 0.0}};
  for (const auto& piece : session.generate(kPrompt, greedy)) std::cout << '[' << piece.text << ']';
  std::cout << '\n';
  tenon::Session fork = session.fork();
  tenon::Sampler sampler(tenon::SamplerOptions{.temperature = 0.0, .stop = {"."}});
  for (const auto& piece : fork.generate(sampler, 8)) std::cout << piece;
  const std::vector<std::byte> saved = session.save();
  session.save(folder + "/past_cpp.session");
  session.rewind(1);
  session.restore(saved);
  session.restore(folder + "/past_cpp.session", true);
  std::remove((folder + "/past_cpp.session").c_str());
  std::cout << ", position " << session.position() << " of " << session.context() << ", logits "
            << session.logits().size() << ", text "
            << (session.tokens().size() == session.position()) << '\n';
  const auto best = session.best_of(sampler, 2, 3);
  std::cout << "answers " << best.candidates.size() << ", logprobs "
            << session.append_with_logprobs(std::vector<tenon::Token>{1, 2}).size() << '\n';
  try {
    session.evaluate(std::vector<tenon::Token>{1}, [](uint64_t, std::span<const float>) -> bool {
      throw std::runtime_error("thrown");
    });
  } catch (const std::runtime_error& error) {
    std::cout << error.what() << " comes back\n";
  }
  try {
    session.rewind(10'000);
  } catch (const tenon::Error& error) {
    std::cout << error.code_name() << ": " << error.what() << '\n';
  }
}

void engines(const tenon::Model& model) {
  tenon::Engine engine(model, {.cache_bytes = 1 << 22});
  tenon::Session session = engine.open_session();
  std::atomic<int> notified = 0;
  tenon::Submission what;
  what.text = kPrompt;
  what.parse_special = true;
  what.max_tokens = 4;
  what.logprobs = true;
  what.notify = [](void* user) { ++*static_cast<std::atomic<int>*>(user); };
  what.user = &notified;
  tenon::Sampler sampler(tenon::SamplerOptions{.temperature = 0.0});
  what.sampler = &sampler;
  tenon::Request request = tenon::submit(session, what);
  while (const auto piece = request.next())
    std::cout << '(' << piece->text << ')' << (request.logprobs() <= 0);
  std::cout << " notified " << (notified > 0) << ", prompt " << request.stats().prompt_tokens
            << ", finished " << engine.stats().finished << ", text "
            << (engine.stats_text().size() > 100) << '\n';
}

void grammars(const tenon::Model& model) {
  const tenon::Tokenizer tokenizer = model.tokenizer();
  tenon::GrammarCache cache(1 << 20);
  const tenon::Grammar schema =
      cache.json_schema(R"({"type": "object", "properties": {"a": {"type": "integer"}},
      "required": ["a"], "additionalProperties": false})");
  tenon::Matcher matcher(schema, tokenizer);
  const bool begun = matcher.accept(R"({"a": 1)");
  std::cout << "accepts " << schema.accepts(R"({"a": 12})") << schema.accepts("{}") << begun
            << matcher.is_complete() << ", mask " << matcher.mask().size() << '\n';
}

void chats(const tenon::Model& model) {
  const tenon::Chat chat(model);
  tenon::Session session(model);
  std::string content;
  const std::string message = chat.answer(
      session, kConversation, [&](const tenon::ChatDelta& delta) { content += delta.text; },
      {.max_tokens = 24, .sampler = {.temperature = 0.0}});
  std::cout << chat.format() << ": " << content << " | " << message << '\n';
}

void embeddings(const std::string& folder) {
  const std::string path = folder + "/past_cpp.gguf";
  tenon::write_random_model(path, "tiny-bert", "f32");
  const tenon::Model model(path);
  std::remove(path.c_str());
  const tenon::Embedder embedder(model);
  const tenon::Rows rows = embedder.embed({"a", "b"});
  std::cout << "rows " << rows.size() << " of " << (rows.dimensions == embedder.dimensions())
            << ", ranked "
            << embedder.rank("a", std::vector<std::string_view>{"b", "c", "d"}).size() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    int progress = 0;
    const tenon::Model model(argv[1], {.threads = 1,
                                       .extra = {{"isa", "portable"}},
                                       .progress = [&](double) { return ++progress > 0; }});
    const tenon_model_info info = model.info();
    std::cout << std::string_view(info.architecture, info.architecture_length) << ", progress "
              << (progress > 0) << ", tensors " << (model.num_tensors() > 10) << ", name "
              << model.metadata_value("general.architecture").text << '\n';
    sessions(model, argv[2]);
    engines(model);
    grammars(model);
    chats(model);
    embeddings(argv[2]);
    std::cout << "backends " << (tenon::backends().size() >= 2) << ", options "
              << (tenon::option_list().size() > 10) << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::cout << "failed: " << error.what() << '\n';
    return 1;
  }
}
