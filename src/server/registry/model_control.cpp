// POST /v1/models/NAME/load and /unload, if the server's options allow them.
#include <string>

#include "server/json/fields.h"
#include "server/routes.h"

namespace tenon_http {
namespace {

constexpr std::string_view kModels = "/v1/models/";

/// Checks the body of an order: empty, or a JSON object. Orders have no fields.
void check_order(const std::string& body) {
  if (body.empty()) return;
  const Json order = parse_json(body);
  (void)Fields(order);
}

Start answer_state(ServerState& state, const std::string& name) {
  const ModelView view = state.models->view(name);
  return answer_with({.body = to_text({{"id", view.name}, {"state", view.state}})});
}

}  // namespace

Start handle_model_control(const HttpRequest& request, ServerState& state) {
  const std::string_view path = request.path;
  const size_t slash = path.rfind('/');
  const std::string_view action = path.substr(slash + 1);
  const bool loads = action == "load";
  if (slash < kModels.size() || (!loads && action != "unload")) throw nothing_there(request);
  if (!state.limits.controls_models) {
    throw ApiError(403, "permission_error", "this server takes no orders to load models");
  }
  check_order(request.body);
  const std::string name(path.substr(kModels.size(), slash - kModels.size()));
  if (loads) {
    request.record->use(state.models->use(&name));
  } else {
    state.models->unload(name);
  }
  return answer_state(state, name);
}

}  // namespace tenon_http
