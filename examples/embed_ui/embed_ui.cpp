// Desktop program with a model: a window that draws sixty frames a second while answers stream in.
// Prints the times of its frames at the end.
//   embed_ui MODEL            chats until the window is closed
//   embed_ui MODEL QUESTION   asks this, and closes after the answer
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "assistant.h"
#include "chat_window.h"

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kFrame = std::chrono::microseconds(16667);
constexpr int kLeastFrames = 60;  // minimum for meaningful statistics
constexpr size_t kColumns = 100;

/// Text so far, as lines that fit the window.
class Transcript {
 public:
  void begin(const std::string& text) { lines_.push_back(text); }
  void add(const std::string& text) {
    for (const char c : text) {
      if (c == '\n' || lines_.back().size() >= kColumns) lines_.emplace_back();
      if (c != '\n') lines_.back() += c;
    }
    all_ += text;
  }
  void draw(ChatWindow& window) const {
    const size_t fit = ChatWindow::kHeight / ChatWindow::kLine - 3;
    const size_t first = lines_.size() - std::min(lines_.size(), fit);
    for (size_t i = first; i < lines_.size(); ++i) {
      const int y = ChatWindow::kLine * static_cast<int>(i - first + 1);
      window.draw_text(8, y, lines_[i]);
    }
  }
  [[nodiscard]] const std::string& answers() const { return all_; }

 private:
  std::vector<std::string> lines_{""};
  std::string all_;
};

/// Records the time between frames.
class FrameTimes {
 public:
  void tick() {
    const auto now = Clock::now();
    if (num_frames_++ > 0)
      ms_.push_back(std::chrono::duration<double, std::milli>(now - last_).count());
    last_ = now;
  }
  void print() {
    if (ms_.empty()) return;
    std::sort(ms_.begin(), ms_.end());
    const auto at = [&](double part) {
      return ms_[static_cast<size_t>(part * static_cast<double>(ms_.size() - 1))];
    };
    std::cout << num_frames_ << " frames: p50 " << at(0.5) << " ms, p99 " << at(0.99)
              << " ms, longest " << at(1) << " ms\n";
  }
  [[nodiscard]] int num_frames() const { return num_frames_; }

 private:
  Clock::time_point last_;
  std::vector<double> ms_;
  int num_frames_ = 0;
};

void draw(ChatWindow& window, const Assistant& assistant, const Transcript& transcript, int frame) {
  window.clear();
  transcript.draw(window);
  const int bottom = ChatWindow::kHeight - 8;
  if (const std::string failure = assistant.failure(); !failure.empty()) {
    window.draw_text(8, bottom, failure);
  } else if (assistant.loading() < 1) {
    window.draw_bar(8, bottom - 6, static_cast<int>(assistant.loading() * 600));
  } else {
    window.draw_text(8, bottom, "> " + window.line() + (frame / 30 % 2 == 0 ? "_" : ""));
  }
  // Draw something that moves, so that a late frame is visible.
  window.draw_bar(8 + 4 * (frame % 150), bottom - 2 * ChatWindow::kLine, 20);
  window.present();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2 && argc != 3) throw std::runtime_error("usage: embed_ui MODEL [QUESTION]");
  ChatWindow window("Tenon");
  Assistant assistant(argv[1]);
  Transcript transcript;
  FrameTimes times;
  std::string question = argc == 3 ? argv[2] : "";
  bool asked = false;
  for (auto next = Clock::now(); !window.closed();) {
    times.tick();
    if (window.take_events() && question.empty()) {
      question = window.line();
      window.clear_line();
    }
    if (!question.empty() && assistant.idle()) {
      transcript.begin("> " + question);
      transcript.begin("");
      assistant.ask(question);
      question.clear();
      asked = true;
    }
    transcript.add(assistant.take_text());
    draw(window, assistant, transcript, times.num_frames());
    const bool done = asked && assistant.idle() && question.empty();
    const bool shown = done && times.num_frames() >= kLeastFrames;
    if (argc == 3 && (shown || !assistant.failure().empty())) break;
    next = std::max(next + kFrame, Clock::now() - kFrame);
    std::this_thread::sleep_until(next);
  }
  if (!assistant.failure().empty()) throw std::runtime_error(assistant.failure());
  std::cout << transcript.answers() << "\n"
            << assistant.num_tokens() << " tokens, " << window.count_ink() << " pixels drawn\n";
  times.print();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "embed_ui: " << error.what() << '\n';
  return 1;
}
