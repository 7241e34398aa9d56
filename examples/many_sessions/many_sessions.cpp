// Many conversations with one model in one process: an engine with a cache of fixed size, a thread
// lent to it, and requests of two clients, one of which has three times the other's share.
//   many_sessions MODEL [SESSIONS]
#include <exception>
#include <iostream>
#include <string>
#include <tenon/tenon.hpp>
#include <thread>
#include <vector>

namespace {

struct Conversation {
  tenon::Session session;
  tenon::Request request;
};

/// All conversations share a prefix, which is computed once.
std::string conversation_about(const std::string& country) {
  return R"({"messages": [{"role": "system", "content": "You are a helpful teacher of geography. )"
         R"(You answer questions about the countries of the world and their capitals in one short )"
         R"(sentence, and you never invent anything."}, {"role": "user", "content": )"
         R"("What is the capital of )" +
         country + R"(?"}]})";
}

Conversation begin(tenon::Engine& engine, const tenon::Chat& chat, const tenon::Sampler& sampler,
                   int number) {
  const char* countries[] = {"Norway", "France", "Japan", "Italy", "Spain", "Greece"};
  const std::vector<tenon::Token> prompt = chat.encode(conversation_about(countries[number % 6]));
  const bool paying = number % 2 == 0;
  tenon::Session session = engine.open_session({.context = 256});
  tenon::Request request = tenon::submit(session, {.tokens = prompt,
                                                   .sampler = &sampler,
                                                   .max_tokens = 24,
                                                   .timeout_seconds = 300,
                                                   .client = paying ? "paying" : "trial",
                                                   .weight = paying ? 3.0 : 1.0});
  return {std::move(session), std::move(request)};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3) throw std::runtime_error("usage: many_sessions MODEL [SESSIONS]");
  const int num_sessions = argc > 2 ? std::stoi(argv[2]) : 16;
  const tenon::Model model(argv[1]);
  tenon::Engine engine(model, {.cache_bytes = 64 << 20, .running = 32});
  const tenon::Chat chat(model);
  const tenon::Sampler sampler({.temperature = 0});
  std::vector<Conversation> conversations;
  for (int i = 0; i < num_sessions; ++i) {
    conversations.push_back(begin(engine, chat, sampler, i));
  }

  std::thread driver([&engine] { engine.run(); });
  for (Conversation& conversation : conversations) {
    std::string text;
    while (const auto piece = conversation.request.next()) text += piece->text;
    const tenon_request_stats reuse = conversation.request.stats();
    std::cout << reuse.reused_tokens << " of " << reuse.prompt_tokens
              << " prompt tokens reused: " << text << "\n";
  }
  engine.stop();
  driver.join();

  const tenon_engine_stats stats = engine.stats();
  std::cout << stats.finished << " requests, " << stats.generated_tokens << " tokens, "
            << stats.steps << " steps, " << stats.preempted << " preempted, "
            << stats.kv_held_bytes / 1024 << " KiB of cache\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << "many_sessions: " << error.what() << '\n';
  return 1;
}
