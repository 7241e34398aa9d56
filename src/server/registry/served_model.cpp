#include "server/registry/served_model.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <string_view>
#include <vector>

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

ServedModel::Core::Core(const tenon_model* of)
    : created(seconds_since_1970()),
      model(of),
      tokenizer(tokenizer_of(of)),
      fingerprint(fingerprint_of(of)) {}

ServedModel::Core::~Core() { tenon_engine_destroy(own_engine); }

ServedModel::ServedModel(std::string name, const tenon_model* model, tenon_engine* engine,
                         uint64_t context)
    : name_(std::move(name)), core_(std::make_shared<Core>(model)) {
  core_->engine = engine;
  open(context);
}

ServedModel::ServedModel(std::string name, const tenon_model* model,
                         const tenon_options* engine_options, uint64_t context)
    : name_(std::move(name)), core_(std::make_shared<Core>(model)) {
  if (!gives_text(model)) {
    core_->context = tenon::Embedder(model).info().max_tokens;
    return;
  }
  tenon::check(tenon_engine_create(model, engine_options, &core_->own_engine));
  core_->engine = core_->own_engine;
  open(context);
}

ServedModel::ServedModel(std::string name, std::shared_ptr<const ServedModel> base,
                         const std::vector<Scaled>& adapters, Share share)
    : name_(std::move(name)),
      base_(std::move(base)),
      core_(base_->core_),
      share_(std::move(share)) {
  std::vector<tenon::ScaledAdapter> sum;
  for (const Scaled& one : adapters) {
    sum.push_back({one.adapter.get(), static_cast<float>(one.scale)});
    adapters_text_ += std::to_string(one.id) + "*" + std::to_string(sum.back().scale) + " ";
  }
  if (!sum.empty()) sum_.emplace(tenon::Adapter::sum(sum));
}

ServedModel::~ServedModel() = default;

void ServedModel::open(uint64_t context) {
  core_->wanted_context = static_cast<int64_t>(context);
  core_->context = open_session().context();
  try {
    open_chat();
  } catch (const tenon::Error& error) {
    core_->no_chat = error.what();
  }
}

void ServedModel::open_chat() {
  core_->chat.emplace(core_->model);
  if (shows_tools(*core_->chat)) return;
  tenon::Chat generic(core_->model, {.extra = {{"generic_tools", "true"}}});
  if (!shows_tools(generic)) return;
  core_->generic_chat.emplace(std::move(generic));
}

void ServedModel::check_generates() const {
  if (engine() != nullptr) return;
  throw invalid_request("model \"" + name_ + "\" makes embeddings and generates no text", "model");
}

void ServedModel::reserve() const {
  tenon_engine_stats stats{};
  stats.struct_size = sizeof stats;
  tenon::check(tenon_engine_get_stats(engine(), &stats));
  if (stats.queue_room == 0) {
    throw api_error_of(tenon::Error(tenon::Code::Busy, "engine: the queue is full"));
  }
  if (!sum_) return;
  const std::lock_guard lock(mutex_);
  (void)adapted();
}

tenon::Session ServedModel::new_session(const Share& share) const {
  tenon::Options options;
  options.set("context", core_->wanted_context);
  options.set("client", std::string_view(share.name));
  options.set("weight", share.weight);
  tenon_session* raw = nullptr;
  tenon::check(tenon_engine_open_session(engine(), options.get(), &raw));
  return tenon::Session::adopt(raw);
}

/// Holds the adapters' slot. Requires the lock.
const tenon::Session& ServedModel::adapted() const {
  if (adapted_) return *adapted_;
  tenon::Session session = new_session(share_);
  session.set_adapter(*sum_);
  return adapted_.emplace(std::move(session));
}

tenon::Session ServedModel::open_session(const Share& share) const {
  check_generates();
  if (!sum_) return new_session(share);
  const std::lock_guard lock(mutex_);
  (void)adapted();
  return adapted_->fork();
}

const tenon::Chat& ServedModel::chat(bool tells_tools) const {
  check_generates();
  if (tells_tools && core_->generic_chat) return *core_->generic_chat;
  if (core_->chat) return *core_->chat;
  throw invalid_request("model \"" + name_ + "\" does not chat: " + core_->no_chat, "model");
}

tenon::Embedder ServedModel::make_embedder(const tenon::EmbedderOptions& options) const {
  if (engine() != nullptr) {
    throw invalid_request("model \"" + name_ +
                              "\" generates text; embeddings come from a model that was opened for "
                              "them",
                          "model");
  }
  return tenon::Embedder(core_->model, options);
}

std::shared_ptr<const tenon::Adapter> ServedModel::adapter(const ServedAdapter& wanted) const {
  std::unique_lock lock(core_->mutex);
  if (const auto known = core_->adapters.find(wanted.id); known != core_->adapters.end()) {
    return known->second;
  }
  lock.unlock();
  tenon_adapter* raw = nullptr;
  tenon::check(tenon_adapter_open(core_->model, wanted.path.c_str(), &raw));
  auto read = std::make_shared<const tenon::Adapter>(tenon::Adapter::adopt(raw));
  lock.lock();
  return core_->adapters.emplace(wanted.id, std::move(read)).first->second;
}

void ServedModel::forget_adapter(uint32_t id) const {
  const std::lock_guard lock(core_->mutex);
  core_->adapters.erase(id);
}

}  // namespace tenon_http
