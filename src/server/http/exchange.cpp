#include "server/http/exchange.h"

#include <algorithm>
#include <utility>

#include "server/operations/api_keys.h"

namespace tenon_http {

void Interest::end(State state) noexcept {
  std::vector<std::function<void()>> stops;
  {
    const std::lock_guard lock(mutex_);
    state_ = std::max(state_, state);
    stops.swap(stops_);
  }
  for (const std::function<void()>& stop : stops) (void)fenced(stop);
}

bool Interest::is_lost() const {
  const std::lock_guard lock(mutex_);
  return state_ == State::Lost;
}

void Interest::on_end(std::function<void()> stop) {
  {
    const std::lock_guard lock(mutex_);
    if (state_ == State::Held) {
      stops_.push_back(std::move(stop));
      return;
    }
  }
  stop();
}

Share share_of(const HttpRequest& request) {
  const ApiClient* client = request.record->client;
  if (client != nullptr) return {client->name, client->weight};
  return {"connection " + std::to_string(request.connection), 1};
}

ErrorShape shape_of(const HttpRequest& request) {
  const bool of_messages = request.path.starts_with("/v1/messages");
  const bool of_client =
      !request.anthropic_version.empty() && request.path.starts_with("/v1/models");
  return of_messages || of_client ? ErrorShape::Anthropic : ErrorShape::OpenAi;
}

HttpAnswer error_answer(const ApiError& error, ErrorShape shape) {
  HttpAnswer answer{.status = error.status(), .body = error_body(error, shape)};
  if (error.retry_after_seconds()) {
    answer.headers.emplace_back("Retry-After", std::to_string(*error.retry_after_seconds()));
  }
  if (!error.allowed_methods().empty()) {
    answer.headers.emplace_back("Allow", error.allowed_methods());
  }
  return answer;
}

void answer_error(Exchange& exchange, const ApiError& error) {
  exchange.answer(error_answer(error, exchange.request().shape));
}

ApiError error_of(Failure why) {
  if (why == Failure::Memory) {
    return ApiError(503, "server_overloaded", "the server is out of memory")
        .with_code("out_of_memory")
        .with_retry_after(2);
  }
  return ApiError(500, "server_error", "the server failed to handle the request");
}

void answer_current_exception(Exchange& exchange) noexcept {
  fenced([&] { answer_error(exchange, api_error_of_current_exception()); },
         [&](Failure why) noexcept { exchange.fail(why); });
  // An answer that has begun cannot be replaced by an error.
  exchange.fail(Failure::Defect);
}

void add_notes(const Exchange& exchange, Json& answer) {
  const std::vector<std::string>& notes = exchange.request().record->notes;
  if (!notes.empty()) answer["notes"] = notes;
}

}  // namespace tenon_http
