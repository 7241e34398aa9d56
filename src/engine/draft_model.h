// A smaller model that guesses for the texts of an engine. It has an engine and a cache of its own,
// so its work is batched, reuses prefixes and stays within its budget like that of any engine.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/engine_options.h"
#include "engine/model_drafter.h"
#include "model/model.h"

namespace tenon {

class Engine;
struct BatchItem;

class DraftModel final : public ModelDrafter, public std::enable_shared_from_this<DraftModel> {
 public:
  /// Throws Unsupported, with the reason, for a model that cannot draft for the other one
  /// (check_draft_model), NoMemory, and State for one without weights.
  DraftModel(std::shared_ptr<const Model> draft, std::shared_ptr<const Model> drafts_for,
             const EngineOptions& options);
  ~DraftModel() override;

  /// Begins a text.
  ///   context  most tokens of the text
  ///   salt     as of sessions: only texts with an equal salt share computed prefixes
  [[nodiscard]] std::unique_ptr<DraftText> begin_text(uint32_t context, std::string_view salt);

 private:
  class Text;
  struct Fork;

  bool follow(DraftText& text, std::span<const Token> tokens, DraftPricer::Text& worth) override;
  uint64_t read(std::span<Draft> drafts, uint64_t most) override;
  uint64_t compute(std::span<Draft> drafts) override;
  void go_on(Draft& draft, Token token) override;
  void leave(Draft& draft) override;
  void release(DraftText& text) override;
  void count_memory(DraftStats& stats) const override;
  [[nodiscard]] std::string name() const override;
  uint64_t run(std::span<Draft> drafts, std::span<const BatchItem> items);

  std::shared_ptr<Engine> engine_;
};

}  // namespace tenon
