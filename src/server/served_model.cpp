#include "served_model.h"

#include <chrono>

#include "api_error.h"

namespace tenon_http {
namespace {

tenon::Tokenizer tokenizer_of(const tenon_model* model) {
  const tenon_tokenizer* raw = nullptr;
  tenon::check(tenon_model_tokenizer(model, &raw));
  return tenon::Tokenizer(raw);
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
      engine_(engine) {
  open(context);
}

ServedModel::ServedModel(std::string name, const tenon_model* model,
                         const tenon_options* engine_options, uint64_t context)
    : name_(std::move(name)),
      created_(seconds_since_1970()),
      model_(model),
      tokenizer_(tokenizer_of(model)) {
  try {
    tenon::check(tenon_engine_create(model, engine_options, &own_engine_));
    engine_ = own_engine_;
    open(context);
  } catch (const tenon::Error& error) {
    tenon_engine_destroy(own_engine_);
    own_engine_ = engine_ = nullptr;
    // A model of embeddings has no engine; anything else is a failure.
    if (error.code() != tenon::Code::State) throw;
    context_ = tenon::Embedder(model).info().max_tokens;
  }
}

ServedModel::~ServedModel() { tenon_engine_destroy(own_engine_); }

void ServedModel::open(uint64_t context) {
  wanted_context_ = static_cast<int64_t>(context);
  context_ = open_session().context();
  try {
    chat_.emplace(model_);
  } catch (const tenon::Error& error) {
    no_chat_ = error.what();
  }
}

void ServedModel::check_generates() const {
  if (engine_ != nullptr) return;
  throw invalid_request("model \"" + name_ + "\" makes embeddings and generates no text", "model");
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

const tenon::Chat& ServedModel::chat() const {
  check_generates();
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
