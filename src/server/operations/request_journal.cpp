#include "server/operations/request_journal.h"

#include <algorithm>
#include <cmath>

#include "server/api_error.h"
#include "server/operations/api_keys.h"
#include "server/work/fence.h"

namespace tenon_http {
namespace {

double milliseconds(double seconds) { return std::round(seconds * 1e6) / 1e3; }

}  // namespace

void RequestJournal::begin(const std::shared_ptr<RequestRecord>& record) {
  record->journal = shared_from_this();
  const std::lock_guard lock(mutex_);
  under_way_.emplace(record.get(), record);
}

void RequestJournal::count(RequestRecord& record) {
  const std::lock_guard lock(mutex_);
  count_more(record, 1);
  record.is_counted = true;
}

void RequestJournal::count_answers(RequestRecord& record, size_t num_answers) {
  const std::lock_guard lock(mutex_);
  const auto answers = static_cast<uint32_t>(num_answers);
  if (record.is_counted && answers > record.num_counted) {
    count_more(record, answers - record.num_counted);
  }
}

/// The caller holds the lock.
void RequestJournal::count_more(RequestRecord& record, uint32_t count) {
  const ApiClient* client = record.client;
  if (client == nullptr) return;
  uint32_t& running = running_[client->name];
  if (client->max_requests != 0 &&
      count > client->max_requests - std::min(running, client->max_requests)) {
    throw ApiError(
        429, "rate_limit_error",
        "client " + client->name + " has " + std::to_string(running - record.num_counted) +
            " answers under way and asks for " + std::to_string(record.num_counted + count) +
            " more; it may have " + std::to_string(client->max_requests))
        .with_code("too_many_requests")
        .with_retry_after(1);
  }
  running += count;
  record.num_counted += count;
}

void RequestJournal::end(RequestRecord& record) noexcept {
  if (!record.is_complete) record.end = RequestRecord::Clock::now();
  {
    const std::lock_guard lock(mutex_);
    under_way_.erase(&record);
    const size_t kind = record.is_complete ? static_cast<size_t>(record.status / 100) : 0;
    ++totals_.answers[std::min(kind, totals_.answers.size() - 1)];
    if (record.client != nullptr && record.is_counted) {
      const auto running = running_.find(record.client->name);
      if (running != running_.end()) running->second -= record.num_counted;
    }
  }
  // If memory is short, the totals or the log may miss the request.
  (void)fenced([&] { add_to_totals(record); });
  (void)fenced([&] { write_log(record); });
  (void)fenced([&] {
    if (exporter_ != nullptr && record.is_counted) exporter_->add(record);
  });
}

void RequestJournal::add_to_totals(const RequestRecord& record) {
  if (record.client == nullptr) return;
  const std::lock_guard lock(mutex_);
  ClientTotals& client = totals_.clients[record.client->name];
  ++client.requests;
  client.prompt_tokens += record.prompt_tokens;
  client.generated_tokens += record.generated_tokens;
}

std::vector<std::shared_ptr<const RequestRecord>> RequestJournal::under_way() const {
  std::vector<std::shared_ptr<const RequestRecord>> records;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, weak] : under_way_) {
      if (auto record = weak.lock()) records.push_back(std::move(record));
    }
  }
  std::sort(records.begin(), records.end(),
            [](const auto& left, const auto& right) { return left->arrival < right->arrival; });
  return records;
}

RequestJournal::Totals RequestJournal::totals() const {
  const std::lock_guard lock(mutex_);
  return totals_;
}

void RequestJournal::write_log(const RequestRecord& record) const {
  const uint32_t level = record.status >= 500   ? TENON_LOG_ERROR
                         : record.is_counted    ? TENON_LOG_INFO
                         : record.status >= 400 ? TENON_LOG_INFO
                                                : TENON_LOG_DEBUG;
  if (!log_.wants(level)) return;
  Json line{{"request_id", record.id}, {"method", record.method}, {"path", record.path}};
  line["status"] = record.status == 0 ? Json(nullptr) : Json(record.status);
  if (!record.is_complete) line["client_gone"] = true;
  if (record.client != nullptr) line["client"] = record.client->name;
  if (const std::string model = record.model_name(); !model.empty()) line["model"] = model;
  if (record.prompt_tokens > 0) {
    line["prompt_tokens"] = record.prompt_tokens;
    line["cached_tokens"] = record.cached_tokens;
    line["generated_tokens"] = record.generated_tokens;
  }
  if (record.first_token) {
    line["first_token_ms"] = milliseconds(record.seconds_until(*record.first_token));
  }
  line["duration_ms"] = milliseconds(record.seconds_until(record.end));
  line["trace_id"] = record.trace.trace_id;
  line["span_id"] = record.trace.span_id;
  log_.write(level, "request", line);
}

}  // namespace tenon_http
