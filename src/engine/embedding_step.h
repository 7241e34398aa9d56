// One step of a model that gives rows: the texts in it, the cache it needs while it runs, and the
// rows that come of it. Which texts go into a step, and what becomes of the rows, is the embedder's
// business.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/device_buffer.h"
#include "base/buffer.h"
#include "model/model.h"
#include "tenon/backend.h"
#include "text/tokenizer/vocabulary.h"
#include "weights/row_fetcher.h"

namespace tenon {

/// Tokens whose rows are wanted.
struct EmbedderText {
  std::vector<Token> tokens;
  size_t second_begin = SIZE_MAX;  ///< of a pair: the first token of the second text
};

/// Filled and run again and again, by one thread at a time. Texts lie end to end, without padding. A
/// text that its model computes in slices is alone in its steps, and its cache stays from one to the
/// next.
class EmbeddingStep {
 public:
  /// Throws State when the model gives no rows.
  explicit EmbeddingStep(std::shared_ptr<const Model> model);
  ~EmbeddingStep();
  EmbeddingStep(const EmbeddingStep&) = delete;
  EmbeddingStep& operator=(const EmbeddingStep&) = delete;

  void clear();
  /// Puts a whole text after those that are there. False, and nothing is done, when it does not fit; an
  /// empty step takes each text that a step may have.
  bool add(const EmbedderText& text);
  /// Makes the step a part of one text, of a model that need not see it whole. Those before it were
  /// run. Returns how many of its tokens, from `begin` on, that is.
  size_t set_slice(const EmbedderText& text, size_t begin);

  /// Computes it, while the caller has the model's turn. cancel: a flag of any thread's, or null.
  /// Throws Cancelled, NoMemory, and what the backend reports.
  void run(const uint32_t* cancel);

  /// After run(): of the text that was added as number `index`, the rows of its tokens that are in the
  /// step [tokens, width], and its own row, pooled or classified; none before its last token.
  [[nodiscard]] std::span<const float> token_rows(size_t index) const;
  [[nodiscard]] std::span<const float> text_row(size_t index) const;

  [[nodiscard]] uint32_t width() const { return width_; }
  /// Columns of text_row(); 0: there is none.
  [[nodiscard]] uint32_t text_columns() const { return text_columns_; }

 private:
  static constexpr uint32_t kNoSlot = TENON_NO_SLOT;
  struct Part {
    uint32_t first_token;
    uint32_t num_tokens;
    uint32_t past;
    uint32_t size;  // of the whole text
    uint32_t text_row;
  };

  [[nodiscard]] bool is_table(uint32_t slot) const;
  [[nodiscard]] uint64_t blocks_of(uint32_t group, uint64_t tokens) const;
  void put(const EmbedderText& text, size_t begin, uint32_t count);
  void lay_tables();
  void make_room();
  void bind(tenon_step& step);

  std::shared_ptr<const Model> model_;
  const tenon_program& program_;
  std::span<const tenon_cache_group> groups_;
  uint32_t most_tokens_;  // of several texts together
  uint32_t token_slot_ = kNoSlot;
  uint32_t text_slot_ = kNoSlot;
  uint32_t type_slot_ = kNoSlot;
  uint32_t width_ = 0;
  uint32_t text_columns_ = 0;
  uint32_t types_ = 0;  // columns of the input that says which text a token is of

  std::vector<Part> parts_;
  std::vector<int32_t> tokens_;
  std::vector<int32_t> positions_;       // [T, position_parts]
  std::vector<int32_t> earlier_tokens_;  // [parts, token_history]
  std::vector<float> type_rows_;         // [T, types]
  std::vector<uint32_t> output_rows_;    // [R]
  std::vector<uint32_t> blocks_;         // of all tables
  std::vector<const uint32_t*> tables_;  // [parts, groups]
  std::vector<uint64_t> needed_;         // [groups] blocks
  std::vector<tenon_step_sequence> sequences_;
  std::vector<std::optional<DeviceBuffer>> cache_;  // [groups]
  std::vector<uint64_t> held_;                      // [groups] blocks
  std::vector<tenon_buffer*> slabs_;                // [groups]
  std::vector<tenon_cache_pool> pools_;             // [groups]
  std::vector<tenon_binding> bindings_;
  FetchedRows fetched_;  // of tables in the file
  Buffer token_rows_;    // [T, width] f32, grown on demand
  Buffer text_rows_;     // [S or R, text_columns] f32
};

}  // namespace tenon
