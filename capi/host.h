// Adapts the host's callbacks for the engine: log, memory, clock, threads, readers. No exception of
// a callback enters the engine.
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

/// Host, from tenon_callbacks and tenon_source. Its adapters point into it, so every handle whose
/// objects use them holds the host, and destroys it last.
class Host {
 public:
  /// Host without callbacks.
  Host() = default;
  /// Throws Argument for contradictory callbacks.
  explicit Host(const tenon_callbacks& callbacks);
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Operating system, with the host's memory and clock if given.
  [[nodiscard]] std::shared_ptr<System> system();
  [[nodiscard]] Log log();
  /// The host's threads, if given.
  [[nodiscard]] std::optional<Executor> executor();
  /// Opens a source. Throws Argument for a malformed source; other errors as ByteSource.
  [[nodiscard]] std::shared_ptr<const ByteSource> open(const tenon_source& source);
  /// Reports progress, which never decreases; false if loading must stop. Throws Argument if the
  /// callback throws.
  [[nodiscard]] bool progress(double fraction);
  /// Warns when a context exceeds the trained one, if known; warns again for a longer context.
  void note_context(uint64_t context, uint64_t trained);
  /// Warns once if a text for generation spells a control token of the model's chat template. Such
  /// a text is probably a rendered prompt, in which the spelling is plain text.
  void note_text(const Model& model, std::string_view text) noexcept;
  /// Calls a function of the host that no caller waits for. Logs an exception and returns false.
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
  std::atomic<uint64_t> noted_context_{0};  // longest context so far
  std::atomic<bool> noted_text_{false};
  std::once_flag reads_marks_;
  std::vector<std::string> marks_;  // control tokens that the chat template spells
};

}  // namespace tenon::capi
