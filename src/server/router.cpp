#include "router.h"

#include <array>
#include <exception>

#include "routes.h"

namespace tenon_http {
namespace {

struct Route {
  std::string_view method;
  std::string_view path;  ///< one that ends in '/' stands for all that begin so, but "/"
  Handler handler;
  bool is_open = false;   ///< answers without a key
  bool is_short = false;  ///< answers on the loop, without a worker
};

constexpr auto kRoutes = std::to_array<Route>({
    {"GET", "/", handle_page, true, true},
    {"GET", "/page/", handle_page, true, true},
    {"GET", "/health", handle_health, true, true},
    {"GET", "/ready", handle_ready, true, true},
    {"GET", "/metrics", handle_metrics, true, true},
    {"GET", "/slots", handle_slots, false, true},
    {"GET", "/v1/models", handle_models, false, true},
    {"GET", "/v1/models/", handle_model, false, true},
    {"POST", "/v1/models/", handle_model_control},
    {"POST", "/v1/chat/completions", handle_chat_completions},
    {"POST", "/v1/completions", handle_completions},
    {"POST", "/v1/responses", handle_responses},
    {"POST", "/v1/responses/input_tokens", handle_input_tokens},
    {"POST", "/v1/responses/compact", handle_compact},
    {"GET", "/v1/responses/", handle_stored_response},
    {"DELETE", "/v1/responses/", handle_delete_response},
    {"POST", "/v1/decisions", handle_decisions},
    {"POST", "/v1/messages", handle_messages},
    {"POST", "/v1/messages/count_tokens", handle_count_tokens},
    {"GET", "/v1/messages/batches", handle_batches},
    {"POST", "/v1/messages/batches", handle_batches},
    {"GET", "/v1/messages/batches/", handle_batches},
    {"POST", "/v1/embeddings", handle_embeddings},
    {"POST", "/v1/rerank", handle_rerank},
    {"POST", "/v2/rerank", handle_rerank},
    {"POST", "/rerank", handle_rerank},
    {"POST", "/score", handle_score},
    {"POST", "/v1/score", handle_score},
    {"POST", "/tokenize", handle_tokenize},
    {"POST", "/v1/tokenize", handle_tokenize},
    {"POST", "/detokenize", handle_detokenize},
    {"POST", "/v1/detokenize", handle_detokenize},
});

bool leads_to(const Route& route, std::string_view path) {
  return route.path.size() > 1 && route.path.ends_with('/')
             ? path.size() > route.path.size() && path.starts_with(route.path)
             : path == route.path;
}

/// The route of a request. Throws ApiError 404, or 405 for a path of another method.
const Route& find_route(const HttpRequest& request) {
  const std::string_view method =
      request.method == "HEAD" ? std::string_view("GET") : request.method;
  std::string others;
  for (const Route& route : kRoutes) {
    if (!leads_to(route, request.path)) continue;
    if (route.method == method) return route;
    others.append(others.empty() ? "" : ", ").append(route.method);
  }
  if (!others.empty()) {
    throw ApiError(405, "invalid_request_error",
                   request.path + " takes " + others + ", not " + request.method)
        .with_code("method_not_allowed")
        .with_allowed(others);
  }
  throw nothing_there(request);
}

void handle(const Route& route, const std::shared_ptr<Exchange>& exchange, ServerState& state);

/// Once the model is loaded, or answers why it cannot be.
void handle_when_ready(const ModelNotReady& model, const Route& route,
                       const std::shared_ptr<Exchange>& exchange, ServerState& state) {
  state.models->when_ready(model.name, [&route, exchange, &state](std::exception_ptr failure) {
    if (failure == nullptr) {
      return state.workers.post([&route, exchange, &state] { handle(route, exchange, state); });
    }
    state.loop.post([exchange, failure] {
      try {
        std::rethrow_exception(failure);
      } catch (...) {
        answer_error(*exchange, api_error_of_current_exception());
      }
    });
  });
}

/// Runs the handler on this thread and what remains on the loop.
void handle(const Route& route, const std::shared_ptr<Exchange>& exchange, ServerState& state) {
  if (exchange->request().interest->is_lost()) return;
  Start start;
  try {
    start = route.handler(exchange->request(), state);
  } catch (const ModelNotReady& model) {
    return handle_when_ready(model, route, exchange, state);
  } catch (...) {
    start = answer_with(error_answer(api_error_of_current_exception(), exchange->request().shape));
  }
  const auto finish = [exchange, start = std::move(start)] {
    try {
      start(exchange);
    } catch (...) {
      answer_error(*exchange, api_error_of_current_exception());
    }
  };
  if (route.is_short) return finish();
  state.loop.post(finish);
}

}  // namespace

const ServedModel& ServerState::model(const std::string* name, const HttpRequest& request) const {
  std::shared_ptr<const ServedModel> found = models->use(name);
  const ServedModel& model = *found;
  request.record->use(std::move(found));
  return model;
}

ApiError nothing_there(const HttpRequest& request) {
  return ApiError(404, "invalid_request_error",
                  "there is nothing at " + request.method + " " + request.path)
      .with_code("not_found");
}

Start answer_with(HttpAnswer answer) {
  return [answer = std::move(answer)](const std::shared_ptr<Exchange>& exchange) {
    exchange->answer(answer);
  };
}

std::vector<RouteName> list_routes() {
  std::vector<RouteName> names;
  for (const Route& each : kRoutes) names.push_back({each.method, each.path});
  return names;
}

void route(const std::shared_ptr<Exchange>& exchange, ServerState& state) {
  const HttpRequest& request = exchange->request();
  state.num_requests.fetch_add(1, std::memory_order_relaxed);
  state.journal->begin(request.record);
  try {
    if (request.method == "OPTIONS") return exchange->answer({.status = 204});
    const Route& found = find_route(request);
    if (!found.is_open) request.record->client = check_api_key(request, state.clients);
    if (!request.content_encoding.empty() && request.content_encoding != "identity") {
      throw ApiError(415, "invalid_request_error",
                     "bodies with Content-Encoding " + request.content_encoding + " are not read");
    }
    if (found.is_short) return handle(found, exchange, state);
    if (state.is_stopping) {
      throw ApiError(503, "server_shutting_down", "the server is shutting down")
          .with_retry_after(5);
    }
    state.journal->count(*request.record);
    state.workers.post([&found, exchange, &state] { handle(found, exchange, state); });
  } catch (...) {
    answer_error(*exchange, api_error_of_current_exception());
  }
}

}  // namespace tenon_http
