// GET /v1/models and /v1/models/NAME, in a shape that OpenAI's and Anthropic's clients read.
#include <array>
#include <ctime>

#include "server/json/json.h"
#include "server/protocols/list_query.h"
#include "server/routes.h"

namespace tenon_http {
namespace {

std::string date_of(int64_t unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm calendar{};
  std::array<char, 32> text{};
  if (::gmtime_r(&time, &calendar) == nullptr) return "1970-01-01T00:00:00Z";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &calendar)};
}

Json model_json(const ModelView& model) {
  return {{"id", model.name},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "tenon"},
          {"type", "model"},
          {"display_name", model.name},
          {"created_at", date_of(model.created)},
          {"max_model_len", model.context},
          {"state", model.state}};
}

/// Adapters are models of their own to clients, as vLLM lists them.
Json adapter_json(const ModelView& model, const ServedAdapter& adapter) {
  Json shown = model_json(model);
  shown["id"] = adapter.name;
  shown["display_name"] = adapter.name;
  shown["created"] = adapter.created;
  shown["created_at"] = date_of(adapter.created);
  shown["root"] = model.name;
  shown["parent"] = model.name;
  return shown;
}

}  // namespace

Start handle_models(const HttpRequest& request, ServerState& state) {
  Json models = Json::array();
  for (const ModelView& model : state.models->views()) {
    models.push_back(model_json(model));
    for (const ServedAdapter& one : model.adapters) models.push_back(adapter_json(model, one));
  }
  return answer_with({.body = to_text(list_part(models, request, kModelList))});
}

Start handle_model(const HttpRequest& request, ServerState& state) {
  const std::string name = request.path.substr(std::string_view("/v1/models/").size());
  for (const ModelView& model : state.models->views()) {
    for (const ServedAdapter& one : model.adapters) {
      if (one.name == name) return answer_with({.body = to_text(adapter_json(model, one))});
    }
  }
  return answer_with({.body = to_text(model_json(state.models->view(name)))});
}

}  // namespace tenon_http
