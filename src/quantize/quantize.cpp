#include "quantize/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "base/buffer.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/thread_team.h"
#include "base/utf8.h"
#include "file/gguf_output.h"
#include "quantize/file_types.h"
#include "quantize/importance.h"
#include "quantize/row_encoders.h"
#include "text/regex/pattern_search.h"

namespace tenon {
namespace {

/// Bytes of a tensor that are read and written at a time; a single row may be larger.
constexpr uint64_t kChunkBytes = uint64_t{8} << 20;

// Parts of names of matrices that stay as they are: routers, small matrices of recurrences,
// positions.
constexpr std::array<std::string_view, 27> kKept = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "position_embd.weight",
    "token_types.weight",
    "attn_rel_b.weight",
    "time_mix_first",
    "time_mix_w0",
    "time_mix_w1",
    "time_mix_w2",
    "time_mix_v0",
    "time_mix_v1",
    "time_mix_v2",
    "time_mix_a0",
    "time_mix_a1",
    "time_mix_a2",
    "time_mix_g1",
    "time_mix_g2",
    "time_mix_decay_w",
    "time_mix_lerp_fused",
};

/// Number of extents without leading ones: some files store a vector as [1, n].
uint32_t rank_of(const TensorInfo& tensor) {
  uint32_t leading = 0;
  while (leading + 1 < tensor.rank && tensor.shape[leading] == 1) ++leading;
  return tensor.rank - leading;
}

/// True for matrices whose format a file type decides.
bool is_changeable(const TensorInfo& tensor) {
  const std::string_view name = tensor.name;
  const uint32_t rank = rank_of(tensor);
  if (rank < 2 || rank > 3 || !name.ends_with("weight")) return false;
  if (!find_format(tensor.format)->weight) return false;
  return std::ranges::none_of(kKept,
                              [&](std::string_view part) { return name.find(part) != name.npos; });
}

/// A line of QuantizeOptions::formats.
struct TensorRule {
  std::string_view line;
  std::string_view name;           // "@output", "@embedding"; empty for a pattern
  std::optional<Pattern> pattern;  // of other names
  Format format;
  bool used = false;
};

std::vector<TensorRule> read_rules(std::string_view text) {
  std::vector<TensorRule> rules;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    const size_t sign = line.rfind('=');
    if (sign == line.npos || sign == 0) {
      fail(Code::Argument, "line {} is not PATTERN=FORMAT", quoted(line));
    }
    if (!is_utf8(line)) fail(Code::Argument, "line {} is not UTF-8", quoted(line));
    const std::string_view left = line.substr(0, sign);
    TensorRule rule{.line = line, .name = {}, .pattern = {}, .format = {}};
    rule.format = find_weight_format(line.substr(sign + 1)).id;
    if (left == "@output" || left == "@embedding") {
      rule.name = left;
    } else {
      rule.pattern.emplace(left);
    }
    rules.push_back(std::move(rule));
  }
  return rules;
}

/// Facts of the model that the rules of file types ask for.
MixFacts facts_of(const ModelFile& file) {
  const Metadata& keys = file.metadata();
  const auto architecture = keys.find<std::string_view>("general.architecture");
  if (!architecture) return {};
  // A list has a number for each layer; the largest counts, as for a plain one.
  const auto largest = [&](const char* name) -> uint32_t {
    const std::string key = fmt::format("{}.{}", *architecture, name);
    const MetadataValue* value = keys.find_value(key);
    if (value == nullptr) return 0;
    if (value->type != ValueType::Array) return keys.get_u32(key);
    const auto all = keys.get<std::vector<uint32_t>>(key);
    return all.empty() ? 0 : *std::ranges::max_element(all);
  };
  MixFacts facts;
  const uint32_t heads = largest("attention.head_count");
  uint32_t kv_heads = largest("attention.head_count_kv");
  if (kv_heads == 0) kv_heads = heads;
  if (kv_heads > 0) facts.heads_per_kv_head = heads / kv_heads;
  facts.experts = largest("expert_count");
  facts.is_falcon = *architecture == "falcon";
  facts.is_large_llama =
      *architecture == "llama" && largest("block_count") == 80 && kv_heads != heads;
  return facts;
}

/// No type: tensors keep their formats.
constexpr FileType kAsItIs{"", Format::F32, UINT32_MAX};

/// Decides formats of a file's tensors one after another.
class FormatChooser {
 public:
  /// importance: null without a matrix
  FormatChooser(const ModelFile& file, const QuantizeOptions& options,
                const ImportanceMatrix* importance)
      : options_(options),
        importance_(importance),
        type_(options.type.empty() ? kAsItIs : find_file_type(options.type)),
        rules_(read_rules(options.formats)),
        facts_(facts_of(file)),
        has_output_(file.find("output.weight") != nullptr),
        name_(file.name()) {
    facts_.has_importance = importance != nullptr;
    const auto architecture = file.metadata().find<std::string_view>("general.architecture");
    if (architecture == "clip") {
      fail(Code::Unsupported, "{}: is a projector of pictures or sound, which is not quantised",
           name_);
    }
    for (const TensorInfo& tensor : file.tensors()) count(tensor);
    std::ranges::stable_sort(value_layers_, {}, &ValueLayer::layer);
    if (needs_importance(type_) && importance == nullptr && !options.without_importance) {
      fail(Code::Unsupported,
           "{} needs an importance matrix, without which answers are poor: give one, choose a "
           "larger type, or accept it (without importance)",
           type_.name);
    }
  }

  Format choose(const TensorInfo& tensor) {
    if (!is_changeable(tensor)) return stored(tensor.format);
    if (tensor.name == "output.weight" && options_.keep_output) return stored(tensor.format);
    const Format format = wanted(tensor);
    if (format != tensor.format && is_quantised(tensor.format) && is_quantised(format) &&
        !options_.requantize) {
      fail(Code::Unsupported,
           "{}: tensor \"{}\" is {} already, and another rounding makes it worse: start from an "
           "F16, BF16 or F32 file, or allow it (requantize)",
           name_, tensor.name, find_format(tensor.format)->name);
    }
    if (importance_ != nullptr && format != tensor.format) expect_importance(tensor, format);
    return format;
  }

  void expect_used_rules() const {
    for (const TensorRule& rule : rules_) {
      if (!rule.used) {
        fail(Code::Argument, "{}: {} fits no matrix", name_, quoted(rule.line));
      }
    }
  }

 private:
  /// The format in a file, exact.
  static Format stored(Format format) { return is_memory_format(format) ? Format::F32 : format; }

  /// Checks sizes, and that formats which need importance have it.
  void expect_importance(const TensorInfo& tensor, Format format) const {
    const bool is_needed =
        needs_importance(format) || (needs_importance(type_) && format == type_.format);
    if (importance_->knows(tensor.name)) {
      importance_->expect_sizes_of(tensor);
    } else if (is_needed && !options_.without_importance && tensor.name != "output.weight" &&
               tensor.name != "token_embd.weight") {
      fail(
          Code::Unsupported,
          "{}: {} becomes {}, which needs importance, and {} knows nothing of this tensor: give it "
          "a larger format, or accept it (without importance)",
          name_, tenon::quoted(tensor.name), find_format(format)->name, options_.importance);
    }
  }

  struct ValueLayer {
    uint32_t layer;
    std::string_view tensor;
  };

  /// Counts the values' matrices: their rules go by their number, in the order of layers.
  void count(const TensorInfo& tensor) {
    const LayerTensorName parsed = layer_tensor_name(tensor.name);
    if (is_value_matrix(parsed.name)) value_layers_.push_back({parsed.layer, tensor.name});
    if (!parsed.name.empty()) layers_ = std::max(layers_, parsed.layer + 1);
  }

  Format wanted(const TensorInfo& tensor) {
    const uint64_t columns = tensor.row_values();
    const bool is_embedding = tensor.name == "token_embd.weight";
    const bool is_output = tensor.name == "output.weight" || (is_embedding && !has_output_);
    // Names outrank patterns, and the embedding's name that of the output matrix.
    std::optional<Format> by_name;
    std::optional<Format> by_pattern;
    for (TensorRule& rule : rules_) {
      if (!rule.name.empty()) {
        const bool is_own = rule.name == "@embedding" ? is_embedding : is_output;
        if (!is_own) continue;
        if (!by_name || rule.name == "@embedding") by_name = rule.format;
      } else {
        PatternSearch search(*rule.pattern);
        PatternMatch match;
        search.begin(tensor.name);
        if (!search.next(match)) continue;
        if (!by_pattern) by_pattern = rule.format;
      }
      rule.used = true;
    }
    const std::optional<Format> ruled = by_name ? by_name : by_pattern;
    if (ruled) return fitting_format(*ruled, columns);
    if (options_.type.empty()) return stored(tensor.format);
    if (options_.pure) return fitting_format(type_.format, columns);
    if (is_output) return output_format(type_, columns, facts_);
    if (is_embedding || tensor.name == "per_layer_token_embd.weight") {
      return embedding_format(type_, columns);
    }
    return layer_format(type_, place_of(tensor), facts_);
  }

  [[nodiscard]] LayerTensor place_of(const TensorInfo& tensor) const {
    const LayerTensorName parsed = layer_tensor_name(tensor.name);
    LayerTensor place{.name = parsed.name,
                      .layer = parsed.layer,
                      .layers = layers_,
                      .is_stack = rank_of(tensor) == 3,
                      .columns = tensor.row_values()};
    if (is_value_matrix(parsed.name)) {
      const auto own = std::ranges::find(value_layers_, tensor.name, &ValueLayer::tensor);
      place.layer = static_cast<uint32_t>(own - value_layers_.begin());
      place.layers = static_cast<uint32_t>(value_layers_.size());
    }
    return place;
  }

  const QuantizeOptions& options_;
  const ImportanceMatrix* importance_;
  const FileType& type_;
  std::vector<TensorRule> rules_;
  MixFacts facts_;
  bool has_output_;
  std::string name_;
  std::vector<ValueLayer> value_layers_;  // names of the file
  uint32_t layers_ = 0;
};

uint64_t rows_of(const TensorInfo& tensor) { return tensor.num_values() / tensor.row_values(); }

/// Rows of one tensor in another format, by a team of threads.
class RowConverter {
 public:
  RowConverter(const std::shared_ptr<System>& system, uint32_t threads)
      : system_(system), team_(threads, system) {}

  /// Converts rows [from, from + rows) of `tensor`, whose bytes are `in`, to `out`.
  ///   importance  [matrices, columns], or empty
  void convert(const ModelFile& file, const TensorInfo& tensor, const FormatInfo& to, uint64_t from,
               uint64_t rows, std::span<const float> importance, std::span<const std::byte> in,
               std::span<std::byte> out) {
    const uint64_t at_once = std::min<uint64_t>(rows, team_.num_threads());
    const uint64_t bytes = checked_mul(tensor.row_values() * sizeof(float), at_once, tensor.name);
    if (values_.size() < bytes) {
      values_ = Buffer();
      values_ = Buffer(system_, bytes, "rows to quantise");
    }
    tensor_ = &tensor;
    to_ = &to;
    from_ = from;
    rows_ = rows;
    encode_ = weighted_encoder(to.id);
    importance_ = importance;
    in_ = in;
    out_ = out;
    bad_row_ = UINT64_MAX;
    team_.run({.num_phases = 1, .phase = &RowConverter::convert_part, .arg = this});
    const uint64_t bad = bad_row_;
    if (bad == UINT64_MAX) return;
    fail(Code::Format, "{}: tensor \"{}\": row {} has a value that {} cannot hold (not finite{})",
         file.name(), tensor.name, from + bad, to.name,
         to.id == Format::F16 ? ", or beyond 65504: take BF16" : "");
  }

 private:
  static void convert_part(void* arg, uint32_t, uint32_t thread, uint32_t num_threads) noexcept {
    auto& self = *static_cast<RowConverter*>(arg);
    const FormatInfo& from = *find_format(self.tensor_->format);
    const uint64_t columns = self.tensor_->row_values();
    const uint64_t in_bytes = *row_bytes(from, columns);
    const uint64_t out_bytes = *row_bytes(*self.to_, columns);
    const uint64_t parts = std::min<uint64_t>(self.rows_, num_threads);
    const uint64_t matrices = std::max<uint64_t>(1, self.importance_.size() / columns);
    const uint64_t rows_each = rows_of(*self.tensor_) / matrices;
    if (thread >= parts) return;
    auto* values = reinterpret_cast<float*>(self.values_.data()) + thread * columns;
    for (uint64_t row = self.rows_ * thread / parts; row < self.rows_ * (thread + 1) / parts;
         ++row) {
      from.decode_row(self.in_.data() + row * in_bytes, values, columns);
      if (!holds(values, columns, self.to_->id)) {
        uint64_t first = self.bad_row_;
        while (row < first && !self.bad_row_.compare_exchange_weak(first, row)) {
        }
        return;
      }
      std::byte* out = self.out_.data() + row * out_bytes;
      if (self.importance_.empty()) {
        self.to_->encode_row(values, out, columns);
      } else {
        const uint64_t matrix = (self.from_ + row) / rows_each;
        self.encode_(values, self.importance_.data() + matrix * columns, out, columns);
      }
    }
  }

  static bool holds(const float* values, uint64_t count, Format to) noexcept {
    constexpr float kLargestBf16 = 0x1.FEp127f;
    const float limit = to == Format::F16    ? 65504.0f
                        : to == Format::BF16 ? kLargestBf16
                                             : std::numeric_limits<float>::max();
    bool all = true;
    for (uint64_t i = 0; i < count; ++i) all &= std::abs(values[i]) <= limit;
    return all;
  }

  std::shared_ptr<System> system_;
  ThreadTeam team_;
  Buffer values_;
  const TensorInfo* tensor_ = nullptr;
  const FormatInfo* to_ = nullptr;
  uint64_t from_ = 0;
  uint64_t rows_ = 0;
  EncodeWeightedRow encode_ = nullptr;
  std::span<const float> importance_;
  std::span<const std::byte> in_;
  std::span<std::byte> out_;
  std::atomic<uint64_t> bad_row_{UINT64_MAX};  // the first in the current piece
};

/// Keys that describe the file and not the model.
bool is_own_key(std::string_view key) {
  return key.starts_with("quantize.imatrix.") || key == "general.file_type" ||
         key == "general.quantization_version" || key == "general.alignment" ||
         key.starts_with("split.");
}

void expect_another_file(const ModelFile& file, const std::string& path) {
  for (const auto& source : file.sources()) {
    std::error_code none;
    if (std::filesystem::equivalent(source->name(), path, none)) {
      fail(Code::Argument, "{}: is a file of the model itself; choose another name", path);
    }
  }
}

std::optional<ImportanceMatrix> importance_of(const std::shared_ptr<System>& system,
                                              const QuantizeOptions& options) {
  if (options.importance.empty()) return std::nullopt;
  return ImportanceMatrix::read(system, options.importance);
}

/// Says by which matrix a file was quantised, with the keys of llama.cpp.
void add_importance_keys(GgufOutput& out, const ImportanceMatrix& importance,
                         const std::string& path) {
  out.add("quantize.imatrix.file", std::filesystem::path(path).filename().string());
  if (!importance.datasets.empty()) out.add("quantize.imatrix.dataset", importance.datasets[0]);
  out.add("quantize.imatrix.entries_count", static_cast<uint32_t>(importance.weights.size()));
  out.add("quantize.imatrix.chunks_count", importance.chunks);
}

/// The format that has most of the bytes.
const FormatInfo& most_common(const std::vector<TensorChange>& changes) {
  std::map<Format, uint64_t> bytes{{Format::F32, 0}};
  for (const TensorChange& change : changes) bytes[change.to] += change.bytes_after;
  const auto most = std::ranges::max_element(bytes, {}, [](const auto& one) { return one.second; });
  return *find_format(most->first);
}

std::vector<TensorChange> changes_of(const ModelFile& file, const QuantizeOptions& options,
                                     const ImportanceMatrix* importance) {
  FormatChooser chooser(file, options, importance);
  std::vector<TensorChange> changes;
  changes.reserve(file.tensors().size());
  for (const TensorInfo& tensor : file.tensors()) {
    const Format to = chooser.choose(tensor);
    const uint64_t bytes =
        to == tensor.format ? tensor.bytes
                            : rows_of(tensor) * *row_bytes(*find_format(to), tensor.row_values());
    changes.push_back({tensor.name, tensor.format, to, tensor.bytes, bytes});
  }
  chooser.expect_used_rules();
  return changes;
}

}  // namespace

std::vector<TensorChange> plan_quantization(const std::shared_ptr<System>& system,
                                            const ModelFile& file, const QuantizeOptions& options) {
  const auto importance = importance_of(system, options);
  return changes_of(file, options, importance ? &*importance : nullptr);
}

void write_quantized(const std::shared_ptr<System>& system, const ModelFile& file,
                     const std::string& path, const QuantizeOptions& options) {
  const auto importance = importance_of(system, options);
  const std::vector<TensorChange> changes =
      changes_of(file, options, importance ? &*importance : nullptr);
  expect_another_file(file, path);
  GgufOutput out(system, path);
  for (const auto& [key, value] : file.metadata().entries()) {
    if (!is_own_key(key)) out.add(key, value);
  }
  const uint32_t number = options.type.empty() ? pure_type(most_common(changes)).number
                                               : find_file_type(options.type).number;
  if (number != UINT32_MAX) out.add("general.file_type", number);
  out.add("general.quantization_version", uint32_t{2});
  if (importance) add_importance_keys(out, *importance, options.importance);
  if (options.add_keys) options.add_keys(out);
  for (size_t i = 0; i < changes.size(); ++i) {
    const TensorInfo& tensor = file.tensors()[i];
    out.add_tensor(tensor.name, std::span(tensor.shape).first(tensor.rank), changes[i].to);
  }
  out.begin();

  const uint32_t threads = options.threads != 0 ? options.threads : system->num_usable_cpus();
  RowConverter converter(system, std::min(threads, ThreadTeam::kMaxThreads));
  Buffer in;
  Buffer encoded;
  const auto reserve = [&](Buffer& buffer, uint64_t bytes) {
    if (buffer.size() >= bytes) return;
    buffer = Buffer();
    buffer = Buffer(system, bytes, "rows of a tensor");
  };
  uint64_t written = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    const TensorInfo& tensor = file.tensors()[i];
    const FormatInfo& to = *find_format(changes[i].to);
    const uint64_t rows = rows_of(tensor);
    const uint64_t in_bytes = tensor.bytes / rows;
    const uint64_t out_bytes = changes[i].bytes_after / rows;
    const uint64_t most =
        std::clamp<uint64_t>(kChunkBytes / std::max(in_bytes, out_bytes), 1, rows);
    reserve(in, most * in_bytes);
    std::vector<float> weights;
    if (to.id != tensor.format) {
      reserve(encoded, most * out_bytes);
      if (importance && weighted_encoder(to.id) != nullptr) weights = importance->of(tensor);
    }
    for (uint64_t row = 0; row < rows; row += most) {
      const double fraction = static_cast<double>(written) /
                              static_cast<double>(std::max<uint64_t>(1, out.tensor_bytes()));
      if (options.progress && !options.progress(tensor.name, fraction)) {
        fail(Code::Cancelled, "{}: quantising was cancelled", path);
      }
      const uint64_t count = std::min(most, rows - row);
      std::span<std::byte> bytes = in.span().first(count * in_bytes);
      file.read(tensor, row * in_bytes, bytes);
      if (to.id != tensor.format) {
        const std::span<std::byte> result = encoded.span().first(count * out_bytes);
        converter.convert(file, tensor, to, row, count, weights, bytes, result);
        bytes = result;
      }
      out.write(bytes);
      written += bytes.size();
    }
  }
  out.commit();
  if (options.progress) options.progress({}, 1.0);
}

}  // namespace tenon
