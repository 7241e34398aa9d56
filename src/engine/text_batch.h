// Texts that share a step of a model that gives rows, and the rows that come of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/model.h"
#include "model/program_runner.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// Tokens whose rows are wanted.
struct EmbedderText {
  std::vector<Token> tokens;
  size_t second_begin = SIZE_MAX;  ///< of a pair: the first token of the second text
};

/// Filled and run again and again, by one thread at a time. Texts lie end to end, without padding. A
/// text that its model computes in slices is alone in its steps, and its cache stays from one to the
/// next.
class TextBatch {
 public:
  /// Throws State when the model gives no rows.
  ///   last_alone  of each text the last token's row is enough, which spares logits of the others
  TextBatch(std::shared_ptr<const Model> model, bool last_alone);
  ~TextBatch();
  TextBatch(const TextBatch&) = delete;
  TextBatch& operator=(const TextBatch&) = delete;

  void clear();
  /// Puts a whole text after those that are there. False, and nothing is done, when it does not fit; an
  /// empty batch takes each text that a step may have.
  bool add(const EmbedderText& text);
  /// Makes the batch a part of one text, of a model that need not see it whole. Those before it were
  /// run. Returns how many of its tokens, from `begin` on, that is.
  size_t set_slice(const EmbedderText& text, size_t begin);

  /// Computes it, while the caller has the model's turn. cancel: a flag of any thread's, or null.
  /// Throws Cancelled, NoMemory, and what the backend reports.
  void run(const uint32_t* cancel);

  [[nodiscard]] uint32_t num_tokens(size_t index) const { return parts_[index].num_tokens; }
  /// After run(): of the text that was added as number `index`, the rows of its tokens that are in the
  /// step [tokens, width], or of its last alone, and its own row, pooled or classified; none before its
  /// last token.
  [[nodiscard]] std::span<const float> token_rows(size_t index) const;
  [[nodiscard]] std::span<const float> text_row(size_t index) const;

  [[nodiscard]] uint32_t width() const { return width_; }
  /// Columns of text_row(); 0: there is none.
  [[nodiscard]] uint32_t text_columns() const { return text_columns_; }

 private:
  static constexpr uint32_t kNoSlot = TENON_NO_SLOT;
  struct Part {
    uint32_t num_tokens;
    uint32_t first_row;  // of its tokens
    uint32_t num_rows;
    uint32_t text_row;
    bool ends;  // with its last token
  };

  [[nodiscard]] bool has_room(size_t tokens) const;
  void put(const EmbedderText& text, size_t begin, uint32_t count);

  std::shared_ptr<const Model> model_;
  const ModelProgram& program_;
  bool has_logits_;  // the rows of tokens are those that are wanted
  bool last_alone_;
  uint32_t step_tokens_;
  uint32_t most_tokens_;  // of several texts together
  uint32_t token_slot_ = kNoSlot;
  uint32_t text_slot_ = kNoSlot;
  uint32_t type_slot_ = kNoSlot;
  uint32_t width_ = 0;
  uint32_t text_columns_ = 0;
  uint32_t types_ = 0;  // columns of the input that says which text a token is of

  std::optional<ProgramRunner> runner_;
  std::vector<Part> parts_;
  std::vector<float> type_rows_;       // [T, types]
  std::span<const float> token_rows_;  // [T, width]
  std::span<const float> text_rows_;   // [S or R, text_columns]
};

}  // namespace tenon
