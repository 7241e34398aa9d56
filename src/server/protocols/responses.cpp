// POST /v1/responses.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "server/answers/answer_run.h"
#include "server/http/event_stream.h"
#include "server/json/json_text.h"
#include "server/json/random_id.h"
#include "server/protocols/list_query.h"
#include "server/protocols/other_fields.h"
#include "server/protocols/response_items.h"
#include "server/protocols/response_output.h"
#include "server/protocols/usage.h"
#include "server/routes.h"

namespace tenon_http {
namespace {

/// Request settings that a response repeats, each member after a comma. May be large; several
/// events repeat them.
std::string settings_of(const Json& body) {
  std::string settings = R"(,"background":false,"service_tier":"default")";
  const auto add = [&](const char* name, const Json& otherwise) {
    const auto found = body.find(name);
    const bool is_given = found != body.end() && !found->is_null();
    settings.append(",\"").append(name).append("\":").append(
        to_text(is_given ? *found : otherwise));
  };
  add("previous_response_id", nullptr);
  add("store", true);
  add("instructions", nullptr);
  add("max_output_tokens", nullptr);
  add("max_tool_calls", nullptr);
  add("prompt_cache_key", nullptr);
  add("safety_identifier", nullptr);
  add("top_logprobs", 0);
  add("parallel_tool_calls", true);
  add("reasoning", {{"effort", nullptr}, {"summary", nullptr}});
  add("temperature", nullptr);
  add("text", {{"format", {{"type", "text"}}}});
  add("tool_choice", "auto");
  add("tools", Json::array());
  add("top_p", nullptr);
  add("truncation", "disabled");
  add("user", nullptr);
  add("metadata", Json::object());
  return settings;
}

/// Seconds since 1970.
int64_t seconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

class ResponseWriter : public AnswerWriter {
 public:
  struct Form {
    const ServedModel* model = nullptr;
    std::vector<ResponseTool> tools{};
    std::string settings{};  ///< request settings, each member after a comma
    bool is_streamed = false;
    ResponseOutput::Form output = ResponseOutput::Form();
    ResponseStore* store = nullptr;  ///< stores the response; null disables storing
    std::string owner{};
    std::string items{};  ///< items of the conversation before the answer: a list, as text
    int64_t seed = 0;     ///< seed of the answer
  };

  explicit ResponseWriter(Form form)
      : form_(std::move(form)),
        output_(form_.tools, form_.model->tokenizer(), form_.output,
                [this](const char* type, const Json& members, std::string_view large) {
                  send(type, members, std::string(large), nullptr);
                }) {
    if (form_.is_streamed) begun_ = response("in_progress", {}, {});
  }

  void begin(Exchange& exchange) override {
    if (!form_.is_streamed) return;
    exchange.begin_stream(kEventStream);
    exchange_ = &exchange;
    Json notes = Json::object();
    add_notes(exchange, notes);
    begun_.pop_back();
    append_members(begun_, notes);
    begun_ += '}';
    send("response.created", Json::object(), begun_, "response");
    send("response.in_progress", Json::object(), std::move(begun_), "response");
  }

  void delta(Exchange& exchange, size_t, AnswerDelta delta) override {
    exchange_ = &exchange;
    output_.add(delta);
  }

  void end(Exchange&, size_t, AnswerEnd end) override { end_ = std::move(end); }

  [[nodiscard]] size_t bytes_to_print() const override {
    const size_t output = output_.items().num_bytes() + output_.num_open_bytes();
    return form_.settings.size() + form_.items.size() + output + logprobs_bytes(end_.tokens);
  }

  void complete(Exchange& exchange) override {
    exchange_ = &exchange;
    const AnswerEnd& end = end_;
    const bool is_cut = end.finish == Finish::Length;
    output_.finish(is_cut, end.tokens);
    Json members = Json::object();
    if (!is_cut) members["completed_at"] = seconds_now();
    if (is_cut) members["incomplete_details"] = {{"reason", "max_output_tokens"}};
    members["usage"] = {
        {"input_tokens", end.prompt_tokens},
        {"input_tokens_details", {{"cached_tokens", end.cached_tokens}, {"cache_write_tokens", 0}}},
        {"output_tokens", end.generated_tokens},
        {"output_tokens_details", {{"reasoning_tokens", end.reasoning_tokens}}},
        {"total_tokens", end.prompt_tokens + end.generated_tokens},
        {"reuse", reuse_json(end.reuse)}};
    const size_t num_output = output_.items().size();
    std::string output = output_.items().text();
    std::string whole = response(is_cut ? "incomplete" : "completed", members, output);
    if (form_.is_streamed) {
      send(is_cut ? "response.incomplete" : "response.completed", Json::object(),
           form_.store == nullptr ? std::move(whole) : whole, "response");
    }
    if (form_.store != nullptr) {
      form_.store->add(id_, {form_.owner, joined_lists(std::move(form_.items), output), num_output,
                             form_.is_streamed ? std::move(whole) : whole});
    }
    if (!form_.is_streamed) return exchange.answer({.body = std::move(whole)});
    exchange.end_stream();
  }

  void fail(Exchange& exchange, const ApiError& error) override {
    if (!form_.is_streamed) return answer_error(exchange, error);
    exchange_ = &exchange;
    const Json members{
        {"error", {{"code", error.code().value_or("server_error")}, {"message", error.what()}}}};
    send("response.failed", Json::object(), response("failed", members, {}), "response");
    exchange.end_stream();
  }

 private:
  /// Response as text.
  ///   members  changes since the beginning
  ///   output   list of its items
  [[nodiscard]] std::string response(const char* status, const Json& members,
                                     std::string_view output) const {
    Json head{{"id", id_},
              {"object", "response"},
              {"created_at", created_},
              {"completed_at", nullptr},
              {"status", status},
              {"error", nullptr},
              {"incomplete_details", nullptr},
              {"model", form_.model->name()},
              {"seed", form_.seed},
              {"usage", nullptr}};
    if (members.is_object()) head.update(members);
    std::string whole = open_text(head);
    whole.reserve(whole.size() + output.size() + form_.settings.size() + 1024);
    whole.append(",\"output\":").append(output.empty() ? "[]" : output).append(form_.settings);
    Json notes = Json::object();
    if (exchange_ != nullptr) add_notes(*exchange_, notes);
    append_members(whole, notes);
    return whole += '}';
  }

  /// Concatenates two lists.
  static std::string joined_lists(std::string first, std::string_view second) {
    if (first.size() <= 2) return std::string(second);
    if (second.size() <= 2) return first;
    first.back() = ',';
    return std::move(first.append(second.substr(1)));
  }

  /// name: member whose value is `large`; null if `large` consists of whole members.
  void send(const char* type, const Json& members, std::string large, const char* name) {
    if (!form_.is_streamed) return;
    std::string event = std::string("event: ").append(type).append("\ndata: ");
    event += open_text({{"type", type}, {"sequence_number", sequence_number_++}});
    append_members(event, members);
    if (name != nullptr) event.append(",\"").append(name).append("\":");
    if (large.size() > kLargeBytes) {  // saves a copy
      exchange_->send(std::move(event));
      exchange_->send(std::move(large));
      return exchange_->send("}\n\n");
    }
    exchange_->send(std::move(event.append(large).append("}\n\n")));
  }
  static constexpr size_t kLargeBytes = size_t{64} << 10;

  Form form_;
  std::string id_ = random_id("resp_");
  int64_t created_ = seconds_now();
  uint64_t sequence_number_ = 0;
  Exchange* exchange_ = nullptr;  ///< exchange of the running call
  std::string begun_;             ///< response at the beginning of a stream, until sent
  AnswerEnd end_;
  ResponseOutput output_;
};

ApiError unknown_response(const std::string& id, const std::string& param, int status) {
  return ApiError(status, "invalid_request_error",
                  param + ": there is no response \"" + id +
                      "\" here: it was not stored, or is no more; send the whole input")
      .with_code("previous_response_not_found")
      .with_param(param);
}

/// Conversation of the response that this request continues.
Json earlier_items(const Fields& fields, const HttpRequest& request, ServerState& state) {
  const std::string* id = fields.text("previous_response_id");
  if (id == nullptr) return Json::array();
  const auto found = state.responses.find(*id, owner_of(request));
  if (found == nullptr) throw unknown_response(*id, "previous_response_id", 400);
  return parse_json(found->items);
}

/// Items that a response answers, as OpenAI lists them.
Json input_items(const StoredResponse& stored, const std::string& id) {
  Json data = Json::array();
  Json items = parse_json(stored.items);
  const size_t count = items.size() - std::min(items.size(), stored.num_output);
  for (size_t i = 0; i < count; ++i) {
    Json item = std::move(items[i]);
    if (!item.contains("type")) item["type"] = "message";
    const bool is_short = item["type"] == "message" && item["content"].is_string();
    if (is_short) {
      const char* kind = item["role"] == "assistant" ? "output_text" : "input_text";
      item["content"] = Json::array({{{"type", kind}, {"text", item["content"]}}});
    }
    if (!item.contains("id")) item["id"] = id + "_item_" + std::to_string(i);
    data.push_back(std::move(item));
  }
  return data;
}

/// Newest first, unless the query sets the order.
Json input_item_list(const StoredResponse& stored, const std::string& id,
                     const HttpRequest& request) {
  const std::string order = query_value(request.query, "order");
  if (!order.empty() && order != "asc" && order != "desc") {
    throw invalid_request(R"(order: must be "asc" or "desc")", "order");
  }
  Json items = input_items(stored, id);
  if (order != "asc") std::reverse(items.begin(), items.end());
  return list_part(items, request, kItemList);
}

std::string id_in(const HttpRequest& request) {
  return request.path.substr(std::string_view("/v1/responses/").size());
}

constexpr auto kIncludable = std::to_array<std::string_view>(
    {"message.output_text.logprobs", "reasoning.encrypted_content", "file_search_call.results",
     "web_search_call.results", "web_search_call.action.sources", "message.input_image.image_url",
     "computer_call_output.output.image_url", "code_interpreter_call.outputs"});

/// True if `include` asks for logprobs. Its other values name data that is always sent or does not
/// exist.
bool includes_logprobs(const Fields& fields) {
  const Json* include = fields.list("include");
  if (include == nullptr) return false;
  bool logprobs = false;
  for (const Json& name : *include) {
    if (!name.is_string()) fields.refuse("include", "must be a list of strings");
    const std::string& text = name.get_ref<const std::string&>();
    if (std::find(kIncludable.begin(), kIncludable.end(), text) == kIncludable.end()) {
      fields.refuse("include", "\"" + text + "\" is nothing that a response could include");
    }
    logprobs |= text == "message.output_text.logprobs";
  }
  return logprobs;
}

}  // namespace

Start handle_responses(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  const ServedModel& model = state.model(fields, request);
  model.check_generates();
  ResponseRequest read = read_response_request(fields, earlier_items(fields, request, state));
  ChatRequest& chat = read.chat;
  chat.sampling = read_sampling(fields, model.tokenizer());
  chat.max_tokens = read_max_tokens(fields, "max_output_tokens");
  const std::optional<int64_t> top = fields.integer("top_logprobs", 0, 20);
  chat.logprobs = includes_logprobs(fields);
  chat.num_top = chat.logprobs ? static_cast<uint32_t>(top.value_or(0)) : 0;
  chat.tells_tools = read_generic_tools(fields);
  chat.echo = read_echo(fields, request, state);
  const bool is_stored = fields.boolean("store").value_or(true);
  std::string settings = settings_of(body);
  (void)read_stream_options(fields);
  (void)fields.integer("max_tool_calls", 1, INT64_MAX);
  auto writer = std::make_unique<ResponseWriter>(
      ResponseWriter::Form{.model = &model,
                           .tools = std::move(read.tools),
                           .settings = std::move(settings),
                           .is_streamed = fields.boolean("stream").value_or(false),
                           .output = {.logprobs = chat.logprobs, .summarizes = read.summarizes},
                           .store = is_stored ? &state.responses : nullptr,
                           .owner = owner_of(request),
                           .items = is_stored ? to_text(read.items) : std::string(),
                           .seed = chat.sampling.seed});
  return start_answers(plan_chat(model, std::move(chat)), std::move(writer), state);
}

Start handle_input_tokens(const HttpRequest& request, ServerState& state) {
  const Json body = parse_json(request.body);
  const Fields fields(body);
  const ServedModel& model = state.model(fields, request);
  model.check_generates();
  ResponseRequest read = read_response_request(fields, earlier_items(fields, request, state));
  const Tokens tokens = encode_prompt(model, read.chat);
  return answer_with(
      {.body = to_text({{"object", "response.input_tokens"}, {"input_tokens", tokens.size()}})});
}

Start handle_compact(const HttpRequest&, ServerState&) {
  throw ApiError(400, "invalid_request_error",
                 "responses are not compacted here: send a summary of your own")
      .with_code("not_served");
}

Start handle_stored_response(const HttpRequest& request, ServerState& state) {
  constexpr std::string_view kItems = "/input_items";
  std::string id = id_in(request);
  const bool wants_items = id.ends_with(kItems);
  if (wants_items) id.resize(id.size() - kItems.size());
  if (query_value(request.query, "stream") == "true") {
    throw invalid_request("stream: a stored response is not streamed again", "stream");
  }
  const auto found = state.responses.find(id, owner_of(request));
  if (found == nullptr) throw unknown_response(id, "response_id", 404);
  if (wants_items) return answer_with({.body = to_text(input_item_list(*found, id, request))});
  return answer_with({.body = found->response});
}

Start handle_delete_response(const HttpRequest& request, ServerState& state) {
  const std::string id = id_in(request);
  if (!state.responses.remove(id, owner_of(request))) {
    throw unknown_response(id, "response_id", 404);
  }
  return answer_with(
      {.body = to_text({{"id", id}, {"object", "response.deleted"}, {"deleted", true}})});
}

}  // namespace tenon_http
