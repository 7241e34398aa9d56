// A loaded model: file, tokenizer, program and the executable that runs it, joined and immutable.
// What changes while text is generated (KV cache, sessions) is the engine's.
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
#include "program/program.h"
#include "text/tokenizer/tokenizer.h"
#include "weights/bound_weight.h"
#include "weights/demand_table.h"
#include "weights/loader.h"
#include "weights/row_fetcher.h"

namespace tenon {

class Device;
class Executable;
class HostServices;
class PlacedExecutable;

/// Bytes that a model takes with one session. Exact once weights are loaded, else an estimate from
/// the file's formats.
struct MemoryNeeds {
  uint64_t context = 0;        ///< positions of the session
  uint64_t weights_bytes = 0;  ///< with the row cache in place of tables in the file
  uint64_t scratch_bytes = 0;
  /// Of the session when it is full, with the checkpoints of its states, in whole slabs: a budget
  /// of so many bytes takes nothing from it.
  uint64_t kv_bytes = 0;
  /// Of the cache that one token more reads, and of states also writes (seen_cache_bytes).
  uint64_t token_cache_bytes = 0;
};

/// What a step costs in the matrices of the program: the figures that speeds are measured against.
/// Of experts, those count that one token uses.
struct StepWork {
  uint64_t token_multiplications = 0;   ///< for each token
  uint64_t output_multiplications = 0;  ///< more for each row whose logits are wanted
  uint64_t weight_bytes = 0;            ///< of the file's formats, read once in each step
};

/// Immutable: share freely between threads, as shared_ptr<const Model>.
class Model {
 public:
  /// Opens a file by path (a split one by any of its parts). Throws what the file, the
  /// architecture, the vocabulary and the backend throw; nothing is left behind.
  static std::shared_ptr<const Model> load(const std::string& path, ModelOptions options = {});
  /// The same from sources: one, or all parts of a split file. They are kept alive.
  static std::shared_ptr<const Model> load(
      std::span<const std::shared_ptr<const ByteSource>> sources, ModelOptions options = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  [[nodiscard]] const ModelFile& file() const { return *file_; }
  [[nodiscard]] const Metadata& metadata() const { return file_->metadata(); }
  /// As given to load(), but for overrides and progress, which are used up.
  [[nodiscard]] const ModelOptions& options() const { return options_; }
  [[nodiscard]] const std::shared_ptr<const Tokenizer>& tokenizer() const { return tokenizer_; }
  /// general.name, or empty.
  [[nodiscard]] std::string_view name() const;
  /// general.architecture, or empty.
  [[nodiscard]] std::string_view architecture() const;
  /// tokenizer.chat_template, or empty.
  [[nodiscard]] std::string_view chat_template() const;
  /// Elements of all tensors.
  [[nodiscard]] uint64_t num_parameters() const;

  /// Whether there is a program, that is, whether the file holds more than a vocabulary and was not
  /// opened for it alone. Without one, the three that follow throw State.
  [[nodiscard]] bool has_program() const { return program_ != nullptr; }
  [[nodiscard]] const ModelSpec& spec() const;
  [[nodiscard]] const Program& program() const;
  /// Memory at `context` positions; 0: default_context().
  [[nodiscard]] MemoryNeeds memory(uint64_t context) const;

  /// Whether the program gives rows of texts, for Embedder, and has no logits for an engine.
  [[nodiscard]] bool gives_rows() const { return spec_.pooling.has_value(); }
  /// Whether the weights are loaded.
  [[nodiscard]] bool can_run() const { return executable_ != nullptr; }
  /// What runs the program of a model with logits. Throws State, saying why, when nothing does.
  [[nodiscard]] PlacedExecutable& executable() const;
  /// The same of a model that gives rows.
  [[nodiscard]] PlacedExecutable& row_executable() const;
  /// Whether the program attends to what an encoder makes of another text.
  [[nodiscard]] bool has_encoder() const { return encoder_program_ != nullptr; }
  /// Of an encoder: its program fills the CROSS group of program(). Throw State without one.
  [[nodiscard]] const Program& encoder_program() const;
  [[nodiscard]] Executable& encoder_executable() const;
  /// The token that answers to an encoder's text begin with, where the file tells one.
  [[nodiscard]] std::optional<Token> decoder_start() const;
  /// What carries out steps of either. Throws State when the weights are not loaded.
  [[nodiscard]] HostServices& services() const;
  /// The threads that steps run on; idle between steps. Throws as services().
  [[nodiscard]] ThreadTeam& team() const;
  [[nodiscard]] StepWork step_work() const;
  /// Tables that stay in the file.
  [[nodiscard]] std::span<const DemandTable> demand_tables() const { return tables_; }
  /// Fetches their rows for a step, for the thread that uses executable(). Null when there are none,
  /// or nothing runs the model.
  [[nodiscard]] RowFetcher* row_fetcher() const { return fetcher_.get(); }
  /// What the device in use says about itself, of several one after another: "cpu: ...; vulkan: ...";
  /// empty when nothing runs the model.
  [[nodiscard]] std::string_view device_description() const { return device_description_; }
  /// The name of the backend in use, of several "cpu+vulkan"; or empty.
  [[nodiscard]] std::string_view backend_name() const { return backend_name_; }
  /// Positions of a session that asks for none in particular.
  [[nodiscard]] uint32_t default_context() const;
  /// Tells this model from others: of the metadata, the directory of tensors and 512 bytes of each
  /// tensor as they were loaded, not as the file is now. Zero when the weights are not loaded.
  [[nodiscard]] const Hash128& fingerprint() const { return fingerprint_; }
  /// Held by the thread that uses executable().
  [[nodiscard]] DeviceTurn& turn() const { return turn_; }

 private:
  Model(std::shared_ptr<const ModelFile> file, ModelOptions options);
  void build();
  void build_vocabulary();
  void build_program_and_weights();
  /// Throws Argument for an override without a reader.
  void expect_overrides_read() const;
  /// A program's weights, and what runs it.
  struct Loading {
    std::span<const BoundWeight> weights;
    const Program& program;
    WeightSink& sink;
    std::function<void()> seal;
  };
  void load_weights(std::span<const Loading> loadings, ThreadTeam& team);
  void note_devices();
  [[nodiscard]] bool wants_rows(const ModelSpec& model) const;
  [[nodiscard]] bool wants_rows_on_demand() const;
  void make_fetcher();
  [[nodiscard]] PlacedExecutable& loaded() const;
  [[noreturn]] void fail_without_program() const;

  std::shared_ptr<const ModelFile> file_;
  ModelOptions options_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  ModelSpec spec_;
  std::unique_ptr<const Program> program_;
  std::vector<DemandTable> tables_;
  std::unique_ptr<PlacedExecutable> executable_;  // what runs it; or null
  std::string backend_name_;
  std::string device_description_;
  std::unique_ptr<const Program> encoder_program_;  // or null
  std::unique_ptr<Executable> encoder_executable_;  // or null
  std::unique_ptr<RowFetcher> fetcher_;             // with the executable's team; or null
  Hash128 fingerprint_;
  mutable DeviceTurn turn_;
};

}  // namespace tenon
