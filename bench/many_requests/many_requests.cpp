// 64 requests at once from C++, which those of the bindings are measured against (README.md):
//   many_requests MODEL COUNT TOKENS     prints the tokens a second
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <tenon/tenon.hpp>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

/// Tokens of `count` requests that are submitted at once.
uint64_t generate(tenon::Engine& engine, int count, uint64_t tokens) {
  std::vector<std::pair<tenon::Session, tenon::Request>> all;
  for (int seed = 0; seed < count; ++seed) {
    const tenon::Sampler sampler({.seed = seed});
    tenon::Session session = engine.open_session({.context = 256});
    tenon::Request request = tenon::submit(session, {.text = "Once upon a time",
                                                     .add_special = true,
                                                     .ignore_end = true,
                                                     .sampler = &sampler,
                                                     .max_tokens = tokens});
    all.emplace_back(std::move(session), std::move(request));
  }
  uint64_t generated = 0;
  for (auto& [session, request] : all) {
    while (request.next()) ++generated;
  }
  return generated;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) throw std::runtime_error("usage: many_requests MODEL COUNT TOKENS");
  const int count = std::stoi(argv[2]);
  const tenon::Model model(argv[1]);
  tenon::Engine engine(model, {.running = count});
  std::thread driver([&engine] { engine.run(); });
  generate(engine, count, 2);
  const auto begin = Clock::now();
  const uint64_t tokens = generate(engine, count, std::stoull(argv[3]));
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  std::cout << static_cast<double>(tokens) / seconds << '\n';
  engine.stop();
  driver.join();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "many_requests: " << error.what() << '\n';
  return 1;
}
