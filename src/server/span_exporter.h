// Spans of requests to an OpenTelemetry collector: OTLP/HTTP with JSON (OTLP 1.x, "ExportTraceServiceRequest").
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"
#include "request_record.h"

namespace tenon_http {

/// Any thread. What a collector does not take is dropped and counted: answers never wait for it.
class SpanExporter {
 public:
  /// address: "http://HOST[:PORT][/PATH]"; 4318 and /v1/traces where it says nothing. Throws
  /// tenon::Error.
  explicit SpanExporter(std::string_view address);

  void add(const RequestRecord& record);
  [[nodiscard]] bool has_spans() const;
  /// Sends what there is. Takes at most a few seconds; one thread at a time, the others return.
  void send();
  [[nodiscard]] uint64_t num_dropped() const { return num_dropped_; }

 private:
  std::string host_;
  std::string port_ = "4318";
  std::string path_ = "/v1/traces";
  mutable std::mutex mutex_;
  std::vector<Json> spans_;
  std::atomic<bool> is_sending_{false};
  std::atomic<uint64_t> num_dropped_{0};
};

/// A span in OTLP's JSON.
Json span_of(const RequestRecord& record);

}  // namespace tenon_http
