#include "server/operations/span_exporter.h"

#include <chrono>
#include <tenon/error.hpp>
#include <utility>

#include "server/http/http_post.h"
#include "server/operations/api_keys.h"
#include "server/work/fence.h"

namespace tenon_http {
namespace {

constexpr size_t kMaxSpans = 2048;  ///< spans waiting to be sent
constexpr double kSendSeconds = 2;
constexpr auto kSendEvery = std::chrono::seconds(1);

/// SpanKind and StatusCode of trace.proto.
constexpr int kServerSpan = 2;
constexpr int kStatusError = 2;

std::string unix_nanoseconds(std::chrono::system_clock::time_point time) {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
  return std::to_string(since.count());
}

class Attributes {
 public:
  void add(const char* key, const std::string& text) {
    if (!text.empty()) list_.push_back({{"key", key}, {"value", {{"stringValue", text}}}});
  }
  /// 64-bit integers are strings in protobuf's JSON.
  void add(const char* key, uint64_t number) {
    list_.push_back({{"key", key}, {"value", {{"intValue", std::to_string(number)}}}});
  }
  [[nodiscard]] Json json() const { return list_; }

 private:
  Json list_ = Json::array();
};

}  // namespace

Json span_of(const RequestRecord& record) {
  const auto at = [&](RequestRecord::Clock::time_point time) {
    return unix_nanoseconds(
        record.date +
        std::chrono::duration_cast<std::chrono::system_clock::duration>(time - record.arrival));
  };
  // Names of OpenTelemetry's semantic conventions for HTTP and generative AI.
  Attributes attributes;
  attributes.add("http.request.method", record.method);
  attributes.add("url.path", record.path);
  attributes.add("gen_ai.request.model", record.model_name());
  attributes.add("tenon.request.id", record.id);
  if (record.client != nullptr) attributes.add("tenon.client", record.client->name);
  if (record.status != 0) {
    attributes.add("http.response.status_code", static_cast<uint64_t>(record.status));
  }
  if (record.prompt_tokens > 0) {
    attributes.add("gen_ai.usage.input_tokens", record.prompt_tokens);
    attributes.add("gen_ai.usage.output_tokens", record.generated_tokens);
    attributes.add("tenon.cached_tokens", record.cached_tokens);
  }
  Json span{{"traceId", record.trace.trace_id},
            {"spanId", record.trace.span_id},
            {"name", record.method + " " + record.path},
            {"kind", kServerSpan},
            {"startTimeUnixNano", at(record.arrival)},
            {"endTimeUnixNano", at(record.end)},
            {"attributes", attributes.json()}};
  if (!record.trace.parent_id.empty()) span["parentSpanId"] = record.trace.parent_id;
  if (record.first_token) {
    span["events"] =
        Json::array({Json{{"name", "first token"}, {"timeUnixNano", at(*record.first_token)}}});
  }
  if (record.status >= 500 || !record.is_complete) span["status"] = {{"code", kStatusError}};
  return span;
}

SpanExporter::SpanExporter(std::string_view address) {
  constexpr std::string_view kScheme = "http://";
  const auto refuse = [&](const char* why) {
    throw tenon::Error(tenon::Code::Argument,
                       "the address of the collector, \"" + std::string(address) + "\", " + why);
  };
  if (!address.starts_with(kScheme)) refuse("does not begin with http://");
  std::string_view rest = address.substr(kScheme.size());
  const size_t slash = rest.find('/');
  if (slash != rest.npos && slash + 1 < rest.size()) path_ = rest.substr(slash);
  rest = rest.substr(0, slash);
  const size_t colon = rest.find(':', rest.starts_with('[') ? rest.find(']') : 0);
  if (colon != rest.npos) port_ = rest.substr(colon + 1);
  host_ = rest.substr(0, colon);
  if (host_.starts_with('[') && host_.ends_with(']')) host_ = host_.substr(1, host_.size() - 2);
  if (host_.empty() || port_.empty()) refuse("names no host and port");
  if (port_.find_first_not_of("0123456789") != port_.npos) refuse("has a port that is no number");
  if (path_.find_first_of(" \r\n") != path_.npos) refuse("has a path with blanks");
}

void SpanExporter::add(const RequestRecord& record) {
  if (!record.trace.is_sampled) return;
  Json span = span_of(record);
  const std::lock_guard lock(mutex_);
  if (spans_.size() >= kMaxSpans) {
    ++num_dropped_;
  } else {
    spans_.push_back(std::move(span));
  }
}

void SpanExporter::start() {
  const std::lock_guard lock(thread_mutex_);
  if (std::exchange(has_started_, true)) return;
  thread_.start([self = shared_from_this()] { self->run(); });
}

void SpanExporter::stop(SideThread::Clock::time_point limit) noexcept {
  {
    const std::lock_guard lock(mutex_);
    limit_ = limit;
    changed_.notify_one();
  }
  const std::lock_guard lock(thread_mutex_);
  (void)thread_.end_by(limit);
}

void SpanExporter::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait_for(lock, kSendEvery, [&] { return limit_.has_value(); });
    const bool is_last = limit_.has_value();
    Json::array_t spans = std::exchange(spans_, Json::array_t());
    lock.unlock();
    const size_t count = spans.size();
    if (count > 0 && !fenced([&] { send(std::move(spans)); })) num_dropped_ += count;
    lock.lock();
    if (is_last) return;
  }
}

bool SpanExporter::is_too_late() const {
  const std::lock_guard lock(mutex_);
  return limit_ && SideThread::Clock::now() >= *limit_;
}

void SpanExporter::send(Json::array_t spans) {
  const size_t count = spans.size();
  const Json service{{"key", "service.name"}, {"value", {{"stringValue", "tenon"}}}};
  const Json scope{{"scope", {{"name", "tenon-server"}}}, {"spans", std::move(spans)}};
  const Json resource{{"resource", {{"attributes", Json::array({service})}}},
                      {"scopeSpans", Json::array({scope})}};
  const Json body{{"resourceSpans", Json::array({resource})}};
  const int status = http_post({.host = host_,
                                .port = port_,
                                .path = path_,
                                .content_type = "application/json",
                                .body = to_text(body),
                                .seconds = kSendSeconds,
                                .gives_up = [this] { return is_too_late(); }});
  if (status / 100 != 2) num_dropped_ += count;
}

}  // namespace tenon_http
