// RowSource: a stack of parts, a selection of rows, and a reader of contiguous runs.
#include "weights/row_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace tenon {
namespace {

const FormatInfo& info_of(Format format) {
  const FormatInfo* info = find_format(format);
  if (info == nullptr) fail(Code::Internal, "row source: {} is no format", uint32_t(format));
  return *info;
}

uint64_t bytes_of(const FormatInfo& format, uint64_t values) {
  return values / format.block_values * format.block_bytes;
}

void require_range(uint64_t first, uint64_t count, uint64_t size, const char* what) {
  if (count >= 1 && first < size && count <= size - first) return;
  fail(Code::Internal, "row source: {} [{}, {} + {}) of {}", what, first, first, count, size);
}

/// DecodeRow of i32, which is no weight format.
void decode_integers(const void* values, float* out, uint64_t count) noexcept {
  for (uint64_t i = 0; i < count; ++i) {
    int32_t value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(values) + i * sizeof(value), sizeof(value));
    out[i] = static_cast<float>(value);
  }
}

/// Decoder of a format, or nullptr.
DecodeRow decoder_of(Format format) {
  return format == Format::I32 ? decode_integers : info_of(format).decode_row;
}

/// Conversion of a tensor's values while they are copied.
struct Conversion {
  bool decode;
  float added;
  uint64_t stride;  ///< bytes between consecutive values of the result
};

/// Copies `count` values from value `first` of the tensor on. Without decoding, blocks must have a
/// single value.
void read_values(const ModelFile& file, const TensorInfo& tensor, uint64_t first, uint64_t count,
                 const Conversion& conversion, std::byte* out) {
  constexpr uint64_t kPiece = 1024;  // every size of a block divides it; 12 kB of stack in all
  const FormatInfo& format = info_of(tensor.format);
  std::byte encoded[kPiece * sizeof(double)];
  float decoded[kPiece];
  const uint64_t value_bytes = conversion.decode ? sizeof(float) : format.block_bytes;
  for (uint64_t done = 0; done < count;) {
    const uint64_t before = (first + done) % format.block_values;  // values of the block to skip
    const uint64_t now = std::min(kPiece - before, count - done);
    const uint64_t last_block = (before + now + format.block_values - 1) / format.block_values;
    const uint64_t read = last_block * format.block_values;
    const std::span<std::byte> blocks(encoded, bytes_of(format, read));
    file.read(tensor, bytes_of(format, first + done - before), blocks);
    if (conversion.decode) {
      decoder_of(tensor.format)(encoded, decoded, read);
      for (uint64_t i = 0; i < read; ++i) decoded[i] += conversion.added;
    }
    const std::byte* values =
        conversion.decode ? reinterpret_cast<const std::byte*>(decoded) : encoded;
    for (uint64_t i = 0; i < now; ++i) {
      std::memcpy(out + (done + i) * conversion.stride, values + (before + i) * value_bytes,
                  value_bytes);
    }
    done += now;
  }
}

}  // namespace

RowSource::RowSource(const TensorInfo& tensor)
    : parts_{{&tensor, 0, tensor.num_values() / tensor.row_values(), 0, false}},
      num_rows_(parts_.front().num_rows),
      num_columns_(tensor.row_values()),
      format_(tensor.format) {}

RowSource RowSource::stacked(std::span<const RowSource> sources) {
  if (sources.empty()) fail(Code::Internal, "row source: a stack of none");
  RowSource result = sources.front();
  for (const RowSource& next : sources.subspan(1)) {
    if (next.num_columns_ != result.num_columns_ || next.format_ != result.format_ ||
        next.added_ != result.added_ || next.spacing_ != result.spacing_ ||
        next.filled_ != result.filled_ || next.turns_.size != 0 || result.turns_.size != 0) {
      fail(Code::Internal, "row source: {} columns of {} stacked on {} of {}", next.num_columns_,
           info_of(next.format_).name, result.num_columns_, info_of(result.format_).name);
    }
    result.parts_.insert(result.parts_.end(), next.parts_.begin(), next.parts_.end());
    result.num_rows_ += next.num_rows_;
  }
  return result;
}

RowSource RowSource::rows(uint64_t first, uint64_t count) const {
  require_range(first, count, num_rows_, "rows");
  RowSource result = *this;
  result.num_rows_ = count;
  if (turns_.size != 0) {
    result.turns_.first += first;
    return result;
  }
  result.parts_.clear();
  for (Part part : parts_) {
    const uint64_t skipped = std::min(first, part.num_rows);
    first -= skipped;
    part.first_row += skipped;
    part.num_rows = std::min(part.num_rows - skipped, count);
    count -= part.num_rows;
    if (part.num_rows > 0) result.parts_.push_back(part);
  }
  return result;
}

RowSource RowSource::columns(uint64_t first, uint64_t count) const {
  require_range(first, count, num_columns_, "columns");
  if (spacing_ != 1 || filled_) fail(Code::Internal, "row source: columns that are in no tensor");
  RowSource result = *this;
  result.num_columns_ = count;
  for (Part& part : result.parts_) {
    const uint64_t block = part.transposed ? 1 : info_of(part.tensor->format).block_values;
    if (first % block != 0 || count % block != 0) {
      fail(Code::Unsupported, "tensor \"{}\" is {}: columns {}..{} do not begin and end a block",
           part.tensor->name, part.tensor->text(), first, first + count - 1);
    }
    part.first_column += first;
  }
  return result;
}

RowSource RowSource::in_turn(uint64_t kind, uint64_t kinds, uint64_t size) const {
  if (turns_.size != 0 || kind >= kinds || size == 0 || num_rows_ / kinds % size != 0 ||
      num_rows_ % kinds != 0) {
    fail(Code::Internal, "row source: kind {} of {} in turns of {} of {} rows", kind, kinds, size,
         num_rows_);
  }
  RowSource result = *this;
  result.num_rows_ /= kinds;
  result.turns_ = {size, kinds * size, kind * size, 0};
  return result;
}

bool RowSource::is_whole_tensor() const {
  const Part& part = parts_.front();
  return parts_.size() == 1 && turns_.size == 0 && !part.transposed &&
         num_columns_ == part.tensor->row_values() &&
         num_rows_ * num_columns_ == part.tensor->num_values();
}

RowSource RowSource::as_row() const {
  if (!is_whole_tensor()) fail(Code::Internal, "row source: only whole tensors become one row");
  RowSource result = *this;
  result.num_columns_ *= num_rows_;
  result.num_rows_ = result.parts_.front().num_rows = 1;
  return result;
}

RowSource RowSource::transposed() const {
  if (!is_whole_tensor()) fail(Code::Internal, "row source: transposes whole tensors only");
  const Part& part = parts_.front();
  if (info_of(part.tensor->format).block_values != 1 && format_ == part.tensor->format) {
    fail(Code::Unsupported, "tensor \"{}\" is {}: blocks cannot be transposed", part.tensor->name,
         part.tensor->text());
  }
  RowSource result = *this;
  std::swap(result.num_rows_, result.num_columns_);
  result.parts_.front().num_rows = result.num_rows_;
  result.parts_.front().transposed = true;
  return result;
}

RowSource RowSource::decoded() const {
  for (const Part& part : parts_) {
    if (decoder_of(part.tensor->format) != nullptr) continue;
    fail(Code::Unsupported, "tensor \"{}\" is {}, which has no decoder", part.tensor->name,
         part.tensor->text());
  }
  RowSource result = *this;
  result.format_ = Format::F32;
  return result;
}

RowSource RowSource::spread(uint64_t step) const {
  if (parts_.front().transposed || spacing_ != 1 || filled_) {
    fail(Code::Internal, "row source: only rows of tensors are spread");
  }
  RowSource result = decoded();
  result.num_columns_ = (num_columns_ - 1) * step + 1;
  result.spacing_ = step;
  return result;
}

RowSource RowSource::filled(uint64_t count, double number, double ratio) const {
  RowSource result = decoded();
  result.num_columns_ = count;
  result.filled_ = Fill{number, ratio};
  return result;
}

RowSource RowSource::plus(float number) const {
  RowSource result = decoded();
  result.added_ += number;
  return result;
}

uint64_t RowSource::row_bytes() const { return bytes_of(info_of(format_), num_columns_); }

RowSource::Run RowSource::run_at(uint64_t row, uint64_t most) const {
  uint64_t count = most;
  uint64_t at = row;
  if (turns_.size != 0) {
    const uint64_t number = turns_.first + row;
    at = number / turns_.size * turns_.step + turns_.offset + number % turns_.size;
    count = std::min(most, turns_.size - number % turns_.size);
  }
  const Part* part = parts_.data();
  for (; at >= part->num_rows; ++part) at -= part->num_rows;
  return {part, part->first_row + at, std::min(count, part->num_rows - at)};
}

std::optional<RowSource::Stored> RowSource::stored(uint64_t first, uint64_t count) const {
  const Run run = run_at(first, count);
  const TensorInfo& tensor = *run.part->tensor;
  const bool unchanged = run.count == count && !run.part->transposed && added_ == 0.0f &&
                         spacing_ == 1 && !filled_ && format_ == tensor.format &&
                         num_columns_ == tensor.row_values();
  if (!unchanged) return std::nullopt;
  return Stored{&tensor, run.row * row_bytes()};
}

void RowSource::decode_rows(const ModelFile& file, const Run& run, std::byte* out) const {
  const TensorInfo& tensor = *run.part->tensor;
  const FormatInfo& format = info_of(tensor.format);
  const uint64_t encoded = bytes_of(format, num_columns_);
  std::vector<std::byte> blocks(run.count * encoded);
  std::vector<float> values(num_columns_);
  file.read(tensor, run.row * encoded, blocks);
  for (uint64_t i = 0; i < run.count; ++i) {
    format.decode_row(blocks.data() + i * encoded, values.data(), num_columns_);
    for (float& value : values) value += added_;
    std::memcpy(out + i * row_bytes(), values.data(), row_bytes());
  }
}

void RowSource::read_run(const ModelFile& file, const Run& run, std::byte* out) const {
  const Part& part = *run.part;
  const TensorInfo& tensor = *part.tensor;
  const FormatInfo& format = info_of(tensor.format);
  const uint64_t tensor_columns = tensor.row_values();
  if (filled_) {
    for (uint64_t i = 0; i < run.count; ++i) {
      const double power = std::pow(filled_->ratio, static_cast<double>(run.row + i));
      const std::vector<float> row(num_columns_, static_cast<float>(filled_->number * power));
      std::memcpy(out + i * row_bytes(), row.data(), row_bytes());
    }
    return;
  }
  if (spacing_ != 1) {
    std::memset(out, 0, run.count * row_bytes());
    const Conversion apart{true, added_, spacing_ * sizeof(float)};
    for (uint64_t i = 0; i < run.count; ++i) {
      read_values(file, tensor, (run.row + i) * tensor_columns + part.first_column,
                  (num_columns_ - 1) / spacing_ + 1, apart, out + i * row_bytes());
    }
    return;
  }
  Conversion conversion{format_ != tensor.format || added_ != 0.0f, added_, sizeof(float)};
  if (part.transposed) {
    conversion.stride = row_bytes();
    const uint64_t value_bytes = row_bytes() / num_columns_;
    for (uint64_t column = 0; column < num_columns_; ++column) {
      const uint64_t first = (part.first_column + column) * tensor_columns + run.row;
      read_values(file, tensor, first, run.count, conversion, out + column * value_bytes);
    }
    return;
  }
  if (!conversion.decode && num_columns_ == tensor_columns) {
    file.read(tensor, run.row * row_bytes(), {out, run.count * row_bytes()});
    return;
  }
  if (is_memory_format(tensor.format) && num_columns_ == tensor_columns) {
    return decode_rows(file, run, out);
  }
  for (uint64_t i = 0; i < run.count; ++i) {
    const uint64_t first = (run.row + i) * tensor_columns + part.first_column;
    std::byte* const row = out + i * row_bytes();
    if (conversion.decode) {
      read_values(file, tensor, first, num_columns_, conversion, row);
    } else {
      file.read(tensor, bytes_of(format, first), {row, row_bytes()});
    }
  }
}

void RowSource::read(const ModelFile& file, uint64_t first, uint64_t count,
                     std::span<std::byte> out) const {
  require_range(first, count, num_rows_, "rows");
  if (out.size() != count * row_bytes()) {
    fail(Code::Internal, "row source: {} bytes for {} rows of {}", out.size(), count, row_bytes());
  }
  for (uint64_t done = 0; done < count;) {
    const Run run = run_at(first + done, count - done);
    read_run(file, run, out.data() + done * row_bytes());
    done += run.count;
  }
}

RowSource::Place RowSource::place(uint64_t row, uint64_t column) const {
  require_range(row, 1, num_rows_, "rows");
  const Run run = run_at(row, 1);
  column = (filled_ ? 0 : column / spacing_) + run.part->first_column;
  const TensorInfo& tensor = *run.part->tensor;
  if (run.part->transposed) return {&tensor, column, run.row};
  return {&tensor, run.row + column / tensor.row_values(), column % tensor.row_values()};
}

}  // namespace tenon
