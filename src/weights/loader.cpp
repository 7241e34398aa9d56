// The loader: chunks in file order, taken by free threads.
#include "weights/loader.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "quant/formats.h"

namespace tenon {
namespace {

/// Whole rows of one weight, read at once.
struct Chunk {
  const BoundWeight* weight;
  uint64_t first_row;
  uint64_t num_rows;
  // Place of the first row.
  uint32_t file_source;
  uint64_t file_offset;
  bool sampled;  ///< notes its bytes as samples; false for another weight's chunk of the same bytes

  [[nodiscard]] uint64_t bytes() const { return num_rows * weight->source.row_bytes(); }
  [[nodiscard]] std::optional<RowSource::Stored> stored_bytes() const {
    return weight->source.stored(first_row, num_rows);
  }
};

uint32_t number_of(const ModelFile& file, const TensorInfo& tensor) {
  return static_cast<uint32_t>(&tensor - file.tensors().data());
}

Chunk make_chunk(const BoundWeight& weight, uint64_t first_row, uint64_t num_rows) {
  const RowSource::Place place = weight.source.place(first_row, 0);
  const TensorInfo& tensor = *place.tensor;
  const uint64_t tensor_rows = tensor.num_values() / tensor.row_values();
  return {&weight,
          first_row,
          num_rows,
          tensor.source,
          tensor.offset + place.row * (tensor.bytes / tensor_rows),
          false};
}

/// Returns chunks in the order of the file, so that reads stream.
std::vector<Chunk> cut_into_chunks(const ModelFile& file, std::span<const BoundWeight> weights,
                                   WeightSink& sink, const LoadOptions& options) {
  std::vector<Chunk> chunks;
  for (const BoundWeight& weight : weights) {
    const uint64_t rows = weight.source.num_rows();
    const uint64_t granularity = std::max<uint64_t>(1, sink.row_granularity(weight.slot));
    const uint64_t granules =
        std::max<uint64_t>(1, options.chunk_bytes / weight.source.row_bytes() / granularity);
    const uint64_t step = granules > rows / granularity ? rows : granules * granularity;
    for (uint64_t row = 0; row < rows; row += std::min(step, rows - row)) {
      chunks.push_back(make_chunk(weight, row, std::min(step, rows - row)));
      if (options.samples == nullptr) continue;
      const auto stored = chunks.back().stored_bytes();
      chunks.back().sampled =
          stored && options.samples->claim(number_of(file, *stored->tensor), stored->offset,
                                           chunks.back().bytes());
    }
  }
  std::stable_sort(chunks.begin(), chunks.end(), [](const Chunk& a, const Chunk& b) {
    return a.file_source != b.file_source ? a.file_source < b.file_source
                                          : a.file_offset < b.file_offset;
  });
  return chunks;
}

/// Throws Format for the first value that is not finite.
void check_finite(const ModelFile& file, const Chunk& chunk, std::span<const std::byte> blocks) {
  const RowSource& source = chunk.weight->source;
  const FormatInfo* format = find_format(source.format());
  const uint64_t columns = source.num_columns();
  if (format == nullptr || format->decode_row == nullptr) return;
  // Decode in pieces that every block size divides.
  constexpr uint64_t kPiece = 256;
  float values[kPiece];
  for (uint64_t row = 0; row < chunk.num_rows; ++row) {
    const std::byte* next = blocks.data() + row * source.row_bytes();
    for (uint64_t column = 0; column < columns; column += kPiece) {
      const uint64_t count = std::min(kPiece, columns - column);
      format->decode_row(next, values, count);
      next += count / format->block_values * format->block_bytes;
      for (uint64_t i = 0; i < count; ++i) {
        if (std::isfinite(values[i])) continue;
        const RowSource::Place place = source.place(chunk.first_row + row, column + i);
        fail(Code::Format, "{}: tensor \"{}\": the weight in row {}, column {} is {}", file.name(),
             place.tensor->name, place.row, place.column, values[i]);
      }
    }
  }
}

class Loading {
 public:
  Loading(const ModelFile& file, std::span<const BoundWeight> weights, WeightSink& sink,
          const LoadOptions& options)
      : file_(file),
        sink_(sink),
        options_(options),
        chunks_(cut_into_chunks(file, weights, sink, options)) {
    uint64_t largest = 0;
    for (const Chunk& chunk : chunks_) {
      largest = std::max(largest, chunk.bytes());
      total_bytes_ += chunk.bytes();
    }
    const uint32_t threads = options.team == nullptr ? 1 : options.team->num_threads();
    for (uint32_t i = 0; i < threads; ++i) {
      scratch_.emplace_back(options.system, largest, "reading weights");
    }
  }

  void run() {
    if (options_.team == nullptr) {
      work(0);
    } else {
      Phases job;
      job.num_phases = 1;
      job.arg = this;
      job.phase = [](void* arg, uint32_t, uint32_t thread, uint32_t) noexcept {
        static_cast<Loading*>(arg)->work(thread);
      };
      options_.team->run(job);
    }
    if (failure_) std::rethrow_exception(failure_);
    report();
  }

 private:
  /// Takes chunks until all are taken or one has failed.
  void work(uint32_t thread) noexcept {
    size_t chunk = next_.fetch_add(1);
    while (chunk < chunks_.size() && !stopped_.load(std::memory_order_relaxed)) {
      try {
        load(chunks_[chunk], scratch_[thread].span());
        if (thread == 0) report();
      } catch (...) {
        remember_failure(chunk);
      }
      chunk = next_.fetch_add(1);
    }
  }

  void load(const Chunk& chunk, std::span<std::byte> scratch) {
    const std::span<std::byte> blocks = scratch.first(chunk.bytes());
    chunk.weight->source.read(file_, chunk.first_row, chunk.num_rows, blocks);
    if (chunk.sampled) {
      const RowSource::Stored stored = *chunk.stored_bytes();
      options_.samples->note(number_of(file_, *stored.tensor), stored.offset, blocks);
    }
    if (options_.check_finite) check_finite(file_, chunk, blocks);
    sink_.load_rows(chunk.weight->slot, chunk.first_row, chunk.num_rows, blocks);
    done_bytes_.fetch_add(blocks.size(), std::memory_order_relaxed);
  }

  void report() {
    if (!options_.progress) return;
    const auto done = static_cast<double>(done_bytes_.load(std::memory_order_relaxed));
    const double fraction = total_bytes_ == 0 ? 1.0 : done / static_cast<double>(total_bytes_);
    if (fraction <= reported_) return;
    reported_ = fraction;
    if (!options_.progress(fraction)) {
      fail(Code::Cancelled, "{}: loading was cancelled at {:.0f} %", file_.name(),
           fraction * 100.0);
    }
  }

  /// Keeps the failure of the earliest chunk, so that the message depends less on timing.
  void remember_failure(size_t chunk) noexcept {
    const std::scoped_lock lock(failure_mutex_);
    stopped_.store(true, std::memory_order_relaxed);
    if (chunk >= failed_chunk_) return;
    failed_chunk_ = chunk;
    failure_ = std::current_exception();
  }

  const ModelFile& file_;
  WeightSink& sink_;
  const LoadOptions& options_;
  std::vector<Chunk> chunks_;
  std::vector<Buffer> scratch_;  // [threads]
  uint64_t total_bytes_ = 0;
  double reported_ = -1.0;
  std::atomic<size_t> next_{0};
  std::atomic<uint64_t> done_bytes_{0};
  std::atomic<bool> stopped_{false};
  std::mutex failure_mutex_;
  size_t failed_chunk_ = std::numeric_limits<size_t>::max();
  std::exception_ptr failure_;
};

}  // namespace

void load_weights(const ModelFile& file, std::span<const BoundWeight> weights, WeightSink& sink,
                  const LoadOptions& options) {
  Loading(file, weights, sink, options).run();
}

}  // namespace tenon
