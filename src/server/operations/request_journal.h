// Journal of running and finished requests, for logs, traces, limits of clients, metrics and slots.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "server/operations/request_record.h"
#include "server/operations/server_log.h"
#include "server/operations/span_exporter.h"

namespace tenon_http {

/// Thread-safe.
class RequestJournal : public std::enable_shared_from_this<RequestJournal> {
 public:
  /// Totals of a client over all its requests.
  struct ClientTotals {
    uint64_t requests = 0;
    uint64_t prompt_tokens = 0;
    uint64_t generated_tokens = 0;
  };
  struct Totals {
    /// Answers by the status's first digit; index 0: the client had gone.
    std::array<uint64_t, 6> answers{};
    std::map<std::string, ClientTotals> clients{};  ///< keyed by client name
  };

  /// exporter: may be null.
  RequestJournal(ServerLog log, std::shared_ptr<SpanExporter> exporter)
      : log_(log), exporter_(std::move(exporter)) {}

  /// Registers a running request.
  void begin(const std::shared_ptr<RequestRecord>& record);
  /// Counts a request that will compute. Throws ApiError 429 at the client's limit.
  void count(RequestRecord& record);
  /// Counts the answers of a request towards its client's limit. Throws ApiError 429.
  void count_answers(RequestRecord& record, size_t num_answers);
  /// Call once per request, after the answer.
  void end(RequestRecord& record) noexcept;

  /// Running requests in order of arrival.
  [[nodiscard]] std::vector<std::shared_ptr<const RequestRecord>> under_way() const;
  [[nodiscard]] Totals totals() const;
  [[nodiscard]] const ServerLog& log() const { return log_; }

 private:
  void count_more(RequestRecord& record, uint32_t count);
  void add_to_totals(const RequestRecord& record);
  void write_log(const RequestRecord& record) const;

  const ServerLog log_;
  const std::shared_ptr<SpanExporter> exporter_;
  mutable std::mutex mutex_;
  std::map<const RequestRecord*, std::weak_ptr<RequestRecord>> under_way_;
  std::map<std::string, uint32_t> running_;  ///< counted answers per client
  Totals totals_;
};

}  // namespace tenon_http
