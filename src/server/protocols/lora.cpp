// GET and POST /lora-adapters, and the field "lora" of requests: adapters by number.
#include "server/protocols/lora.h"

#include <cfloat>
#include <cstdint>

#include "server/protocols/list_query.h"
#include "server/routes.h"

namespace tenon_http {
namespace {

/// Name of the model in the query; empty for the only model.
std::optional<std::string> model_of(const HttpRequest& request) {
  std::string name = query_value(request.query, "model");
  if (name.empty()) return std::nullopt;
  return name;
}

const std::string* pointer_to(const std::optional<std::string>& name) {
  return name ? &*name : nullptr;
}

/// Last component of a path, since clients need not know the server's folders.
std::string file_name(const std::string& path) {
  const size_t end = path.find_last_not_of('/');
  if (end == path.npos) return path;
  const size_t slash = path.rfind('/', end);
  const size_t begin = slash == path.npos ? 0 : slash + 1;
  return path.substr(begin, end + 1 - begin);
}

}  // namespace

std::vector<AdapterChoice> read_adapter_choices(const Json& list, const std::string& path) {
  std::vector<AdapterChoice> choices;
  for (const Json& item : list) {
    const Fields fields(item, item_path(path, choices.size()));
    const std::optional<int64_t> id = fields.integer("id", 0, UINT32_MAX);
    const std::optional<double> scale = fields.number("scale", -FLT_MAX, FLT_MAX);
    if (!id) fields.refuse("id", "is missing");
    if (!scale) fields.refuse("scale", "is missing");
    choices.push_back({static_cast<uint32_t>(*id), *scale});
  }
  return choices;
}

std::optional<std::vector<AdapterChoice>> read_lora(const Fields& fields) {
  const Json* list = fields.list("lora");
  if (list == nullptr) return std::nullopt;
  return read_adapter_choices(*list, fields.path_of("lora"));
}

Start handle_adapters(const HttpRequest& request, ServerState& state) {
  const std::optional<std::string> name = model_of(request);
  const ModelView model = state.models->view(pointer_to(name));
  Json adapters = Json::array();
  for (const ServedAdapter& one : model.adapters) {
    adapters.push_back({{"id", one.id},
                        {"name", one.name},
                        {"path", file_name(one.path)},
                        {"scale", one.base_scale},
                        {"model", model.name}});
  }
  return answer_with({.body = to_text(adapters)});
}

Start handle_adapter_scales(const HttpRequest& request, ServerState& state) {
  if (!state.limits.controls_models) {
    throw ApiError(
        403, "permission_error",
        "this server takes no orders about adapters; \"lora\" in a request chooses them");
  }
  const Json body = parse_json(request.body);
  if (!body.is_array()) throw invalid_request("the body must be a list of adapters", "lora");
  const std::optional<std::string> name = model_of(request);
  state.models->set_scales(pointer_to(name), read_adapter_choices(body, "lora"));
  return answer_with({.body = to_text({{"success", true}})});
}

}  // namespace tenon_http
