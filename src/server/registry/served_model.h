// A model under the name by which clients ask for it: its tokenizer, engine, chat template, and
// embedders.
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

/// Any thread.
class ServedModel {
 public:
  /// In an engine of its own, if the model generates text. model: the host's, must outlive this.
  /// engine_options: or null. context: of each request; 0: as the library says. Throws tenon::Error.
  ServedModel(std::string name, const tenon_model* model, const tenon_options* engine_options,
              uint64_t context);
  /// In an engine of the host's, which must outlive this, too.
  ServedModel(std::string name, const tenon_model* model, tenon_engine* engine, uint64_t context);
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;
  ~ServedModel();

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Seconds since 1970: when it was added.
  [[nodiscard]] int64_t created() const { return created_; }
  [[nodiscard]] const tenon_model* model() const { return model_; }
  [[nodiscard]] tenon::Tokenizer tokenizer() const { return tokenizer_; }

  /// Null for a model of embeddings.
  [[nodiscard]] tenon_engine* engine() const { return engine_; }
  [[nodiscard]] bool owns_engine() const { return own_engine_ != nullptr; }
  /// Most tokens of a text.
  [[nodiscard]] uint64_t context() const { return context_; }

  /// Throws ApiError when the model does not generate text.
  void check_generates() const;
  /// Throws ApiError 429 when the engine's queue is full: cheaper before a request is planned.
  void check_queue() const;
  /// Opens a session whose own computing counts towards `share`.
  [[nodiscard]] tenon::Session open_session(const Share& share = {}) const;
  /// Throws ApiError without a chat template.
  ///   tells_tools  describes tools as text, if the template knows none
  [[nodiscard]] const tenon::Chat& chat(bool tells_tools = true) const;
  /// Whether tools are described as text (option "generic_tools"), for a template without tools.
  [[nodiscard]] bool tells_tools() const { return generic_chat_.has_value(); }
  /// "fp_" and digits; changes with the model, the library's version or the computation.
  [[nodiscard]] const std::string& fingerprint() const { return fingerprint_; }
  /// Throws ApiError for a model that generates text.
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
  std::string no_chat_;                      ///< why the model has no chat
  std::optional<tenon::Chat> generic_chat_;  ///< chat for a template without tools
  std::string fingerprint_;
  int64_t wanted_context_ = 0;
  uint64_t context_ = 0;
};

}  // namespace tenon_http
