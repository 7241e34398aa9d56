// Fills and runs steps of one program of a model and owns the arrays that the backend reads.
// Callers choose the texts and use the results.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/system.h"
#include "kv/block_pool.h"
#include "model/model_program.h"
#include "model/private_cache.h"
#include "tenon/backend.h"
#include "text/tokenizer/vocabulary.h"

namespace tenon {

/// Rows that stand in a text in place of embeddings: consecutive rows of a picture's.
struct RowsInText {
  uint64_t first = 0;           ///< position of the first row
  std::span<const float> rows;  ///< [count, width]
  uint64_t count = 0;
};

/// A text's part of a step.
struct StepSlice {
  std::span<const Token> text;  ///< known tokens from position 0 on
  uint64_t past = 0;            ///< positions before the step
  uint32_t num_tokens = 0;      ///< at least 1; exactly 1 if the text ends at `past`
  /// Guessed tokens after the first `num_tokens`, which end the text then.
  std::span<const Token> guesses{};
  uint32_t num_outputs = 0;  ///< rows wanted, of the last tokens and guesses
  /// If the text ends at `past`: output row of the previous step whose draw is the token.
  uint32_t drawn_row = 0;
  uint32_t source_size = 0;  ///< positions in CROSS groups
  /// [groups] Block tables, null for a private cache; empty if all are private.
  std::span<const uint32_t* const> tables{};
  uint64_t private_positions = 0;  ///< positions in a private cache; 0 means the size of `text`
  uint32_t adapter = 0;            ///< slot of the bank (AdapterLease); 0 means none
  /// Of the whole text, in order; only for programs with MediaInputs.
  std::span<const RowsInText> media{};
  /// [num_tokens, position_parts] of the program; empty: all parts are the number in the text.
  std::span<const int32_t> positions{};
};

/// Used repeatedly: clear(), add() per text, bind(), submit(). The constructor reserves all memory
/// except slabs of growing pools, private caches and bind_own(). Use from one thread, which holds
/// the model's turn in submit(), run() and the destructor.
class ProgramRunner {
 public:
  /// Requires a program with an executable; it must outlive the runner.
  ///   pools  [groups], null for a private cache; empty if all are private
  ProgramRunner(const ModelProgram& program, std::span<const std::shared_ptr<BlockPool>> pools,
                std::shared_ptr<System> system);
  ProgramRunner(const ProgramRunner&) = delete;
  ProgramRunner& operator=(const ProgramRunner&) = delete;

  /// Starts an empty step without bindings.
  void clear();
  /// Throws Argument for a slice that begins past its text.
  void add(const StepSlice& slice);
  /// Binds the values of an input or a result, [rows of its class, columns] f32. Unbound results
  /// are lost.
  void bind(uint32_t slot, float* values);
  /// Binds memory of the runner, valid until the slot is bound again. Call after all add() calls.
  /// Throws NoMemory that names `what`.
  std::span<float> bind_own(uint32_t slot, std::string_view what);

  /// Fetches table rows, submits the step and returns its ticket. Bound memory, block tables of
  /// pools and `cancel` (a flag that any thread may set, or null) must stay valid until the step
  /// has ended. Throws Cancelled, NoMemory, and the backend's errors.
  ///   after  ticket of the previous step, or TENON_NO_TICKET if that has ended
  [[nodiscard]] uint64_t submit(const uint32_t* cancel, uint64_t after = TENON_NO_TICKET);
  /// Submits the step and waits for its end. May be repeated.
  void run(const uint32_t* cancel) { program_.executable->wait(submit(cancel)); }

  [[nodiscard]] uint32_t num_tokens() const { return static_cast<uint32_t>(tokens_.size()); }
  [[nodiscard]] uint32_t num_outputs() const { return static_cast<uint32_t>(output_rows_.size()); }
  [[nodiscard]] uint32_t num_texts() const { return static_cast<uint32_t>(sequences_.size()); }
  [[nodiscard]] uint32_t max_tokens() const { return view_.max_tokens; }
  /// Blocks of the texts in a private group.
  [[nodiscard]] uint64_t private_blocks_of(uint32_t group) const {
    return cache_.num_blocks(group);
  }
  /// True if a token is drawn by the previous step.
  [[nodiscard]] bool names_drawn() const { return names_drawn_; }
  [[nodiscard]] const ModelProgram& program() const { return program_; }

 private:
  [[nodiscard]] uint64_t num_rows(uint32_t slot) const;
  void add_media(const StepSlice& slice, uint32_t count);
  void bind_unread();
  void fetch_rows(const uint32_t* cancel);
  void lay_caches();

  const ModelProgram& program_;
  const tenon_program& view_;
  std::shared_ptr<System> system_;
  std::vector<std::shared_ptr<BlockPool>> pools_;  // [groups]; null: private
  PrivateCache cache_;
  std::vector<int32_t> tokens_;                    // [T]
  std::vector<int32_t> positions_;                 // [T, position_parts]
  std::vector<int32_t> earlier_tokens_;            // [texts, token_history]
  std::vector<uint32_t> output_rows_;              // [R]
  std::vector<tenon_step_sequence> sequences_;     // [texts]
  std::vector<const uint32_t*> block_tables_;      // [texts, groups]
  std::vector<std::vector<tenon_buffer*>> slabs_;  // [groups, slabs]
  std::vector<tenon_cache_pool> pool_views_;       // [groups]
  bool names_drawn_ = false;
  std::vector<float> adapters_;          // [T], for a program with a bank
  std::vector<float> blanks_;            // [T, adapter slots] zeros
  uint64_t media_width_ = 0;             // columns of rows of pictures; 0: the program takes none
  std::vector<float> media_rows_;        // [T, media_width_]
  std::vector<float> media_keep_;        // [T]
  std::vector<tenon_binding> bound_;     // by the caller
  FetchedRows fetched_;                  // of tables in the file
  std::vector<tenon_binding> bindings_;  // all bindings of the step
  std::map<uint32_t, Buffer> own_;       // by slot
  tenon_step step_{};
};

}  // namespace tenon
