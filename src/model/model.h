// A loaded model: file, tokenizer, programs and their executables, immutable. The engine owns the
// state of generation (KV cache, sessions).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/model_spec.h"
#include "backend/device_turn.h"
#include "base/byte_source.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/system.h"
#include "base/thread_team.h"
#include "file/model_file.h"
#include "model/model_options.h"
#include "model/model_program.h"
#include "program/program.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/demand_table.h"

namespace tenon {

class AdapterBank;
class HostServices;
class Tower;

/// Memory of a model with one session, in bytes. Exact once weights are loaded, else estimated from
/// the file's formats.
struct MemoryNeeds {
  uint64_t context = 0;        ///< positions in the session
  uint64_t weights_bytes = 0;  ///< includes the row cache of tables in the file
  uint64_t scratch_bytes = 0;
  /// Cache of a full session with its state checkpoints, in whole slabs: a budget of this size
  /// holds one session.
  uint64_t kv_bytes = 0;
  /// Cache of the draft model for such a session, in an engine's draft_bytes; its weights and
  /// scratch are counted above.
  uint64_t draft_cache_bytes = 0;
  /// Cache bytes read for the next token, and written in states (seen_cache_bytes).
  uint64_t token_cache_bytes = 0;
};

/// Cost of a step in the program's matrices, the base of measured speeds. Counts only the experts
/// that one token uses.
struct StepWork {
  uint64_t token_multiplications = 0;   ///< per token
  uint64_t output_multiplications = 0;  ///< in addition, per row of wanted logits
  uint64_t weight_bytes = 0;            ///< in the file's formats, read once per step
};

/// Immutable: share it freely between threads, as shared_ptr<const Model>.
class Model {
 public:
  /// Opens a file by path (any part of a split file). Throws the errors of the file, the
  /// architecture, the vocabulary and the backend.
  static std::shared_ptr<const Model> load(const std::string& path, ModelOptions options = {});
  /// Opens sources: one, or all parts of a split file. Keeps them alive.
  static std::shared_ptr<const Model> load(
      std::span<const std::shared_ptr<const ByteSource>> sources, ModelOptions options = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  [[nodiscard]] const ModelFile& file() const { return *file_; }
  [[nodiscard]] const Metadata& metadata() const { return file_->metadata(); }
  /// The options given to load(), without overrides and progress.
  [[nodiscard]] const ModelOptions& options() const { return options_; }
  [[nodiscard]] const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  /// general.name; may be empty.
  [[nodiscard]] std::string_view name() const;
  /// general.architecture; may be empty.
  [[nodiscard]] std::string_view architecture() const;
  /// tokenizer.chat_template; may be empty.
  [[nodiscard]] std::string_view chat_template() const;
  /// The model that guesses tokens for this one (option draft_model); null if there is none.
  [[nodiscard]] const std::shared_ptr<const Model>& draft() const { return draft_; }
  /// Number of elements of all tensors.
  [[nodiscard]] uint64_t num_parameters() const;

  /// True if the model has a program: the file holds more than a vocabulary and was not opened for
  /// its vocabulary only. Otherwise the next four functions throw State.
  [[nodiscard]] bool has_program() const { return !programs_.empty(); }
  [[nodiscard]] const ModelSpec& spec() const;
  [[nodiscard]] const ModelProgram& trunk() const;
  [[nodiscard]] const Program& program() const { return trunk().program; }
  /// Memory at `context` positions; 0 means default_context().
  [[nodiscard]] MemoryNeeds memory(uint64_t context) const;

  /// All programs; the trunk comes first.
  [[nodiscard]] std::span<const ModelProgram> programs() const { return programs_; }
  /// The program of a role and index; null if the model has none.
  [[nodiscard]] const ModelProgram* find(ProgramRole role, uint32_t index = 0) const;

  /// True if the trunk gives rows of texts, for Embedder, and no logits.
  [[nodiscard]] bool gives_rows() const { return spec_.pooling.has_value(); }
  /// TENON_POOL_* of an Embedder's rows, which the trunk may give beside logits; empty without
  /// rows.
  [[nodiscard]] std::optional<uint32_t> row_pooling() const { return row_pooling_; }
  /// True if the weights are loaded.
  [[nodiscard]] bool can_run() const;
  /// Executable of a trunk with logits. Throws State with the reason if it cannot run.
  [[nodiscard]] PlacedExecutable& executable() const;
  /// Executable of a trunk that gives rows, with or without logits. Throws State.
  [[nodiscard]] PlacedExecutable& row_executable() const;
  /// First token of a decoder's answer to an encoder's text, if the file names it.
  [[nodiscard]] std::optional<Token> decoder_start() const;
  /// Services that run steps. Throws State if the weights are not loaded.
  [[nodiscard]] HostServices& services() const;
  /// Threads that run steps; idle between steps. Throws as services().
  [[nodiscard]] ThreadTeam& team() const;
  [[nodiscard]] StepWork step_work() const;
  /// Description of the devices in use, concatenated ("cpu: ...; vulkan: ..."); empty if the model
  /// cannot run.
  [[nodiscard]] std::string_view device_description() const { return device_description_; }
  /// Backend in use ("cpu+vulkan" for several); empty if the model cannot run.
  [[nodiscard]] std::string_view backend_name() const { return backend_name_; }
  /// Default positions of a session.
  [[nodiscard]] uint32_t default_context() const;
  /// Identifies the model: hashes the metadata, the tensor directory and 512 bytes of each tensor
  /// as loaded. Zero if the weights are not loaded.
  [[nodiscard]] const Hash128& fingerprint() const { return fingerprint_; }
  /// Bank of adapters; null without the option adapter_slots.
  [[nodiscard]] AdapterBank* adapter_bank() const { return bank_.get(); }
  /// Tower for pictures; null without the option projector.
  [[nodiscard]] const Tower* tower() const { return tower_.get(); }
  /// Turn to hold while using an executable.
  [[nodiscard]] DeviceTurn& turn() const { return turn_; }

 private:
  Model(std::shared_ptr<const ModelFile> file, ModelOptions options);
  void build();
  void build_vocabulary();
  void build_program_and_weights();
  /// Throws Argument for an override without a reader.
  void expect_overrides_read() const;
  void load_weights();
  void note_devices();
  [[nodiscard]] bool wants_rows(const ModelSpec& model) const;
  [[nodiscard]] bool wants_rows_on_demand() const;
  void make_fetcher();
  void load_draft();
  void open_tower(const ModelSpec& spec, bool gives_rows);
  [[nodiscard]] PlacedExecutable& loaded() const;
  [[noreturn]] void fail_without_program() const;

  std::shared_ptr<const ModelFile> file_;
  ModelOptions options_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  ModelSpec spec_;
  std::optional<uint32_t> row_pooling_;
  std::vector<ModelProgram> programs_;  // the trunk comes first
  std::shared_ptr<const Model> draft_;  // may be null
  std::string backend_name_;
  std::string device_description_;
  Hash128 fingerprint_;
  mutable DeviceTurn turn_;
  std::unique_ptr<AdapterBank> bank_;
  std::unique_ptr<Tower> tower_;
};

}  // namespace tenon
