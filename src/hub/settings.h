// Settings of a hub object, and the watch that reports progress and ends calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/system.h"
#include "hub/transport.h"

namespace tenon::hub {

struct Settings {
  std::string endpoint = "https://huggingface.co";  ///< without trailing slash
  std::string token;                                ///< sent to the endpoint's origin alone
  std::string cache_folder;   ///< huggingface_hub's layout; empty: hf: is refused
  std::string url_folder;     ///< of files from plain URLs; empty: they are refused
  std::string ollama_folder;  ///< read only; empty: none, here and below
  std::string lmstudio_folder;
  std::string llamacpp_folder;
  bool offline = false;
  uint32_t connections = 4;   ///< per file
  uint32_t retries = 5;       ///< in a row, without a piece in between
  double stall_seconds = 30;  ///< without a byte, after which a connection is given up
  double retry_seconds = 1;   ///< before the first retry; doubled each time
  uint64_t memory_bytes = 0;  ///< that a model may take; 0: this machine's
  uint64_t context = 0;       ///< positions for which a model must fit; 0: a session's default
  uint64_t piece_bytes = uint64_t{4} << 20;  ///< unit of resuming
  std::shared_ptr<System> system = System::real();
  std::function<std::unique_ptr<Transport>()> open_transport;
  /// Bytes that an ordinary user may still write to the file system of a folder, or -errno.
  std::function<int64_t(const char* folder)> free_bytes;
};

enum class Phase : uint32_t { Asking = 1, Waiting = 2, Downloading = 3, Verifying = 4 };

struct Progress {
  Phase phase = Phase::Asking;
  std::string file;         ///< path in the repository; empty while asking
  uint64_t file_index = 0;  ///< from 0
  uint64_t num_files = 0;
  uint64_t bytes_done = 0;   ///< of all files, kept ones included
  uint64_t bytes_total = 0;  ///< 0 while unknown
};

/// Progress of a call, reported at most ten times a second, and its cancellation.
class Watch {
 public:
  /// report: returns true to cancel; may be empty.
  Watch(System& system, std::function<bool(const Progress&)> report,
        const std::atomic<bool>& is_cancelled)
      : system_(&system), report_(std::move(report)), is_cancelled_(&is_cancelled) {}

  /// Throws Cancelled. Reports if it is time; always if `at_once`.
  void check(bool at_once = false);
  /// Sleeps, checking; throws Cancelled.
  void sleep(double seconds);
  [[nodiscard]] double now() const { return static_cast<double>(system_->now_ns()) * 1e-9; }

  Progress progress;

 private:
  System* system_;
  std::function<bool(const Progress&)> report_;
  const std::atomic<bool>* is_cancelled_;
  double reported_ = -1;
};

/// Longest sleep between two checks, in seconds.
inline constexpr double kCheckSeconds = 0.05;

}  // namespace tenon::hub
