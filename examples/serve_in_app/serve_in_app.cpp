// Program with a model that also serves other programs: its user writes lines, and clients connect
// over HTTP. Both share one engine, the user with the larger share.
//   serve_in_app MODEL [PORT]
#include <tenon/server.h>

#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <tenon/tenon.hpp>
#include <thread>

namespace {

/// The user's share of the engine, relative to all HTTP clients together, while both want it.
constexpr double kShareOfUser = 4;

void check_server(tenon_status status) {
  if (status != TENON_OK) throw std::runtime_error(tenon_server_last_error());
}

/// Answers other programs from the engine, on threads of its own, without computing itself.
class ServerInApp {
 public:
  ServerInApp(const tenon::Model& model, tenon::Engine& engine, uint16_t port) {
    tenon_server* raw = nullptr;
    check_server(tenon_server_create(nullptr, &raw));
    server_.reset(raw);
    check_server(tenon_server_add_engine(raw, "app", 3, model.get(), engine.get(), 0));
    check_server(tenon_server_listen_tcp(raw, "127.0.0.1", port, &port_));
    // One thread serves the sockets, one parses requests.
    check_server(tenon_server_start(raw, 2));
  }

  [[nodiscard]] uint16_t port() const { return port_; }

 private:
  struct Destroy {
    void operator()(tenon_server* server) const noexcept {
      (void)tenon_server_stop(server, 2);  // running answers may end
      tenon_server_destroy(server);
    }
  };
  std::unique_ptr<tenon_server, Destroy> server_;
  uint16_t port_ = 0;
};

/// Thread of the program that computes for the engine.
class ComputingThread {
 public:
  explicit ComputingThread(tenon::Engine& engine)
      : engine_(engine), thread_([&engine] { engine.run(); }) {}
  ComputingThread(const ComputingThread&) = delete;
  ComputingThread& operator=(const ComputingThread&) = delete;
  ~ComputingThread() {
    engine_.stop();
    thread_.join();
  }

 private:
  tenon::Engine& engine_;
  std::thread thread_;
};

/// `text` as a JSON string.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + '"';
}

/// Interface for the user: a question per line, and its answer.
void talk(const tenon::Model& model, tenon::Engine& engine) {
  const tenon::Chat chat(model);
  tenon::Session session = engine.open_session({.client = "user", .weight = kShareOfUser});
  std::string messages;
  for (std::string line; std::getline(std::cin, line);) {
    if (!messages.empty()) messages += ", ";
    messages += "{\"role\": \"user\", \"content\": " + quoted(line) + "}";
    const auto show = [](const tenon::ChatDelta& delta) {
      if (delta.kind == TENON_CHAT_CONTENT) std::cout << delta.text << std::flush;
    };
    messages += ", " + chat.answer(session, "{\"messages\": [" + messages + "]}", show,
                                   {.sampler = {.temperature = 0}});
    std::cout << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2 || argc > 3) throw std::runtime_error("usage: serve_in_app MODEL [PORT]");
  const auto port = static_cast<uint16_t>(argc > 2 ? std::stoi(argv[2]) : 0);
  const tenon::Model model(argv[1]);
  tenon::Engine engine(model);
  const ComputingThread computing(engine);
  const ServerInApp server(model, engine, port);
  std::cout << "other programs ask at http://127.0.0.1:" << server.port() << std::endl;
  talk(model, engine);
  const tenon_engine_stats stats = engine.stats();
  std::cout << stats.generated_tokens << " tokens for other programs" << std::endl;
  return 0;
} catch (const std::exception& error) {
  std::cerr << "serve_in_app: " << error.what() << '\n';
  return 1;
}
