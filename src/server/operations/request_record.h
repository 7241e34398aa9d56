// Data of a running request, for logs, traces, metrics and slots.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/operations/trace_context.h"

namespace tenon_http {

struct ApiClient;
class RequestJournal;
class ServedModel;

/// Written on the loop, unless a member says otherwise.
class RequestRecord {
 public:
  using Clock = std::chrono::steady_clock;

  /// request_id, traceparent: headers of these names, "" if absent. An id that is long or has
  /// unusual characters is replaced.
  RequestRecord(std::string_view request_id, std::string_view traceparent);

  std::string id;
  std::string method{};
  std::string path{};
  TraceContext trace;
  std::chrono::system_clock::time_point date = std::chrono::system_clock::now();
  Clock::time_point arrival = Clock::now();
  Clock::time_point end{};  ///< time when the answer was complete or the client had gone

  const ApiClient* client = nullptr;
  bool is_counted = false;   ///< waits or computes; counts towards the client's limit
  uint32_t num_counted = 0;  ///< answers counted towards the client's limit
  int status = 0;            ///< status of the answer; 0 before it
  bool is_complete = false;
  uint64_t prompt_tokens = 0;
  uint64_t cached_tokens = 0;
  uint64_t generated_tokens = 0;
  std::optional<Clock::time_point> first_token{};
  /// Notes for the client, in the header Tenon-Notes and a field of the answer.
  std::vector<std::string> notes{};

  /// Keeps the model loaded until the request ends. Thread-safe.
  void use(std::shared_ptr<const ServedModel> model);
  /// Returns "" until the model is known. Thread-safe.
  [[nodiscard]] std::string model_name() const;

  [[nodiscard]] double seconds_until(Clock::time_point time) const {
    return std::chrono::duration<double>(time - arrival).count();
  }

  /// Journal to notify of the end.
  std::shared_ptr<RequestJournal> journal{};

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const ServedModel> model_;
};

}  // namespace tenon_http
