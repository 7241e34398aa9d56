#include "arch/folder/folder_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "base/utf8.h"
#include "base/words.h"
#include "quant/formats.h"
#include "weights/foreign/module.h"
#include "weights/foreign/row_reader.h"

namespace tenon {
namespace {

/// Parts of quantised weights, after the weight's name without ".weight".
constexpr std::string_view kParts =
    " weight weight_scale weight_scale_inv weight_scale_2 weight_packed weight_shape "
    "weight_zero_point weight_g_idx weight_global_scale scale scales biases zero W_q qweight qzeros "
    "g_idx SCB weight_format input_scale input_global_scale activation_scale qscale_weight "
    "qscale_act pre_quant_scale trellis suh svh su sv mcg mul1 signs q_weight q_scale q_scale_max "
    "q_groups q_invperm _weight_qdata _weight_scale _weight_zero_point _weight_act_pre_scale shape "
    "nbits group_size axis packing view_as_float unpack_view_dtype quant_scale quant_zero "
    "compute_dtype offload_meta channel_wise optimize round_zero encoded_state_dict stores_quant_config ";

/// Parts of a stack of experts whose name has no ".weight".
constexpr std::string_view kStackParts = "_blocks _scales _scale_inv _scales_inv";

/// Memory of rows that are computed at once.
constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
/// Rows of a piece, if these do not take more: formats with bands of rows decode a band at once.
constexpr uint64_t kPieceRows = 256;
constexpr uint64_t kMaxPieceBytes = uint64_t{16} << 20;

struct Flags {
  bool ignored = false;
  bool plus_one = false;
  bool minus_exp = false;
  bool as_f32 = false;
  bool transposed = false;
  uint64_t kind = 0;         // of the rows taken: 0 or 1
  bool takes_half = false;   // of each matrix
  bool takes_turns = false;  // every second row
  bool skips = false;        // the first two rows
  bool as_column = false;
  bool by_group = false;
};

struct NameLine {
  std::string_view pattern;
  std::string_view target;
  Flags flags;
};

std::vector<NameLine> read_lines(std::string_view table) {
  std::vector<NameLine> lines;
  for_each_line(table, [&](std::string_view line) {
    const size_t space = line.find(' ');
    NameLine out{line.substr(0, space), line.substr(space + 1), {}};
    const size_t second = out.target.find(' ');
    std::string_view flags;
    if (second != out.target.npos) flags = out.target.substr(second + 1);
    out.target = out.target.substr(0, second);
    out.flags.ignored = out.target == "-";
    for (const char flag : flags) {
      out.flags.plus_one |= flag == '+';
      out.flags.minus_exp |= flag == 'n';
      out.flags.as_f32 |= flag == 'f';
      out.flags.transposed |= flag == 't';
      out.flags.takes_half |= flag == '0' || flag == '1';
      out.flags.takes_turns |= flag == 'e' || flag == 'o';
      out.flags.skips |= flag == 's';
      out.flags.as_column |= flag == 'c';
      out.flags.by_group |= flag == 'g';
      if (flag == '1' || flag == 'o') out.flags.kind = 1;
    }
    lines.push_back(out);
  });
  return lines;
}

/// Matches the beginning of a name: returns its length, and the numbers for each *; npos if it does
/// not match.
size_t match(std::string_view name, std::string_view pattern,
             std::vector<std::string_view>& numbers) {
  numbers.clear();
  size_t at = 0;
  for (const char c : pattern) {
    if (c != '*') {
      if (at >= name.size() || name[at++] != c) return name.npos;
      continue;
    }
    const size_t begin = at;
    while (at < name.size() && name[at] >= '0' && name[at] <= '9') ++at;
    if (at == begin) return name.npos;
    numbers.push_back(name.substr(begin, at - begin));
  }
  return at;
}

std::string fill(std::string_view target, std::span<const std::string_view> numbers) {
  std::string out;
  size_t next = 0;
  for (const char c : target) {
    if (c == '*' && next < numbers.size()) {
      out += numbers[next++];
    } else {
      out += c;
    }
  }
  return out;
}

/// Floats that are part of no file.
class OwnedFloats final : public ByteSource {
 public:
  OwnedFloats(std::string name, std::vector<float> values)
      : ByteSource(std::move(name), values.size() * sizeof(float)), values_(std::move(values)) {}

 private:
  void read_checked(uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), std::as_bytes(std::span(values_)).data() + offset, out.size());
  }
  std::vector<float> values_;
};

std::optional<Format> format_of(ElementType type) {
  switch (type) {
    case ElementType::F32:
      return Format::F32;
    case ElementType::F16:
      return Format::F16;
    case ElementType::BF16:
      return Format::BF16;
    default:
      return std::nullopt;
  }
}

/// A plain tensor as a matrix of another shape.
class ViewReader final : public RowReader {
 public:
  /// is_matrix: keeps 16-bit floats; vectors become f32
  ViewReader(const foreign::TensorRows& rows, bool is_matrix)
      : RowReader({rows.rows(), rows.columns()}), rows_(rows), is_matrix_(is_matrix) {}

 private:
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    rows_.read_floats(first, count, out);
  }
  [[nodiscard]] std::optional<Format> packed_format() const override {
    return is_matrix_ ? format_of(rows_.type()) : std::nullopt;
  }
  void read_blocks(uint64_t first, uint64_t count, std::byte* out) const override {
    rows_.read(first, count, out);
  }
  foreign::TensorRows rows_;
  bool is_matrix_;
};

/// A stack of transposed matrices, [columns, rows] each.
class TransposedReader final : public RowReader {
 public:
  TransposedReader(const foreign::TensorRows& rows, uint64_t matrices)
      : RowReader({rows.columns() * matrices, rows.rows() / matrices}), rows_(rows) {}

 private:
  [[nodiscard]] std::optional<Format> packed_format() const override {
    return format_of(rows_.type());
  }
  void read_blocks(uint64_t first, uint64_t count, std::byte* out) const override {
    const auto read = [this](uint64_t row, uint64_t lines, uint64_t begin, uint64_t width,
                             auto* into) { rows_.read(row, lines, begin, width, into); };
    if (rows_.element_bytes() == sizeof(uint16_t)) {
      read_turned(first, count, reinterpret_cast<uint16_t*>(out), read);
    } else {
      read_turned(first, count, reinterpret_cast<uint32_t*>(out), read);
    }
  }
  void read_rows(uint64_t first, uint64_t count, float* out) const override {
    read_turned(first, count, out,
                [this](uint64_t row, uint64_t lines, uint64_t begin, uint64_t width, float* into) {
                  rows_.read_floats(row, lines, begin, width, into);
                });
  }

  /// Reads a band of stored rows at a time, and turns it in tiles that stay in the first-level
  /// cache.
  template <typename Value, typename Read>
  void read_turned(uint64_t first, uint64_t count, Value* out, const Read& read) const {
    const uint64_t rows = rows_.columns();
    const uint64_t columns = size().columns;
    std::vector<Value> band;
    for (uint64_t done = 0; done < count;) {
      const uint64_t matrix = (first + done) / rows;
      const uint64_t row = (first + done) % rows;
      const uint64_t part = std::min(count - done, rows - row);
      band.resize(std::min(kBand, columns) * part);
      for (uint64_t i = 0; i < columns; i += kBand) {
        const uint64_t lines = std::min(kBand, columns - i);
        read(matrix * columns + i, lines, row, part, band.data());
        turn(band.data(), lines, part, columns, out + done * columns + i);
      }
      done += part;
    }
  }

  /// from [lines, part] -> to [part, lines], whose rows are `stride` apart.
  template <typename Value>
  static void turn(const Value* from, uint64_t lines, uint64_t part, uint64_t stride, Value* to) {
    for (uint64_t j = 0; j < part; j += kBand) {
      for (uint64_t k = j; k < std::min(part, j + kBand); ++k) {
        for (uint64_t i = 0; i < lines; ++i) to[k * stride + i] = from[i * part + k];
      }
    }
  }

  static constexpr uint64_t kBand = 32;
  foreign::TensorRows rows_;
};

/// Rows of a reader, changed and selected: packed where nothing changes their values.
class MadeRows final : public ByteSource {
 public:
  /// half: rows of half a matrix, or 0 for none
  MadeRows(std::string name, std::unique_ptr<const RowReader> rows, const Flags& flags,
           uint64_t half, std::shared_ptr<const QuantConfig> config)
      : ByteSource(std::move(name), rows->size().rows * row_bytes_of(*rows, flags) /
                                        (half != 0 || flags.takes_turns ? 2 : 1)),
        rows_(std::move(rows)),
        format_(format_of_rows(*rows_, flags)),
        flags_(flags),
        half_(half),
        config_(std::move(config)) {}

  [[nodiscard]] Format format() const { return format_; }

 private:
  static Format format_of_rows(const RowReader& rows, const Flags& flags) {
    const bool is_changed = flags.plus_one || flags.minus_exp || flags.as_f32;
    return is_changed ? Format::F32 : rows.packed_format().value_or(Format::F32);
  }
  static uint64_t row_bytes_of(const RowReader& rows, const Flags& flags) {
    return *row_bytes(*find_format(format_of_rows(rows, flags)), rows.size().columns);
  }

  void read_checked(uint64_t offset, std::span<std::byte> out) const override {
    const uint64_t row_bytes = row_bytes_of(*rows_, flags_);
    const uint64_t band = std::min(kPieceRows, kMaxPieceBytes / row_bytes);
    const uint64_t step = std::max({uint64_t{1}, band, kPieceBytes / row_bytes});
    std::vector<std::byte> piece;
    while (!out.empty()) {
      const uint64_t first = offset / row_bytes;
      const uint64_t skipped = offset % row_bytes;
      const uint64_t wanted = (skipped + out.size() + row_bytes - 1) / row_bytes;
      const uint64_t count = std::min(step, wanted);
      piece.resize(count * row_bytes);
      make(first, count, row_bytes, piece.data());
      const uint64_t bytes = std::min<uint64_t>(out.size(), count * row_bytes - skipped);
      std::memcpy(out.data(), piece.data() + skipped, bytes);
      out = out.subspan(bytes);
      offset += bytes;
    }
  }

  void read_rows(uint64_t row, uint64_t count, std::span<std::byte> out) const {
    if (format_ != Format::F32) return rows_->read_packed(row, count, out);
    std::vector<float> values(count * rows_->size().columns);
    rows_->read(row, count, values);
    for (float& value : values) {
      if (flags_.plus_one) value += 1.0f;
      if (flags_.minus_exp) value = -std::exp(value);
    }
    std::ranges::copy(std::as_bytes(std::span(values)), out.begin());
  }

  void make(uint64_t first, uint64_t count, uint64_t row_bytes, std::byte* out) const {
    if (flags_.takes_turns) {
      std::vector<std::byte> both((2 * count - 1) * row_bytes);
      read_rows(2 * first + flags_.kind, 2 * count - 1, both);
      for (uint64_t i = 0; i < count; ++i) {
        std::memcpy(out + i * row_bytes, both.data() + 2 * i * row_bytes, row_bytes);
      }
    } else if (half_ != 0) {
      for (uint64_t done = 0; done < count;) {
        const uint64_t row = first + done;
        const uint64_t part = std::min(count - done, half_ - row % half_);
        read_rows(row / half_ * 2 * half_ + flags_.kind * half_ + row % half_, part,
                  {out + done * row_bytes, part * row_bytes});
        done += part;
      }
    } else {
      read_rows(first, count, {out, count * row_bytes});
    }
  }

  std::unique_ptr<const RowReader> rows_;
  Format format_;
  Flags flags_;
  uint64_t half_;
  std::shared_ptr<const QuantConfig> config_;  // the reader may look into it
};

/// Extents of more than one value; convolutions have one of 1 in the middle.
std::vector<uint64_t> shape_of(const StoredTensor& tensor) {
  std::vector<uint64_t> shape(tensor.shape.begin(), tensor.shape.begin() + tensor.rank);
  if (shape.size() == 3 && shape[1] == 1) shape.erase(shape.begin() + 1);
  if (shape.empty()) shape.push_back(1);
  return shape;
}

class Mapper {
 public:
  Mapper(const std::shared_ptr<const TensorFolder>& folder,
         const std::shared_ptr<const QuantConfig>& config, std::string_view table, uint64_t vocab,
         uint64_t groups)
      : folder_(folder),
        config_(config),
        lines_(read_lines(table)),
        vocab_(vocab),
        groups_(groups) {
    out_.sources.assign(folder->sources().begin(), folder->sources().end());
  }

  FolderTensors run(std::vector<MadeTensor> made) {
    for (const StoredTensor& tensor : folder_->tensors()) take(tensor);
    for (MadeTensor& one : made) {
      const uint64_t count = one.values.size();
      add_made(
          one.name, {count},
          std::make_shared<OwnedFloats>(folder_->name() + ": " + one.name, std::move(one.values)));
    }
    return std::move(out_);
  }

 private:
  void take(const StoredTensor& tensor) {
    const std::string_view stem = stem_of(tensor.name);
    for (size_t i = 0; i < lines_.size(); ++i) {
      const size_t end = match(stem, lines_[i].pattern, numbers_);
      if (end == stem.npos) continue;
      const std::string_view rest = stem.substr(end);
      if (!rest.empty() && rest[0] != '.' && !has_word(kStackParts, rest, ' ')) continue;
      if (lines_[i].flags.ignored) return;
      const std::string_view pattern = lines_[i].pattern;
      const std::string_view module =
          std::string_view(tensor.name).substr(0, tensor.name.size() - rest.size());
      for (; i < lines_.size() && lines_[i].pattern == pattern; ++i) {
        add(tensor, module, rest, lines_[i]);
      }
      return;
    }
    fail(
        Code::Unsupported,
        "{}: is not known here: the folder is a variant of its architecture that this version does "
        "not compute",
        folder_->place(tensor));
  }

  void add(const StoredTensor& tensor, std::string_view module, std::string_view rest,
           const NameLine& line) {
    std::string target = fill(line.target, numbers_);
    if (rest.empty() || rest == ".weight" || rest == ".bias") {
      const bool named = rest.empty();  // the table has the whole name
      if (!named) target += rest;
      if (foreign::is_float_type(tensor.type) &&
          (rest == ".bias" ||
           scheme_of(folder_, rest == ".weight" ? module : tensor.name, *config_) == "plain")) {
        return add_plain(tensor, target, line.flags);
      }
    } else if (rest[0] == '.' && !has_word(kParts, rest.substr(1, rest.find('.', 1) - 1), ' ')) {
      fail(Code::Unsupported, "{}: is no known part of {}", folder_->place(tensor), quoted(module));
    }
    if (!target.ends_with(".weight")) target += ".weight";
    if (!done_.insert(target).second) return;
    add_foreign(tensor, module, target, line.flags);
  }

  [[nodiscard]] foreign::Module module_of(const StoredTensor& tensor) const {
    return foreign::Module(folder_, tensor.name, *config_);
  }

  void add_plain(const StoredTensor& tensor, const std::string& target, const Flags& flags) {
    std::vector<uint64_t> shape = shape_of(tensor);
    const auto format = format_of(tensor.type);
    const bool is_vector = shape.size() == 1;
    const bool is_changed = flags.plus_one || flags.minus_exp || flags.as_f32 || flags.transposed ||
                            flags.takes_turns || !format || (is_vector && format != Format::F32) ||
                            (flags.takes_half && shape.size() != 2);
    if (shape.size() > kMaxTensorRank || tensor.num_values() == 0) {
      fail(Code::Format, "{}: has no shape of a weight", folder_->place(tensor));
    }
    if (is_vector && flags.as_column) shape.push_back(1);
    if (is_vector && flags.by_group && groups_ != 0 && shape[0] % groups_ == 0) {
      shape = {groups_, shape[0] / groups_};
    }
    if (!is_changed) return add_stored(tensor, target, shape, *format, flags);
    const bool selects = flags.takes_half || flags.takes_turns;
    const uint64_t matrices = shape.size() == 3 ? shape[0] : 1;
    std::unique_ptr<const RowReader> rows;
    if (flags.transposed) {
      if (shape.size() != 3) {
        fail(Code::Format, "{}: expected three dimensions", folder_->place(tensor));
      }
      rows = std::make_unique<TransposedReader>(foreign::TensorRows(module_of(tensor), tensor),
                                                matrices);
      std::swap(shape[1], shape[2]);
    } else {
      // Biases of a stack are selected value by value.
      const uint64_t columns = selects && shape.size() < 3 ? 1 : shape.back();
      rows = std::make_unique<ViewReader>(
          foreign::TensorRows(module_of(tensor), tensor, tensor.num_values() / columns, columns),
          shape.size() == 3);
    }
    uint64_t half = 0;
    if (selects) {
      uint64_t& selected = shape.size() == 3 ? shape[1] : shape.back();
      if (selected % 2 != 0) fail(Code::Format, "{}: has no halves", folder_->place(tensor));
      selected /= 2;
      if (flags.takes_half) half = selected;
    }
    add_rows(
        target, shape,
        std::make_shared<MadeRows>(source_name(tensor), std::move(rows), flags, half, config_));
  }

  void add_stored(const StoredTensor& tensor, const std::string& target,
                  const std::vector<uint64_t>& shape, Format format, const Flags& flags) {
    TensorInfo& info = add_info(target, shape, format);
    info.bytes = tensor.bytes;
    info.source = tensor.source;
    info.offset = tensor.offset;
    if (flags.skips && shape[0] > 2) {
      const uint64_t row_bytes = tensor.bytes / shape[0];
      info.shape[0] -= 2;
      info.offset += 2 * row_bytes;
      info.bytes -= 2 * row_bytes;
    }
    if (!flags.takes_half) return;
    if (shape[0] % 2 != 0) fail(Code::Format, "{}: has no halves", folder_->place(tensor));
    info.shape[0] /= 2;
    info.bytes /= 2;
    info.offset += flags.kind * info.bytes;
  }

  void add_foreign(const StoredTensor& tensor, std::string_view module, const std::string& target,
                   const Flags& flags) {
    auto rows = open_rows(folder_, module, *config_);
    if (target == "output.weight" && vocab_ != 0 && rows->size().rows > vocab_ &&
        scheme_of(folder_, module, *config_).starts_with("EXL")) {
      rows = open_rows(folder_, module, *config_, {vocab_, rows->size().columns});
    }
    const uint64_t matrices =
        tensor.rank >= 3 && tensor.shape[1] != 1 && !tensor.name.ends_with(".trellis")
            ? tensor.shape[0]
            : 1;
    const uint64_t all = rows->size().rows;
    if (matrices == 0 || all % matrices != 0) {
      fail(Code::Format, "{}: {} rows of {} matrices", folder_->place(tensor), all, matrices);
    }
    uint64_t each = all / matrices;
    if (flags.takes_half || flags.takes_turns) {
      if (each % 2 != 0) fail(Code::Format, "{}: has no halves", folder_->place(tensor));
      each /= 2;
    }
    std::vector<uint64_t> shape{each, rows->size().columns};
    if (matrices > 1) shape.insert(shape.begin(), matrices);
    add_rows(target, shape,
             std::make_shared<MadeRows>(source_name(tensor), std::move(rows), flags,
                                        flags.takes_half ? each : 0, config_));
  }

  [[nodiscard]] std::string source_name(const StoredTensor& tensor) const {
    return folder_->sources()[tensor.source]->name();
  }

  TensorInfo& add_info(const std::string& name, const std::vector<uint64_t>& shape, Format format) {
    TensorInfo& info = out_.tensors.emplace_back();
    info.name = name;
    info.format = format;
    info.rank = static_cast<uint32_t>(shape.size());
    info.shape.fill(1);
    std::ranges::copy(shape, info.shape.begin());
    return info;
  }

  void add_rows(const std::string& name, const std::vector<uint64_t>& shape,
                const std::shared_ptr<const MadeRows>& rows) {
    add_made(name, shape, rows, rows->format());
  }

  void add_made(const std::string& name, const std::vector<uint64_t>& shape,
                std::shared_ptr<const ByteSource> source, Format format = Format::F32) {
    TensorInfo& info = add_info(name, shape, format);
    info.bytes = source->size();
    info.source = static_cast<uint32_t>(out_.sources.size());
    out_.sources.push_back(std::move(source));
  }

  std::shared_ptr<const TensorFolder> folder_;
  std::shared_ptr<const QuantConfig> config_;
  std::vector<NameLine> lines_;
  uint64_t vocab_;
  uint64_t groups_;
  FolderTensors out_;
  std::set<std::string> done_;  // quantised weights
  std::vector<std::string_view> numbers_;
};

}  // namespace

std::string_view stem_of(std::string_view tensor) {
  for (const std::string_view prefix :
       {"model.language_model.", "language_model.model.", "language_model.", "model.", "backbone.",
        "bert.", "roberta."}) {
    if (tensor.starts_with(prefix)) return tensor.substr(prefix.size());
  }
  return tensor;
}

std::optional<uint64_t> rows_of_stem(const TensorFolder& folder, std::string_view stem) {
  for (const StoredTensor& tensor : folder.tensors()) {
    std::string_view name = stem_of(tensor.name);
    if (!name.starts_with(stem)) continue;
    name.remove_prefix(stem.size());
    if (name.empty() || name == ".weight") return tensor.dim(0);
  }
  return std::nullopt;
}

std::optional<std::vector<NamedTensor>> names_of(std::string_view table, std::string_view stem,
                                                 std::string_view suffix) {
  const std::vector<NameLine> lines = read_lines(table);
  std::vector<std::string_view> numbers;
  std::string_view found;
  std::vector<NamedTensor> names;
  for (const NameLine& line : lines) {
    if (!found.empty() && line.pattern != found) break;
    const size_t end = match(stem, line.pattern, numbers);
    if (end == stem.npos) continue;
    const std::string_view rest = stem.substr(end);
    if (line.flags.ignored && (rest.empty() || rest[0] == '.')) return names;
    if (!rest.empty()) continue;
    found = line.pattern;
    NamedTensor& one = names.emplace_back();
    one.name = fill(line.target, numbers);
    const bool is_whole = one.name.ends_with(".weight") || one.name.ends_with(".bias");
    if (!is_whole) one.name += suffix;
    const Flags& flags = line.flags;
    one.parts = flags.takes_half || flags.takes_turns ? 2 : 1;
    one.part = flags.kind;
    one.takes_turns = flags.takes_turns;
    one.adds_one = flags.plus_one;
    one.takes_exp = flags.minus_exp;
    one.is_reshaped = flags.skips || flags.as_column || flags.by_group;
  }
  if (names.empty()) return std::nullopt;
  return names;
}

FolderTensors map_tensors(const std::shared_ptr<const TensorFolder>& folder,
                          const std::shared_ptr<const QuantConfig>& config, std::string_view table,
                          std::vector<MadeTensor> made, uint64_t vocab, uint64_t groups) {
  return Mapper(folder, config, table, vocab, groups).run(std::move(made));
}

}  // namespace tenon
