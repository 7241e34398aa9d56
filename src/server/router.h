// Maps paths to functions. A route is a line of the table in router.cpp and a file.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/compat/echo_memory.h"
#include "server/compat/thought_signer.h"
#include "server/http/exchange.h"
#include "server/json/fields.h"
#include "server/operations/api_keys.h"
#include "server/operations/request_journal.h"
#include "server/protocols/response_store.h"
#include "server/registry/model_registry.h"
#include "server/work/long_tasks.h"

namespace tenon_http {

struct ServerLimits {
  double request_seconds = 0;  ///< deadline of a generation, from queueing to its end; 0 means none
  uint32_t max_choices = 128;  ///< maximum answers per request
  bool serves_page = true;     ///< serves the chat page
  bool controls_models = false;                  ///< clients may load and unload models
  uint64_t echo_bytes = uint64_t{64} << 20;      ///< memory for remembered answers; 0 disables them
  uint64_t response_bytes = uint64_t{64} << 20;  ///< memory for stored responses
};

/// State that all routes share.
struct ServerState {
  Tasks& loop;            ///< thread that answers
  Tasks& workers;         ///< threads for parsing, templates, grammars
  LongTasks& long_tasks;  ///< on the threads of `workers`: embeddings, decisions, loads
  /// Called after a submission to a model's engine.
  std::function<void(const ServedModel&)> submitted{};
  std::unique_ptr<ModelRegistry> models{};
  std::vector<ApiClient> clients{};  ///< empty: no key is required
  std::shared_ptr<RequestJournal> journal{};
  ServerLimits limits{};
  ResponseStore responses{limits.response_bytes};
  /// Remembered answers, to recognize returning conversations.
  EchoMemory echo{limits.echo_bytes};
  ThoughtSigner thoughts{secret_of(clients)};
  std::atomic<bool> is_stopping{false};
  std::atomic<uint64_t> num_connections{0};
  std::atomic<uint64_t> num_requests{0};
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  /// Model that a body asks for by "model" and "lora", or the only model; stays loaded while the
  /// request runs. Throws ApiError 404 and 400, and ModelNotReady, which the router handles.
  [[nodiscard]] const ServedModel& model(const Fields& fields, const HttpRequest& request) const;
};

/// Work left for the loop after a request is understood.
using Start = std::function<void(const std::shared_ptr<Exchange>&)>;

/// Parses a request on a worker. Throws ApiError and tenon::Error.
using Handler = Start (*)(const HttpRequest& request, ServerState& state);

/// Start that sends a complete answer.
Start answer_with(HttpAnswer answer);

/// Makes a 404.
ApiError nothing_there(const HttpRequest& request);

/// Line of the route table.
struct RouteName {
  std::string_view method;
  std::string_view path;  ///< exact path; a path ending in '/' is a prefix, except "/"
};
/// All routes, so that a test can prove that it covers them.
std::vector<RouteName> list_routes();

/// Decides by route, key and encoding whether a request may send its body. route() answers a
/// refused request without its body. Thread-safe.
bool is_admitted(const HttpRequest& request, const ServerState& state);

/// Answers `exchange`, now or later. Call on the loop.
void route(const std::shared_ptr<Exchange>& exchange, ServerState& state) noexcept;

}  // namespace tenon_http
