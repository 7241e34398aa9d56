// Steps of one program of a model: what goes into them, the arrays that the backend reads, and the
// run. Which texts share a step, and what becomes of the results, is the caller's business.
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

/// The part of a text that is in a step.
struct StepSlice {
  std::span<const Token> text;  ///< from position 0 on, as far as it is known
  uint64_t past = 0;            ///< its positions before the step
  uint32_t num_tokens = 0;      ///< at least 1; 1 of a text that ends at `past`
  uint32_t num_outputs = 0;     ///< rows that are wanted, those of the last tokens
  /// Where the text ends at `past`: the output row of the step before whose draw is the token.
  uint32_t drawn_row = 0;
  uint32_t source_size = 0;  ///< positions in CROSS groups
  /// [groups] Block tables, null for a private cache; empty: all are.
  std::span<const uint32_t* const> tables{};
  uint64_t private_positions = 0;  ///< that a private cache keeps; 0: those of `text`
};

/// Filled and run again and again: clear(), add() for each text, bind(), submit(). The constructor
/// reserves all memory, but for slabs of pools that grow, private caches and bind_own(). For one
/// thread, which has the model's turn in submit(), run() and the destructor.
class ProgramRunner {
 public:
  /// A program that something runs; it must outlive this.
  ///   pools  [groups], null for a private cache; empty: all are
  ProgramRunner(const ModelProgram& program, std::span<const std::shared_ptr<BlockPool>> pools,
                std::shared_ptr<System> system);
  ProgramRunner(const ProgramRunner&) = delete;
  ProgramRunner& operator=(const ProgramRunner&) = delete;

  /// Begins an empty step, without bindings.
  void clear();
  void add(const StepSlice& slice);
  /// The values of an input or a result, [rows of its class, columns] f32. Results that are not bound
  /// are lost.
  void bind(uint32_t slot, float* values);
  /// The same in memory of the runner, whose contents stay until the slot is bound anew. All texts
  /// were added. Throws NoMemory, naming `what`.
  std::span<float> bind_own(uint32_t slot, std::string_view what);

  /// Fetches rows of tables and hands the step to the device; the ticket of the step. What is bound,
  /// block tables of pools, and `cancel`, a flag of any thread's or null, stay valid until the step
  /// has ended.
  ///   after  ticket of the step before, or TENON_NO_TICKET where that has ended
  /// Throws Cancelled, NoMemory, and what the backend reports.
  [[nodiscard]] uint64_t submit(const uint32_t* cancel, uint64_t after = TENON_NO_TICKET);
  /// submit(), and the end of the step. May be repeated.
  void run(const uint32_t* cancel) { program_.executable->wait(submit(cancel)); }

  [[nodiscard]] uint32_t num_tokens() const { return static_cast<uint32_t>(tokens_.size()); }
  [[nodiscard]] uint32_t num_outputs() const { return static_cast<uint32_t>(output_rows_.size()); }
  [[nodiscard]] uint32_t num_texts() const { return static_cast<uint32_t>(sequences_.size()); }
  [[nodiscard]] uint32_t max_tokens() const { return view_.max_tokens; }
  /// Blocks that the texts take in a private group.
  [[nodiscard]] uint64_t private_blocks_of(uint32_t group) const {
    return cache_.num_blocks(group);
  }
  /// Whether a token is what the step before draws.
  [[nodiscard]] bool names_drawn() const { return names_drawn_; }
  [[nodiscard]] const ModelProgram& program() const { return program_; }

 private:
  [[nodiscard]] uint64_t num_rows(uint32_t slot) const;
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
  std::vector<tenon_binding> bound_;     // by the caller
  FetchedRows fetched_;                  // of tables in the file
  std::vector<tenon_binding> bindings_;  // both
  std::map<uint32_t, Buffer> own_;       // by slot
  tenon_step step_{};
};

}  // namespace tenon
