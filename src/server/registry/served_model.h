// Model under the name that clients request: tokenizer, engine, chat template, and embedders.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tenon/chat.hpp>
#include <tenon/embedder.hpp>
#include <tenon/engine.hpp>
#include <tenon/tokenizer.hpp>

#include "server/work/share.h"

namespace tenon_http {

/// Thread-safe.
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
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;
  ~ServedModel();

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Time of adding, in seconds since 1970.
  [[nodiscard]] int64_t created() const { return created_; }
  [[nodiscard]] const tenon_model* model() const { return model_; }
  [[nodiscard]] tenon::Tokenizer tokenizer() const { return tokenizer_; }

  /// Null for an embedding model.
  [[nodiscard]] tenon_engine* engine() const { return engine_; }
  [[nodiscard]] bool owns_engine() const { return own_engine_ != nullptr; }
  /// Context length in tokens.
  [[nodiscard]] uint64_t context() const { return context_; }

  /// Throws ApiError if the model does not generate text.
  void check_generates() const;
  /// Throws ApiError 429 if the engine's queue is full; a cheap check before planning a request.
  void check_queue() const;
  /// Opens a session whose own computation is charged to `share`.
  [[nodiscard]] tenon::Session open_session(const Share& share = {}) const;
  /// Throws ApiError if the model has no chat template.
  ///   tells_tools  describes tools as text if the template has none
  [[nodiscard]] const tenon::Chat& chat(bool tells_tools = true) const;
  /// True if tools are described as text (option "generic_tools"), for a template without tools.
  [[nodiscard]] bool tells_tools() const { return generic_chat_.has_value(); }
  /// "fp_" and digits; changes with the model, the library's version or the computation.
  [[nodiscard]] const std::string& fingerprint() const { return fingerprint_; }
  /// Throws ApiError if the model generates text.
  [[nodiscard]] tenon::Embedder make_embedder(const tenon::EmbedderOptions& options) const;

 private:
  void open(uint64_t context);
  void open_chat();

  std::string name_;
  int64_t created_;
  const tenon_model* model_;
  tenon::Tokenizer tokenizer_;
  tenon_engine* own_engine_ = nullptr;
  tenon_engine* engine_ = nullptr;
  std::optional<tenon::Chat> chat_;
  std::string no_chat_;                      ///< reason why the model has no chat
  std::optional<tenon::Chat> generic_chat_;  ///< chat that adds tools to a template without them
  std::string fingerprint_;
  int64_t wanted_context_ = 0;
  uint64_t context_ = 0;
};

}  // namespace tenon_http
