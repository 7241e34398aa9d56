// Chat with a model for a program that must not block: a separate thread loads and computes, and
// every function returns at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <tenon/tenon.hpp>
#include <thread>
#include <vector>

class Assistant {
 public:
  explicit Assistant(std::string path) : worker_([this, path = std::move(path)] { work(path); }) {}
  ~Assistant() {
    leaving_ = true;
    if (ready_) loaded_->engine.stop();
    worker_.join();
    request_.reset();
  }
  Assistant(const Assistant&) = delete;
  Assistant& operator=(const Assistant&) = delete;

  /// Loading progress, 0..1.
  [[nodiscard]] double loading() const { return loading_; }
  /// True if loaded and not answering.
  [[nodiscard]] bool idle() const { return ready_ && !request_; }
  /// Reason of a failed load; otherwise empty.
  [[nodiscard]] std::string failure() const { return failed_ ? failure_ : std::string(); }
  [[nodiscard]] size_t num_tokens() const { return num_tokens_; }

  /// Begins to answer. idle() must be true.
  void ask(const std::string& question) {
    if (!messages_.empty()) messages_ += ", ";
    messages_ += R"({"role": "user", "content": ")" + escaped(question) + R"("})";
    const std::string conversation = R"({"messages": [)" + messages_ + "]}";
    tenon::Chat::advance(loaded_->session, loaded_->chat.encode(conversation));
    reply_.emplace(loaded_->chat.reply(conversation));
    const tenon::Sampler sampler({.temperature = 0});
    request_.emplace(tenon::submit(loaded_->session, {.sampler = &sampler}));
  }

  /// Text of the answer since the last call.
  std::string take_text() {
    std::string text;
    const auto show = [&text](const tenon::ChatDelta& delta) {
      if (delta.kind == TENON_CHAT_CONTENT) text += delta.text;
    };
    while (request_) {
      const tenon::Piece piece = request_->poll();
      if (piece.token != TENON_NO_TOKEN) {
        ++num_tokens_;
        reply_->push(piece.token, show);
      }
      if (piece.finish == TENON_FINISH_NONE) {
        if (piece.token == TENON_NO_TOKEN) return text;  // nothing available yet
        continue;
      }
      reply_->finish(show);
      messages_ += ", " + reply_->message();
      request_.reset();
    }
    return text;
  }

 private:
  struct Loaded {
    tenon::Model model;
    tenon::Engine engine;
    tenon::Session session;
    tenon::Chat chat;
    explicit Loaded(tenon::Model&& from)
        : model(std::move(from)),
          engine(model, {.cache_bytes = 256 << 20}),
          session(engine.open_session()),
          chat(model) {}
  };

  void work(const std::string& path) {
    try {
      // Leave one core to the window.
      const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - 1);
      tenon::ModelOptions options{.threads = threads};
      options.progress = [this](double fraction) {
        loading_ = fraction;
        return !leaving_;
      };
      loaded_ = std::make_unique<Loaded>(tenon::Model(path, options));
      ready_ = true;
      if (!leaving_) loaded_->engine.run();
    } catch (const std::exception& error) {
      failure_ = error.what();
      failed_ = true;
    }
  }
  static std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out;
  }

  std::unique_ptr<Loaded> loaded_;  // owned by the worker until ready_
  std::string failure_;             // owned by the worker until failed_
  std::atomic<bool> ready_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> leaving_{false};
  std::atomic<double> loading_{0};
  std::string messages_;
  std::optional<tenon::ChatReply> reply_;
  std::optional<tenon::Request> request_;
  size_t num_tokens_ = 0;
  std::thread worker_;  // last member: uses the others
};
