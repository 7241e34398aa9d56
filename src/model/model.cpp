// Model: opening, joining and memory figures.
#include "model/model.h"

#include <algorithm>
#include <utility>

#include "arch/architectures.h"
#include "base/error.h"
#include "base/saturating.h"
#include "model/adapter_bank.h"
#include "model/device_options.h"
#include "model/draft_vocabulary.h"
#include "model/file_kind.h"
#include "model/model_adapters.h"
#include "model/model_executable.h"
#include "model/model_fingerprint.h"
#include "model/open_model.h"
#include "model/private_cache.h"
#include "model/program_facts.h"
#include "model/tokenizer_file.h"
#include "model/tower.h"
#include "program/cache_types.h"
#include "program/ops.h"
#include "quant/formats.h"

namespace tenon {
namespace {

constexpr uint32_t kMaxContext = 0x7fffffff;

/// Takes the metadata overrides out of the options.
std::vector<MetadataOverride> take_overrides(ModelOptions& options) {
  std::vector<MetadataOverride> overrides;
  for (const std::string& text : std::exchange(options.overrides, {})) {
    overrides.push_back(parse_metadata_override(text));
  }
  return overrides;
}

/// Pooling of a decoder's rows beside its logits.
uint32_t row_pooling_beside(const ModelFile& file, const ModelSpec& spec) {
  const ModelSpec rows = row_spec(file, spec);
  if (rows.classifier.labels > 0) {
    fail(Code::Unsupported, "{}: embeddings is \"also\", but a classifier is a model of its own",
         file.name());
  }
  return *rows.pooling;
}

/// Passes weights to the executable and checks them. Drops rows of inputs, which are read only for
/// the check.
class CheckingSink : public WeightSink {
 public:
  CheckingSink(WeightSink& sink, const Program& program) : sink_(sink), program_(program) {}
  uint64_t row_granularity(Slot slot) override {
    return is_input(slot) ? 1 : sink_.row_granularity(slot);
  }
  void load_rows(Slot slot, uint64_t first_row, uint64_t num_rows,
                 std::span<const std::byte> blocks) override {
    if (!is_input(slot)) sink_.load_rows(slot, first_row, num_rows, blocks);
  }

 private:
  [[nodiscard]] bool is_input(Slot slot) const {
    return program_.slots()[static_cast<uint32_t>(slot)].kind == TENON_SLOT_INPUT;
  }
  WeightSink& sink_;
  const Program& program_;
};

}  // namespace

StepLimits whole_text_limits(const ModelSpec& spec, const ModelOptions& options, uint32_t slice) {
  const uint32_t context = options.context != 0 ? options.context : kMaxDefaultContext;
  const uint32_t tokens = std::max(slice, std::min(spec.trained_context, context));
  return {tokens, tokens};
}

ProgramOptions program_options(const ModelOptions& options, const ModelSpec& spec,
                               const StepSizes& sizes) {
  const uint32_t slice = options.slice != 0 ? options.slice : sizes.step_tokens;
  ProgramOptions program;
  const bool is_encoder = spec.pooling.has_value() && spec.sees_ahead();
  program.cache_type = is_encoder ? uint32_t{TENON_TYPE_F32} : info_of(options.cache_type).type;
  program.block_tokens = sizes.block_tokens;
  program.limits = {slice, slice};
  program.context = default_context(options, spec);
  program.decodes_packed = sizes.decodes_packed;
  program.hidden_result = options.predictions;
  program.product_inputs = options.product_inputs;
  program.row_result = options.embeddings == Embeddings::Also;
  program.rows_on_demand = options.rows_on_demand == Switch::On;
  program.media_rows = !options.projector.empty();
  if (options.adapter_slots > 0) {
    program.adapter_slots = options.adapter_slots + 1;
    program.adapter_rank = options.adapter_rank;
  }
  return program;
}

std::shared_ptr<const Model> Model::load(const std::string& path, ModelOptions options) {
  check_options(options);
  auto file = open_model(path, {options.system, take_overrides(options)});
  std::shared_ptr<Model> model(new Model(std::move(file), std::move(options)));
  model->build();
  return model;
}

std::shared_ptr<const Model> Model::load(std::span<const std::shared_ptr<const ByteSource>> sources,
                                         ModelOptions options) {
  check_options(options);
  auto file = open_model(sources, {options.system, take_overrides(options)});
  std::shared_ptr<Model> model(new Model(std::move(file), std::move(options)));
  model->build();
  return model;
}

Model::Model(std::shared_ptr<const ModelFile> file, ModelOptions options)
    : file_(std::move(file)), options_(std::move(options)) {}

Model::~Model() = default;

void Model::build() {
  build_vocabulary();
  // A vocabulary-only file has no tensors.
  if (options_.metadata_only || options_.vocabulary_only || file_->tensors().empty()) {
    options_.progress = {};
    return metadata().end_watch();
  }
  build_program_and_weights();
  load_draft();
  options_.progress = {};  // free its captures before the model
}

void Model::build_vocabulary() {
  if (options_.metadata_only) {
    tokenizer_ = empty_tokenizer(options_.system);
    return;
  }
  refuse_other_kinds(*file_);
  // Checked first: clearer than an error about a missing vocabulary.
  if (!options_.vocabulary_only && !file_->tensors().empty()) check_architecture(*file_);
  tokenizer_ = read_tokenizer(*file_, options_.system);
  for (const std::string& warning : tokenizer_->warnings()) {
    options_.log(LogLevel::Warning, "{}: {}", file_->name(), warning);
  }
}

void Model::build_program_and_weights() {
  file_ = with_merged_adapters(file_, options_);
  ModelSpec spec = read_model_spec(*file_);
  if (has_json_tokenizer(metadata())) {
    if (tokenizer_->size() > spec.vocab_rows) {
      fail(Code::Format, "{}: tokenizer.json has {} tokens, but the embedding has {} rows",
           file_->name(), tokenizer_->size(), spec.vocab_rows);
    }
    spec.vocab = static_cast<uint32_t>(tokenizer_->size());
  }
  const bool has_encoder = !spec.encoder_layers.empty();
  const bool rows = wants_rows(spec);
  const bool rows_beside = options_.embeddings == Embeddings::Also;
  if ((rows || rows_beside) && has_encoder) {
    fail(Code::Unsupported, "{}: \"{}\" is an encoder and a decoder, and gives no embeddings here",
         file_->name(), spec.architecture);
  }
  if (rows) spec = row_spec(*file_, std::move(spec));
  row_pooling_ = rows_beside ? row_pooling_beside(*file_, spec) : spec.pooling;
  open_tower(spec, rows || rows_beside);
  // Encoder steps fetch no rows.
  const bool on_demand = !has_encoder && wants_rows_on_demand();
  const auto build = [&](const StepSizes& sizes) {
    ProgramOptions program = program_options(options_, spec, sizes);
    program.rows_on_demand = on_demand;
    program.token_rows = rows;
    if (rows && spec.sees_ahead()) {
      program.limits = whole_text_limits(spec, options_, program.limits.max_tokens);
    }
    return build_program(*file_, spec, program);
  };
  BuiltProgram built = build({});
  if (tokenizer_->size() != built.model.vocab) {
    fail(Code::Internal, "{}: the tokenizer has {} tokens, the model {}", file_->name(),
         tokenizer_->size(), built.model.vocab);
  }
  if (built.tables.empty() && options_.rows_on_demand == Switch::On) {
    fail(Code::Unsupported,
         "{}: rows_on_demand is \"on\", but no table can stay in the file: the embedding is the "
         "output matrix, too",
         file_->name());
  }
  expect_overrides_read();
  std::unique_ptr<PlacedExecutable> executable;
  if (!options_.inspect) executable = make_executable(built, options_, build);
  spec_ = built.model;
  programs_.push_back(
      make_model_program(ProgramRole::Trunk, 0, std::move(built), std::move(executable)));
  // Sized for an embedder or statistics, whose texts are at most this long.
  if (rows_beside || options_.product_inputs)
    programs_.front().private_positions = default_context();
  const PlacedExecutable* on = programs_.front().executable.get();
  std::vector<ModelProgram> others =
      programs_beside(*file_, spec, options_, on, !has_packed_weights(programs_.front().program));
  for (ModelProgram& beside : others) {
    programs_.push_back(std::move(beside));
  }
  if (!options_.inspect) {
    if (tower_ != nullptr) tower_->compile(*on);
    load_weights();
    note_devices();
    make_fetcher();
    if (!programs_.front().adapters.sites.empty()) {
      bank_ = std::make_unique<AdapterBank>(programs_.front(), turn_, options_.system);
    }
  }
  for (ModelProgram& one : programs_) one.weights = {};
}

void Model::expect_overrides_read() const {
  // Keys that are read later: by chats and embedders, and for the start of an answer.
  for (const Metadata::Entry& entry : metadata().entries()) {
    const bool is_template = entry.key.starts_with("tokenizer.chat_template");
    if (is_template) (void)metadata().contains(entry.key);
  }
  const std::string prefix = std::string(architecture()) + ".";
  for (const char* key : {"classifier.output_labels", "decoder_start_token_id"}) {
    (void)metadata().contains(prefix + key);
  }
  metadata().expect_asked();
  metadata().end_watch();
}

bool Model::wants_rows(const ModelSpec& model) const {
  if (options_.embeddings == Embeddings::On) return true;
  if (options_.embeddings == Embeddings::Auto) return asks_for_rows(*file_, model);
  if (model.pooling) {
    fail(Code::Unsupported, "{}: embeddings is \"{}\", but \"{}\" is an encoder without logits",
         file_->name(), options_.embeddings == Embeddings::Also ? "also" : "off",
         model.architecture);
  }
  return false;
}

bool Model::wants_rows_on_demand() const {
  if (options_.rows_on_demand != Switch::Auto) return options_.rows_on_demand == Switch::On;
  // The last quarter of memory is for the cache.
  return file_->tensor_bytes() / 3 > options_.system->available_memory() / 4;
}

/// Loads the draft model, with the context of this one.
void Model::load_draft() {
  if (options_.draft_model.empty()) return;
  ModelOptions options = options_;
  options.draft_model.clear();
  options.overrides.clear();
  options.devices.clear();
  options.device_memory.clear();
  options.embeddings = Embeddings::Off;
  options.predictions = false;
  // Adapters and the tower are those of this model.
  options.merged_adapters.clear();
  options.adapter_slots = 0;
  options.product_inputs = false;
  options.projector.clear();
  options.context = default_context();
  if (options.progress) options.progress = [this](double) { return options_.progress(1); };
  auto draft = load(options_.draft_model, std::move(options));
  check_draft_model(*this, *draft);
  draft_ = std::move(draft);
}

void Model::open_tower(const ModelSpec& spec, bool gives_rows) {
  if (options_.projector.empty()) return;
  if (gives_rows || !spec.encoder_layers.empty()) {
    fail(Code::Unsupported, "{}: pictures are read by models that generate text from them alone",
         file_->name());
  }
  tower_ = std::make_unique<Tower>(options_, spec, file_->name(), *tokenizer_);
}

void Model::load_weights() {
  TensorSamples samples(*file_);
  const double share = 1.0 / static_cast<double>(programs_.size());
  double done = 0;
  for (const ModelProgram& one : programs_) {
    LoadOptions load;
    load.team = &team();
    load.system = options_.system;
    load.check_finite = options_.check_weights;
    if (options_.progress) {
      load.progress = [&](double fraction) { return options_.progress(done + share * fraction); };
    }
    load.samples = &samples;
    std::vector<BoundWeight> weights = one.weights;
    // Tables in the file are read only for the check.
    for (const DemandTable& table : one.tables) {
      if (options_.check_weights) weights.push_back({table.slot, table.source});
    }
    CheckingSink sink(*one.executable, one.program);
    tenon::load_weights(*file_, weights, sink, load);
    clear_adapters(one);
    one.executable->seal();
    expect_loadable_adapters(one, file_->name());
    done += share;
  }
  samples.read_rest();
  fingerprint_ = model_fingerprint(*file_, samples);
  if (tower_ == nullptr) return;
  tower_->load(team());
  const Hash128 both[] = {fingerprint_, tower_->fingerprint()};
  fingerprint_ = hash_bytes(std::as_bytes(std::span(both)));
}

std::string_view Model::name() const {
  return metadata().get_or<std::string_view>("general.name", "");
}

std::string_view Model::architecture() const {
  return metadata().get_or<std::string_view>("general.architecture", "");
}

std::string_view Model::chat_template() const {
  return metadata().get_or<std::string_view>("tokenizer.chat_template", "");
}

uint64_t Model::num_parameters() const {
  uint64_t sum = 0;
  for (const TensorInfo& tensor : file_->tensors()) sum += tensor.num_values();
  return sum;
}

void Model::fail_without_program() const {
  fail(Code::State, "{} holds a vocabulary only, or was opened for its vocabulary", file_->name());
}

const ModelSpec& Model::spec() const {
  if (!has_program()) fail_without_program();
  return spec_;
}

const ModelProgram& Model::trunk() const {
  if (!has_program()) fail_without_program();
  return programs_.front();
}

const ModelProgram* Model::find(ProgramRole role, uint32_t index) const {
  const auto found = std::ranges::find_if(
      programs_, [&](const ModelProgram& one) { return one.role == role && one.index == index; });
  return found == programs_.end() ? nullptr : &*found;
}

bool Model::can_run() const { return has_program() && programs_.front().executable != nullptr; }

std::optional<Token> Model::decoder_start() const {
  const std::string key = std::string(architecture()) + ".decoder_start_token_id";
  const auto token = metadata().find<int64_t>(key);
  if (!token || *token < 0 || *token >= int64_t{spec().vocab}) return std::nullopt;
  return static_cast<Token>(*token);
}

StepWork Model::step_work() const { return tenon::step_work(program()); }

bool has_packed_weights(const Program& program) {
  return std::ranges::any_of(program.slots(), [](const tenon_slot& slot) {
    return slot.kind == TENON_SLOT_WEIGHT && is_memory_format(Format{slot.type});
  });
}

StepWork step_work(const Program& program) {
  StepWork work;
  for (uint32_t i = 0; i < program.ops().size(); ++i) {
    const OpCost cost = op_cost(op_view(program.view(), i));
    if (cost.multiplications == 0) continue;
    const uint32_t rows = program.slots()[program.ops()[i].outputs[0]].row_class;
    (rows == TENON_ROWS_TOKENS ? work.token_multiplications : work.output_multiplications) +=
        cost.multiplications;
    work.weight_bytes += cost.weight_bytes;
  }
  return work;
}

double attention_multiplications(const Program& program, SeenPositions seen) {
  double sum = 0;
  for (uint32_t i = 0; i < program.ops().size(); ++i) {
    const OpView view = op_view(program.view(), i);
    for (const SeenCost& cost : op_cost(view).seen) {
      const double positions = seen.positions(cost.most * cost.stride);
      sum += static_cast<double>(cost.multiplications) * positions / cost.stride;
    }
  }
  return sum;
}

uint64_t loading_bytes_per_thread() { return LoadOptions{}.chunk_bytes; }

uint32_t Model::default_context() const { return tenon::default_context(options_, spec()); }

uint32_t default_context(const ModelOptions& options, const ModelSpec& spec) {
  if (options.context != 0) return options.context;
  return std::min(spec.trained_context, kMaxDefaultContext);
}

MemoryNeeds Model::memory(uint64_t context) const {
  MemoryNeeds needs;
  needs.context = context == 0 ? default_context() : context;
  if (needs.context > kMaxContext) {
    fail(Code::Argument, "context is {}, not in 0..{}", needs.context, kMaxContext);
  }
  const ModelProgram& trunk = this->trunk();
  const TextSizes sizes{needs.context, program().view().max_tokens, 1};
  std::vector<BlockPoolOptions> pools;
  if (can_run()) {
    pools = cache_groups(program(), *trunk.executable);
    for (const uint64_t bytes : device_cache_bytes(program(), *trunk.executable, sizes)) {
      needs.kv_bytes = saturating_add(needs.kv_bytes, bytes);
    }
  } else {
    const std::span<const tenon_cache_group> groups = program().groups();
    std::vector<uint64_t> block_bytes;
    for (uint32_t i = 0; i < groups.size(); ++i) block_bytes.push_back(block_bytes_of(trunk, i));
    pools = block_pool_options(groups, block_bytes, StepSizes{}.block_tokens);
    needs.kv_bytes = least_cache_budget(pools, sizes, 0);
  }
  needs.token_cache_bytes = static_cast<uint64_t>(seen_cache_bytes(pools, needs.context));
  if (needs.kv_bytes == UINT64_MAX) {
    fail(Code::Argument, "context is {}: its cache passes 2^64 bytes", needs.context);
  }
  if (!can_run()) {
    needs.weights_bytes = file_->tensor_bytes() - table_bytes(trunk.tables);
    needs.weights_bytes += adapter_bytes(trunk.adapters);
  }
  needs.weights_bytes += row_cache_bytes(trunk.tables, options_.row_cache_bytes);
  needs.scratch_bytes = fetched_row_bytes(trunk.tables, program().view().max_tokens);
  const auto count = [&](const ModelProgram& one) {
    needs.scratch_bytes += private_cache_bytes(one) + private_row_bytes(one);
    if (!can_run()) {
      needs.scratch_bytes += one.program.view().activation_bytes;
      return;
    }
    needs.weights_bytes += one.executable->memory_bytes(TENON_MEMORY_WEIGHTS);
    needs.scratch_bytes += one.executable->memory_bytes(TENON_MEMORY_SCRATCH);
  };
  std::ranges::for_each(programs_, count);
  if (tower_ != nullptr) {
    std::ranges::for_each(tower_->programs(), count);
    if (!can_run()) needs.weights_bytes += tower_->file().tensor_bytes();
  }
  if (draft_ != nullptr) {
    const MemoryNeeds of_draft = draft_->memory(needs.context);
    needs.weights_bytes += of_draft.weights_bytes;
    needs.scratch_bytes += of_draft.scratch_bytes;
    needs.draft_cache_bytes = of_draft.kv_bytes;
  }
  return needs;
}

}  // namespace tenon
