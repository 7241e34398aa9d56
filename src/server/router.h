// Which function answers which path. A route is a line of the table in router.cpp and a file.
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
#include "server/operations/api_keys.h"
#include "server/operations/request_journal.h"
#include "server/protocols/response_store.h"
#include "server/registry/model_registry.h"
#include "server/work/long_tasks.h"

namespace tenon_http {

struct ServerLimits {
  double request_seconds = 0;    ///< of a generation, from when it is queued to its end; 0: none
  uint32_t max_choices = 128;    ///< answers to one request
  bool serves_page = true;       ///< the chat page
  bool controls_models = false;  ///< clients may load and unload models
  uint64_t echo_bytes = uint64_t{64} << 20;      ///< of remembered answers; 0: none are
  uint64_t response_bytes = uint64_t{64} << 20;  ///< of stored responses
};

/// What all routes share.
struct ServerState {
  Tasks& loop;            ///< the thread that answers
  Tasks& workers;         ///< parsing, templates, grammars
  LongTasks& long_tasks;  ///< on the same threads: embeddings, decisions, loads
  /// Something was submitted to an engine.
  std::function<void(const ServedModel&)> submitted{};
  std::unique_ptr<ModelRegistry> models{};
  std::vector<ApiClient> clients{};  ///< empty: no key is asked for
  std::shared_ptr<RequestJournal> journal{};
  ServerLimits limits{};
  ResponseStore responses{limits.response_bytes};
  /// Of answers, so that conversations that come back are known.
  EchoMemory echo{limits.echo_bytes};
  ThoughtSigner thoughts{secret_of(clients)};
  std::atomic<bool> is_stopping{false};
  std::atomic<uint64_t> num_connections{0};
  std::atomic<uint64_t> num_requests{0};
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

  /// The model of that name, of the only one when `name` is null, for as long as the request is under
  /// way. Throws ApiError 404; ModelNotReady, which the router handles.
  [[nodiscard]] const ServedModel& model(const std::string* name, const HttpRequest& request) const;
};

/// What remains to be done on the loop after a request was understood.
using Start = std::function<void(const std::shared_ptr<Exchange>&)>;

/// Understands a request, on a worker. Throws ApiError and tenon::Error.
using Handler = Start (*)(const HttpRequest& request, ServerState& state);

/// A whole answer that is known already.
Start answer_with(HttpAnswer answer);

/// 404.
ApiError nothing_there(const HttpRequest& request);

/// A line of the table of routes.
struct RouteName {
  std::string_view method;
  std::string_view path;  ///< one that ends in '/' stands for all that begin so, but "/"
};
/// All of them, so that a test can tell that it has forgotten none.
std::vector<RouteName> list_routes();

/// Whether a request may send its body, judged by route, key and encoding. Otherwise route()
/// answers it without the body. Thread-safe.
bool is_admitted(const HttpRequest& request, const ServerState& state);

/// Answers `exchange`, now or later. Called on the loop.
void route(const std::shared_ptr<Exchange>& exchange, ServerState& state) noexcept;

}  // namespace tenon_http
