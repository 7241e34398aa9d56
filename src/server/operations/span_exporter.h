// Sends spans of requests to an OpenTelemetry collector: OTLP/HTTP with JSON (OTLP 1.x,
// "ExportTraceServiceRequest").
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/json/json.h"
#include "server/operations/request_record.h"
#include "server/work/side_thread.h"

namespace tenon_http {

/// Thread-safe. A separate thread sends every second. Spans that the collector refuses are dropped
/// and counted.
class SpanExporter : public std::enable_shared_from_this<SpanExporter> {
 public:
  /// address: "http://HOST[:PORT][/PATH]"; defaults are 4318 and /v1/traces. Throws tenon::Error.
  explicit SpanExporter(std::string_view address);

  void add(const RequestRecord& record);
  /// Starts the thread. Throws if no thread can start.
  void start();
  /// Sends the remaining spans until `limit`.
  void stop(SideThread::Clock::time_point limit) noexcept;
  [[nodiscard]] uint64_t num_dropped() const { return num_dropped_; }

 private:
  void run();
  void send(Json::array_t spans);
  [[nodiscard]] bool is_too_late() const;

  std::string host_;
  std::string port_ = "4318";
  std::string path_ = "/v1/traces";
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Json::array_t spans_;
  std::optional<SideThread::Clock::time_point> limit_;  ///< deadline of a stop
  std::atomic<uint64_t> num_dropped_{0};
  std::mutex thread_mutex_;  ///< held while the thread starts or ends
  bool has_started_ = false;
  SideThread thread_;
};

/// Formats a span as OTLP's JSON.
Json span_of(const RequestRecord& record);

}  // namespace tenon_http
