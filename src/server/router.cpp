#include "server/router.h"

#include <array>
#include <exception>

#include "server/protocols/lora.h"
#include "server/routes.h"

namespace tenon_http {
namespace {

/// Bounds of short requests: body bytes and processor time. Longer requests run on the lanes of
/// long tasks, so that short ones never wait for them.
constexpr size_t kShortBodyBytes = size_t{64} << 10;
constexpr double kShortSeconds = 0.02;

struct Route {
  std::string_view method;
  std::string_view path;  ///< exact path; a path ending in '/' is a prefix, except "/"
  Handler handler;
  bool is_open = false;   ///< needs no key
  bool is_short = false;  ///< handled on the loop, without a worker
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
    {"GET", "/lora-adapters", handle_adapters, false, true},
    {"POST", "/lora-adapters", handle_adapter_scales},
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

/// Route of a request. Throws ApiError 404, or 405 if the path takes other methods.
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

/// Carries a request to a worker and back to the loop. Allocated before posting, so that the way
/// back allocates nothing.
class Handling : public std::enable_shared_from_this<Handling> {
 public:
  Handling(const Route& route, std::shared_ptr<Exchange> exchange, ServerState& state)
      : route_(route), exchange_(std::move(exchange)), state_(state) {}

  /// Runs on any worker, within the time of short requests. Beyond that time it restarts on the
  /// lanes of long tasks.
  void set_out() {
    const HttpRequest& request = exchange_->request();
    if (request.body.size() > kShortBodyBytes) return set_out_slowly();
    state_.workers.post(task(understand_));
  }
  /// Runs everything on the calling thread, which is the loop's.
  void do_here() noexcept {
    is_here_ = true;
    understand();
    is_here_ = false;
  }

 private:
  std::shared_ptr<Task> task(Task& member) { return {shared_from_this(), &member}; }

  void set_out_slowly() {
    is_slow_ = true;
    state_.long_tasks.post(share_of(exchange_->request()).name, [self = shared_from_this()] {
      self->understand();
      return false;
    });
  }

  void understand() noexcept {
    if (exchange_->request().interest->is_lost()) return;
    try {
      try {
        const WorkLimit::Use use(*exchange_->request().limit,
                                 is_slow_ || is_here_ ? kWorkSeconds : kShortSeconds);
        start_ = route_.handler(exchange_->request(), state_);
      } catch (const ModelNotReady& model) {
        return wait_for(model.name);
      } catch (const WorkEnd end) {
        if (end == WorkEnd::Late && !is_slow_) return set_out_slowly();
        throw;
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
    is_here_ ? answer() : state_.loop.post(task(answer_));
  }

  /// Restarts the request once the model is loaded.
  void wait_for(const std::string& name) {
    state_.models->when_ready(name, [self = shared_from_this()](std::exception_ptr failure) {
      if (failure == nullptr) return self->set_out();
      self->failure_ = std::move(failure);
      self->state_.loop.post(self->task(self->answer_));
    });
  }

  void answer() noexcept {
    try {
      if (failure_ != nullptr) std::rethrow_exception(failure_);
      start_(exchange_);
    } catch (...) {
      answer_current_exception(*exchange_);
    }
  }

  const Route& route_;
  std::shared_ptr<Exchange> exchange_;
  ServerState& state_;
  Start start_;
  std::exception_ptr failure_;  ///< exception thrown by understand()
  bool is_here_ = false;
  bool is_slow_ = false;
  Task understand_{[this] { understand(); }};
  Task answer_{[this] { answer(); }};
};

/// Finds a request's route by its header and records the client. Throws ApiError 401, 404, 405,
/// 415, 503.
const Route& admit(const HttpRequest& request, const ServerState& state) {
  const Route& found = find_route(request);
  if (!found.is_open) request.record->client = check_api_key(request, state.clients);
  if (!request.content_encoding.empty() && request.content_encoding != "identity") {
    throw ApiError(415, "invalid_request_error",
                   "bodies with Content-Encoding " + request.content_encoding + " are not read");
  }
  if (!found.is_short && state.is_stopping) {
    throw ApiError(503, "server_shutting_down", "the server is shutting down").with_retry_after(5);
  }
  return found;
}

}  // namespace

const ServedModel& ServerState::model(const Fields& fields, const HttpRequest& request) const {
  std::shared_ptr<const ServedModel> found = models->use(ModelChoice{
      .name = fields.text("model"), .adapters = read_lora(fields), .share = share_of(request)});
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
  // Share the answer, since copies of a Start would copy it.
  const auto held = std::make_shared<HttpAnswer>(std::move(answer));
  return [held](const std::shared_ptr<Exchange>& exchange) { exchange->answer(std::move(*held)); };
}

std::vector<RouteName> list_routes() {
  std::vector<RouteName> names;
  for (const Route& each : kRoutes) names.push_back({each.method, each.path});
  return names;
}

bool is_admitted(const HttpRequest& request, const ServerState& state) {
  try {
    if (request.method != "OPTIONS") (void)admit(request, state);
    return true;
  } catch (const ApiError&) {
    return false;
  }
}

void route(const std::shared_ptr<Exchange>& exchange, ServerState& state) noexcept {
  const HttpRequest& request = exchange->request();
  state.num_requests.fetch_add(1, std::memory_order_relaxed);
  try {
    state.journal->begin(request.record);
    if (request.method == "OPTIONS") return exchange->answer({.status = 204});
    const Route& found = admit(request, state);
    request.interest->on_end([limit = request.limit] { limit->stop(); });
    const auto handling = std::make_shared<Handling>(found, exchange, state);
    if (found.is_short) return handling->do_here();
    state.journal->count(*request.record);
    handling->set_out();
  } catch (...) {
    answer_current_exception(*exchange);
  }
}

}  // namespace tenon_http
