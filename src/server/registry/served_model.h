// Model under the name that clients request: tokenizer, engine, chat template, and embedders.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tenon/adapter.hpp>
#include <tenon/chat.hpp>
#include <tenon/embedder.hpp>
#include <tenon/engine.hpp>
#include <tenon/tokenizer.hpp>
#include <vector>

#include "server/registry/served_adapter.h"
#include "server/work/share.h"

namespace tenon_http {

/// Thread-safe. Either a model, or that model under adapters for one request.
class ServedModel {
 public:
  /// Creates an engine if the model generates text. Throws tenon::Error.
  ///   model           the host's; outlives this object
  ///   engine_options  may be null
  ///   context         tokens per request; 0 means the library's default
  ServedModel(std::string name, const tenon_model* model, const tenon_options* engine_options,
              uint64_t context);
  /// Uses an engine of the host, which outlives this object, as does `model`.
  ServedModel(std::string name, const tenon_model* model, tenon_engine* engine, uint64_t context);

  struct Scaled {
    uint32_t id = 0;
    std::shared_ptr<const tenon::Adapter> adapter;
    double scale = 1;
  };
  /// The model with the sum of adapters, which takes a slot of the model's with reserve() or the
  /// first session.
  ///   name      that the request gave
  ///   base      a model itself; stays loaded
  ///   share     client of the request
  ServedModel(std::string name, std::shared_ptr<const ServedModel> base,
              const std::vector<Scaled>& adapters, Share share);
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;
  ~ServedModel();

  [[nodiscard]] const std::string& name() const { return name_; }
  /// The model without adapters of a request.
  [[nodiscard]] const ServedModel& itself() const { return base_ == nullptr ? *this : *base_; }
  /// Tells texts of different adapters apart; "" without any.
  [[nodiscard]] const std::string& adapters() const { return adapters_text_; }
  /// Time of adding, in seconds since 1970.
  [[nodiscard]] int64_t created() const { return core_->created; }
  [[nodiscard]] const tenon_model* model() const { return core_->model; }
  [[nodiscard]] tenon::Tokenizer tokenizer() const { return core_->tokenizer; }

  /// Null for an embedding model.
  [[nodiscard]] tenon_engine* engine() const { return core_->engine; }
  [[nodiscard]] bool owns_engine() const { return core_->own_engine != nullptr; }
  /// Context length in tokens.
  [[nodiscard]] uint64_t context() const { return core_->context; }

  /// Throws ApiError if the model does not generate text.
  void check_generates() const;
  /// Throws ApiError 429 if the engine's queue is full or its slots for adapters are in use; a check
  /// before planning a request. Takes the adapters' slot, for which it may wait for a step.
  void reserve() const;
  /// Opens a session whose own computation is charged to `share`.
  [[nodiscard]] tenon::Session open_session(const Share& share = {}) const;
  /// Throws ApiError if the model has no chat template.
  ///   tells_tools  describes tools as text if the template has none
  [[nodiscard]] const tenon::Chat& chat(bool tells_tools = true) const;
  /// True if tools are described as text (option "generic_tools"), for a template without tools.
  [[nodiscard]] bool tells_tools() const { return core_->generic_chat.has_value(); }
  /// "fp_" and digits; changes with the model, the library's version or the computation.
  [[nodiscard]] const std::string& fingerprint() const { return core_->fingerprint; }
  /// Throws ApiError if the model generates text.
  [[nodiscard]] tenon::Embedder make_embedder(const tenon::EmbedderOptions& options) const;

  /// The adapter, read from its path unless it was before. Throws as tenon_adapter_open.
  [[nodiscard]] std::shared_ptr<const tenon::Adapter> adapter(const ServedAdapter& wanted) const;
  /// Requests that have the adapter keep it.
  void forget_adapter(uint32_t id) const;

 private:
  struct Core {
    explicit Core(const tenon_model* of);
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;
    ~Core();

    int64_t created;
    const tenon_model* model;
    tenon::Tokenizer tokenizer;
    tenon_engine* own_engine = nullptr;
    tenon_engine* engine = nullptr;
    std::optional<tenon::Chat> chat{};
    std::string no_chat{};                      ///< reason why the model has no chat
    std::optional<tenon::Chat> generic_chat{};  ///< adds tools to a template without them
    std::string fingerprint;
    int64_t wanted_context = 0;
    uint64_t context = 0;
    std::mutex mutex{};
    std::map<uint32_t, std::shared_ptr<const tenon::Adapter>> adapters{};  ///< those that were read
  };

  void open(uint64_t context);
  void open_chat();
  [[nodiscard]] tenon::Session new_session(const Share& share) const;
  [[nodiscard]] const tenon::Session& adapted() const;

  std::string name_;
  std::shared_ptr<const ServedModel> base_;  // null for a model itself
  std::shared_ptr<Core> core_;
  std::optional<tenon::Adapter> sum_;  // of the request; empty without adapters
  std::string adapters_text_;
  Share share_;
  mutable std::mutex mutex_;
  mutable std::optional<tenon::Session> adapted_;  // without tokens; others are its forks
};

}  // namespace tenon_http
