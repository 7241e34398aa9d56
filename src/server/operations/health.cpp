// GET /health: the server is running. GET /ready: the server accepts requests.
#include "server/json/json.h"
#include "server/routes.h"

namespace tenon_http {

Start handle_health(const HttpRequest&, ServerState&) {
  return answer_with({.body = R"({"status":"ok"})"});
}

Start handle_ready(const HttpRequest&, ServerState& state) {
  if (state.is_stopping) {
    throw ApiError(503, "server_shutting_down", "the server is shutting down").with_retry_after(5);
  }
  if (state.models->size() == 0) {
    throw ApiError(503, "server_overloaded", "the server has no model").with_retry_after(5);
  }
  Json models = Json::array();
  for (const ModelView& model : state.models->views()) models.push_back(model.name);
  return answer_with({.body = to_text({{"status", "ready"}, {"models", std::move(models)}})});
}

}  // namespace tenon_http
