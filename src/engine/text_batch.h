// Texts that share a step of an embedding model, and their rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/device_turn.h"
#include "model/model.h"
#include "model/program_runner.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// Tokens of a text to embed.
struct EmbedderText {
  std::vector<Token> tokens;
  size_t second_begin = SIZE_MAX;  ///< first token of the second text of a pair
};

/// Filled and run repeatedly, by one thread at a time. Texts lie end to end, without padding. A
/// text computed in slices is alone in its steps, and its cache persists between them.
class TextBatch {
 public:
  /// Throws State if the model gives no rows.
  ///   last_alone  only the last token's row per text is needed, which saves the other logits
  TextBatch(std::shared_ptr<const Model> model, bool last_alone);
  ~TextBatch();
  TextBatch(const TextBatch&) = delete;
  TextBatch& operator=(const TextBatch&) = delete;

  void clear();
  /// Adds a whole text. Returns false and changes nothing if it does not fit. An empty batch takes
  /// any text that fits in a step; for models that see no later tokens, the usual batch size is the
  /// limit.
  bool add(const EmbedderText& text);
  /// Makes the batch a slice of one text from `begin` on, for models that need not see the whole
  /// text at once. Earlier slices must have run. Returns the slice's token count.
  size_t set_slice(const EmbedderText& text, size_t begin);

  /// Computes the batch. cancel: a flag that any thread may set, or null. Throws Cancelled,
  /// NoMemory, and the backend's errors.
  void run(const DeviceTurn::Held& turn, const uint32_t* cancel);

  /// Frees all memory before the destructor, which would wait for the model's turn.
  void release_memory(const DeviceTurn::Held&) noexcept { runner_.reset(); }

  [[nodiscard]] uint32_t num_tokens(size_t index) const { return parts_[index].num_tokens; }
  /// Results of run() for text `index`: rows of its tokens in the step, [tokens, width], or of its
  /// last token only; and its own row, pooled or classified. text_row() is empty before the text's
  /// last token.
  [[nodiscard]] std::span<const float> token_rows(size_t index) const;
  [[nodiscard]] std::span<const float> text_row(size_t index) const;

  [[nodiscard]] uint32_t width() const { return width_; }
  /// Columns of text_row(); 0 if the model has none.
  [[nodiscard]] uint32_t text_columns() const { return text_columns_; }

 private:
  static constexpr uint32_t kNoSlot = TENON_NO_SLOT;
  struct Part {
    uint32_t num_tokens;
    uint32_t first_row;  // first row in the token results
    uint32_t num_rows;
    uint32_t text_row;
    bool ends;  // contains the last token
  };

  [[nodiscard]] bool has_room(size_t tokens) const;
  void put(const EmbedderText& text, size_t begin, uint32_t count);

  std::shared_ptr<const Model> model_;
  const ModelProgram& program_;
  bool has_logits_;  // logits are the wanted rows
  bool last_alone_;
  uint32_t step_tokens_;
  uint32_t most_tokens_;  // limit for several texts together
  uint32_t token_slot_ = kNoSlot;
  uint32_t text_slot_ = kNoSlot;
  uint32_t type_slot_ = kNoSlot;
  uint32_t width_ = 0;
  uint32_t text_columns_ = 0;
  uint32_t types_ = 0;  // columns of the segment input, one per text of a pair

  std::optional<ProgramRunner> runner_;
  std::vector<Part> parts_;
  std::vector<float> type_rows_;       // [T, types]
  std::span<const float> token_rows_;  // [T, width]
  std::span<const float> text_rows_;   // [S or R, text_columns]
};

}  // namespace tenon
