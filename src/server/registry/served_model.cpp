#include "server/registry/served_model.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <string_view>

#include "server/api_error.h"
#include "server/compat/thought_signer.h"

namespace tenon_http {
namespace {

tenon::Tokenizer tokenizer_of(const tenon_model* model) {
  const tenon_tokenizer* raw = nullptr;
  tenon::check(tenon_model_tokenizer(model, &raw));
  return tenon::Tokenizer(raw);
}

std::string fingerprint_of(const tenon_model* model) {
  tenon_model_info info{};
  info.struct_size = sizeof info;
  tenon::check(tenon_model_get_info(model, &info));
  std::string facts = tenon_version_text();
  facts.append(info.architecture, info.architecture_length).append(1, '/');
  facts.append(info.name, info.name_length).append(1, '/');
  facts.append(info.chat_template, info.chat_template_length).append(1, '/');
  facts.append(info.backend, info.backend_length);
  for (const uint64_t fact : {info.parameters, info.tensor_bytes, info.vocabulary, info.layers}) {
    facts += "/" + std::to_string(fact);
  }
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "fp_%010llx",
                      static_cast<unsigned long long>(sip_hash({}, facts)[0] & 0xff'ffff'ffffULL));
  return text.data();
}

/// True if the template shows tools to the model.
bool shows_tools(const tenon::Chat& chat) {
  constexpr std::string_view kConversation =
      R"({"messages":[{"role":"user","content":"q"}],"now":"2026-01-02T03:04:05","tools":[)"
      R"({"type":"function","function":{"name":"zq1000000","description":"d","parameters":)"
      R"({"type":"object","properties":{"p":{"type":"string","description":"d"}}}}}]})";
  try {
    return chat.render(kConversation).find("zq1000000") != std::string::npos;
  } catch (const tenon::Error&) {
    return false;
  }
}

bool gives_text(const tenon_model* model) {
  tenon_model_info info{};
  info.struct_size = sizeof info;
  tenon::check(tenon_model_get_info(model, &info));
  return info.gives_text != 0;
}

int64_t seconds_since_1970() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace

ServedModel::ServedModel(std::string name, const tenon_model* model, tenon_engine* engine,
                         uint64_t context)
    : name_(std::move(name)),
      created_(seconds_since_1970()),
      model_(model),
      tokenizer_(tokenizer_of(model)),
      engine_(engine),
      fingerprint_(fingerprint_of(model)) {
  open(context);
}

ServedModel::ServedModel(std::string name, const tenon_model* model,
                         const tenon_options* engine_options, uint64_t context)
    : name_(std::move(name)),
      created_(seconds_since_1970()),
      model_(model),
      tokenizer_(tokenizer_of(model)),
      fingerprint_(fingerprint_of(model)) {
  if (!gives_text(model)) {
    context_ = tenon::Embedder(model).info().max_tokens;
    return;
  }
  tenon::check(tenon_engine_create(model, engine_options, &own_engine_));
  engine_ = own_engine_;
  try {
    open(context);
  } catch (...) {
    tenon_engine_destroy(own_engine_);
    throw;
  }
}

ServedModel::~ServedModel() { tenon_engine_destroy(own_engine_); }

void ServedModel::open(uint64_t context) {
  wanted_context_ = static_cast<int64_t>(context);
  context_ = open_session().context();
  try {
    open_chat();
  } catch (const tenon::Error& error) {
    no_chat_ = error.what();
  }
}

void ServedModel::open_chat() {
  chat_.emplace(model_);
  if (shows_tools(*chat_)) return;
  tenon::Chat generic(model_, {.extra = {{"generic_tools", "true"}}});
  if (!shows_tools(generic)) return;
  generic_chat_.emplace(std::move(generic));
}

void ServedModel::check_generates() const {
  if (engine_ != nullptr) return;
  throw invalid_request("model \"" + name_ + "\" makes embeddings and generates no text", "model");
}

void ServedModel::check_queue() const {
  tenon_engine_stats stats{};
  stats.struct_size = sizeof stats;
  tenon::check(tenon_engine_get_stats(engine_, &stats));
  if (stats.queue_room > 0) return;
  throw api_error_of(tenon::Error(tenon::Code::Busy, "engine: the queue is full"));
}

tenon::Session ServedModel::open_session(const Share& share) const {
  check_generates();
  tenon::Options options;
  options.set("context", wanted_context_);
  options.set("client", std::string_view(share.name));
  options.set("weight", share.weight);
  tenon_session* raw = nullptr;
  tenon::check(tenon_engine_open_session(engine_, options.get(), &raw));
  return tenon::Session::adopt(raw);
}

const tenon::Chat& ServedModel::chat(bool tells_tools) const {
  check_generates();
  if (tells_tools && generic_chat_) return *generic_chat_;
  if (chat_) return *chat_;
  throw invalid_request("model \"" + name_ + "\" does not chat: " + no_chat_, "model");
}

tenon::Embedder ServedModel::make_embedder(const tenon::EmbedderOptions& options) const {
  if (engine_ != nullptr) {
    throw invalid_request("model \"" + name_ +
                              "\" generates text; embeddings come from a model that was opened for "
                              "them",
                          "model");
  }
  return tenon::Embedder(model_, options);
}

}  // namespace tenon_http
