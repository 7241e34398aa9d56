#include "terminal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "failure.h"
#include "host.h"

namespace tenon_program {
namespace {

/// True if the last output ended without a line break.
bool line_is_open = false;

bool has_style(Stream stream) {
  const char* const refused = std::getenv("NO_COLOR");
  return (refused == nullptr || *refused == '\0') && shows_colours(stream);
}

[[noreturn]] void fail_output() {
  const int error = errno;
  if (error == EPIPE) throw OutputClosed();
  throw Failure(std::string("writing to standard output failed: ") + std::strerror(error) +
                "; make room or open it");
}

/// Bytes of the well-formed UTF-8 character at the start of `text`; 0 if none.
size_t character_bytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead >= 0xf5 || (lead >= 0x80 && lead < 0xc2) || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

bool is_control(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  // The second case is U+0080..U+009F, which some terminals interpret as well.
  return lead < 0x20 || lead == 0x7f ||
         (lead == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

void append_escaped(std::string& out, std::string_view bytes) {
  for (const char c : bytes) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      std::array<char, 8> text{};
      std::snprintf(text.data(), text.size(), "\\x%02x", static_cast<unsigned char>(c));
      out += text.data();
    }
  }
}

}  // namespace

void print(std::string_view text) {
  if (!text.empty()) line_is_open = text.back() != '\n';
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_output();
}

void flush() {
  if (std::fflush(stdout) != 0) fail_output();
}

bool stdout_style() {
  static const bool on = has_style(Stream::Output);
  return on;
}

bool stderr_style() {
  static const bool on = has_style(Stream::Errors);
  return on;
}

std::string styled(bool on, Style style, const std::string& text) {
  if (!on || text.empty()) return text;
  constexpr std::array kCodes = {"1", "1;31", "33", "1;36", "2"};
  return "\x1b[" + std::string(kCodes[static_cast<size_t>(style)]) + "m" + text + "\x1b[0m";
}

void begin_error_line() {
  (void)std::fflush(stdout);
  if (line_is_open) std::fputc('\n', stderr);
  line_is_open = false;
}

void say(Style kind, const std::string& line) {
  begin_error_line();
  const std::string whole = styled(stderr_style(), kind, "tenon:") + " " + line + "\n";
  (void)std::fwrite(whole.data(), 1, whole.size(), stderr);
}

size_t terminal_columns() { return width_of_terminal(); }

bool stdout_is_terminal() { return is_terminal(Stream::Output); }

ProgressBar::ProgressBar(std::string label)
    : label_(std::move(label)), enabled_(is_terminal(Stream::Errors)) {}

void ProgressBar::update(double fraction) {
  if (!enabled_) return;
  const int percent = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * 100.0);
  if (percent == percent_) return;
  percent_ = percent;
  constexpr int kWidth = 30;
  const auto filled = static_cast<size_t>(percent * kWidth / 100);
  const std::string bar = std::string(filled, '#') + std::string(kWidth - filled, ' ');
  std::fprintf(stderr, "\r%s [%s] %3d %%", label_.c_str(), bar.c_str(), percent);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (percent_ < 0) return;
  percent_ = -1;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

std::function<bool(double)> ProgressBar::callback() {
  return [this](double fraction) {
    update(fraction);
    return true;
  };
}

Waiting::Waiting(std::string what) : what_(std::move(what)) {
  if (is_terminal(Stream::Errors)) thread_ = std::thread([this] { run(); });
}

Waiting::~Waiting() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  change_.notify_one();
  thread_.join();
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
}

void Waiting::run() {
  std::unique_lock lock(mutex_);
  for (int seconds = 0; !done_; ++seconds) {
    std::fprintf(stderr, "\r%s: %d s", what_.c_str(), seconds);
    std::fflush(stderr);
    change_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; });
  }
}

tenon::Log warnings() {
  return {[](uint32_t level, std::string_view line) {
    const char* const kind = level == TENON_LOG_ERROR ? "error" : "warning";
    say(level == TENON_LOG_ERROR ? Style::Error : Style::Note,
        std::string(kind) + ": " + printable(line, 1000));
  }};
}

std::string printable(std::string_view text, size_t limit) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= limit) return out + "...";
    const size_t length = character_bytes(text);
    const std::string_view bytes = text.substr(0, std::max<size_t>(length, 1));
    if (length == 0 || is_control(bytes)) {
      append_escaped(out, bytes);
    } else {
      out += bytes;
    }
    text.remove_prefix(bytes.size());
  }
  return out;
}

std::string size_text(uint64_t bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

void warn_all_banned() { say(Style::Note, "ended early: all that could follow is banned"); }

}  // namespace tenon_program
