// The host's callbacks as the engine takes them: log, memory, clock, threads, readers. Nothing that
// a callback throws gets into the engine.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_source.h"
#include "base/log.h"
#include "base/system.h"
#include "base/thread_team.h"
#include "fence.h"
#include "tenon/tenon.h"

namespace tenon {
class Model;
}

namespace tenon::capi {

/// One host, from tenon_callbacks and tenon_source. What it hands out points into it, so every
/// handle whose objects use it holds it, and destroys it last.
class Host {
 public:
  /// Without callbacks.
  Host() = default;
  /// Throws Argument for callbacks that contradict each other.
  explicit Host(const tenon_callbacks& callbacks);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// The operating system, with the host's memory and clock where he gave them.
  [[nodiscard]] std::shared_ptr<System> system();
  [[nodiscard]] Log log();
  /// The host's threads, if he gave any.
  [[nodiscard]] std::optional<Executor> executor();
  /// Opens a source. Throws Argument for a malformed one, else as ByteSource.
  [[nodiscard]] std::shared_ptr<const ByteSource> open(const tenon_source& source);
  /// Whether loading may go on at `fraction`. Never goes back. Throws Argument when the callback
  /// throws.
  [[nodiscard]] bool progress(double fraction);
  /// Warns when a context exceeds the trained one, if known; warns again for a longer context.
  void note_context(uint64_t context, uint64_t trained);
  /// Warns, once, when a text for generation spells a control token of the model's chat template: a
  /// prompt that was rendered, in which that spelling is text.
  void note_text(const Model& model, std::string_view text) noexcept;
  /// Calls a function of the host that no caller waits for; one that throws is logged. Whether it
  /// returned.
  template <typename Call>
  bool call_host_logged(const char* callback, Call&& call) noexcept {
    if (call_host_quietly(std::forward<Call>(call))) return true;
    log_thrown(callback);
    return false;
  }

 private:
  void log_thrown(const char* callback) noexcept;

  tenon_callbacks callbacks_{};
  std::shared_ptr<System> system_;
  std::deque<tenon_source> readers_;
  double shown_ = 0;
  std::atomic<uint64_t> noted_context_{0};  // the longest one
  std::atomic<bool> noted_text_{false};
  std::once_flag reads_marks_;
  std::vector<std::string> marks_;  // control tokens that the chat template spells
};

}  // namespace tenon::capi
