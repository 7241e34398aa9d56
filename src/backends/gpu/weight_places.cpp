#include "backends/gpu/weight_places.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "abi/failure.h"
#include "abi/sizes.h"
#include "backends/gpu/weight_rows.h"
#include "backends/gpu/weight_units.h"
#include "quant/formats.h"

namespace tenon::gpu {

bool is_only_multiplied(const tenon_program& program, uint32_t slot) {
  bool is_multiplied = false;
  const Strided<tenon_op> ops = ops_of(program);
  for (uint32_t i = 0; i < ops.size(); ++i) {
    for (uint32_t input = 0; input < TENON_MAX_INPUTS; ++input) {
      if (ops[i].inputs[input] != slot) continue;
      if (ops[i].kind != TENON_OP_LINEAR || input != 1) return false;
      is_multiplied = true;
    }
  }
  return is_multiplied;
}

WeightPlaces::WeightPlaces(const backends::ProgramCopy& program, uint64_t largest_chunk,
                           uint64_t staging_bytes, Families families)
    : program_(program),
      plan_(largest_chunk),
      staging_bytes_(staging_bytes),
      weights_(program.slots().size()) {
  using backends::multiply;
  for (uint32_t i = 0; i < weights_.size(); ++i) {
    const tenon_slot& slot = program.slots()[i];
    if (slot.kind != TENON_SLOT_WEIGHT) continue;
    const FormatInfo* format = find_format(slot.type);
    const auto bytes = format == nullptr ? std::nullopt : row_bytes(*format, slot.columns);
    if (!bytes) {
      backends::refuse(TENON_BACKEND_UNSUPPORTED, "weight \"{}\" of type {} and {} columns",
                       slot.name, slot.type, slot.columns);
    }
    if (slot.rows > UINT32_MAX || slot.columns > UINT32_MAX / sizeof(float)) {
      backends::refuse(TENON_BACKEND_LIMIT, "weight \"{}\" of {} rows and {} columns", slot.name,
                       slot.rows, slot.columns);
    }
    Weight& weight = weights_[i];
    weight.file_bytes = *bytes;
    weight.is_small = is_small_weight(program.view(), i);
    weight.row_bytes = weight.is_small ? multiply(slot.columns, sizeof(float), slot.name)
                                       : row_stride(*format, slot.columns);
    if (weight.row_bytes > staging_bytes_) {
      backends::refuse(TENON_BACKEND_LIMIT, "weight \"{}\": a row of {} bytes, at most {}",
                       slot.name, weight.row_bytes, staging_bytes_);
    }
    uint64_t size = multiply(weight.row_bytes, slot.rows, slot.name);
    const std::optional<Family> family = units_family(format->id);
    weight.in_units = family && families.has(*family) &&
                      tile_bytes(format->id, slot.columns) <= staging_bytes_ &&
                      is_only_multiplied(program.view(), i);
    if (weight.in_units) {
      const uint64_t tiles = tiles_of_rows(slot.rows);
      weight.factors_offset = multiply(tiles, tile_bytes(format->id, slot.columns), slot.name);
      size = weight.factors_offset;
      if (format->id == Format::BF16) size += tiles * kUnitRows * sizeof(float);
    }
    weight.place = plan_.add(backends::add(size, kReadBeyond, slot.name), slot.name);
  }
  rows_loaded_ = std::make_unique<std::atomic<uint64_t>[]>(weights_.size());
}

void WeightPlaces::place(std::span<const Address> chunks, SlotPlaces& places) const {
  for (uint32_t i = 0; i < weights_.size(); ++i) {
    if (program_.slots()[i].kind != TENON_SLOT_WEIGHT) continue;
    const Weight& weight = weights_[i];
    places.addresses[i] = chunks[weight.place.chunk] + weight.place.offset;
    places.row_bytes[i] = weight.row_bytes;
    places.is_small[i] = weight.is_small ? 1 : 0;
    places.in_units[i] = weight.in_units ? 1 : 0;
    if (weight.in_units && static_cast<Format>(program_.slots()[i].type) == Format::BF16) {
      places.row_factors[i] = places.addresses[i] + weight.factors_offset;
    }
  }
}

void WeightPlaces::pack(const tenon_slot& slot, const Weight& weight, const std::byte* blocks,
                        std::byte* row) const noexcept {
  const FormatInfo& format = *find_format(slot.type);
  if (weight.is_small) {
    format.decode_row(blocks, reinterpret_cast<float*>(row), slot.columns);
  } else {
    pack_row(format, blocks, slot.columns, row);
  }
}

uint64_t WeightPlaces::row_granularity(uint32_t slot) const {
  return slot < weights_.size() && weights_[slot].in_units ? kUnitRows : 1;
}

void WeightPlaces::load_tiles(uint32_t slot, uint64_t first_row, uint64_t num_rows,
                              const std::byte* blocks, const Send& send) const {
  if (num_rows == 0) return;
  const tenon_slot& info = program_.slots()[slot];
  const Weight& weight = weights_[slot];
  const auto format = static_cast<Format>(info.type);
  if (first_row % kUnitRows != 0 ||
      (num_rows % kUnitRows != 0 && first_row + num_rows < info.rows)) {
    backends::refuse(TENON_BACKEND_ARGUMENT,
                     "weight \"{}\": {} rows from {}, not in multiples of {}", info.name, num_rows,
                     first_row, kUnitRows);
  }
  const uint64_t bytes = tile_bytes(format, info.columns);
  const uint64_t tiles = tiles_of_rows(num_rows);
  const uint64_t tiles_of_part = staging_bytes_ / bytes;
  std::vector<float> factors(tiles * kUnitRows);
  for (uint64_t done = 0; done < tiles; done += tiles_of_part) {
    const uint64_t count = std::min(tiles_of_part, tiles - done);
    const uint64_t offset = weight.place.offset + (first_row / kUnitRows + done) * bytes;
    send({weight.place.chunk, offset}, count * bytes, [&](std::byte* staging) {
      for (uint64_t t = 0; t < count; ++t) {
        const uint64_t row = (done + t) * kUnitRows;
        pack_tile(format, blocks + row * weight.file_bytes,
                  std::min<uint64_t>(kUnitRows, num_rows - row), info.columns, staging + t * bytes,
                  &factors[row]);
      }
    });
  }
  if (format != Format::BF16) return;
  const uint64_t factors_of_part = staging_bytes_ / sizeof(float);
  for (uint64_t done = 0; done < factors.size(); done += factors_of_part) {
    const uint64_t count = std::min<uint64_t>(factors_of_part, factors.size() - done);
    const uint64_t offset =
        weight.place.offset + weight.factors_offset + (first_row + done) * sizeof(float);
    send({weight.place.chunk, offset}, count * sizeof(float),
         [&](std::byte* staging) { std::memcpy(staging, &factors[done], count * sizeof(float)); });
  }
}

void WeightPlaces::load_rows(uint32_t slot, uint64_t first_row, uint64_t num_rows,
                             const void* blocks, uint64_t size_bytes, const Send& send) {
  if (slot >= weights_.size() || program_.slots()[slot].kind != TENON_SLOT_WEIGHT) {
    backends::refuse(TENON_BACKEND_ARGUMENT, "slot {} is no weight", slot);
  }
  const tenon_slot& info = program_.slots()[slot];
  const Weight& weight = weights_[slot];
  if (first_row > info.rows || num_rows > info.rows - first_row) {
    backends::refuse(TENON_BACKEND_ARGUMENT, "weight \"{}\": {} rows from {} of {}", info.name,
                     num_rows, first_row, info.rows);
  }
  if (size_bytes != num_rows * weight.file_bytes || (size_bytes > 0 && blocks == nullptr)) {
    backends::refuse(TENON_BACKEND_ARGUMENT, "weight \"{}\": {} bytes for {} rows of {}", info.name,
                     size_bytes, num_rows, weight.file_bytes);
  }
  if (num_rows == 0) return;
  const auto* from = static_cast<const std::byte*>(blocks);
  if (weight.in_units) {
    load_tiles(slot, first_row, num_rows, from, send);
    rows_loaded_[slot].fetch_add(num_rows, std::memory_order_relaxed);
    return;
  }
  const uint64_t rows_of_part = staging_bytes_ / weight.row_bytes;
  for (uint64_t done = 0; done < num_rows; done += rows_of_part) {
    const uint64_t count = std::min(rows_of_part, num_rows - done);
    const uint64_t offset = weight.place.offset + (first_row + done) * weight.row_bytes;
    send({weight.place.chunk, offset}, count * weight.row_bytes, [&](std::byte* staging) {
      for (uint64_t r = 0; r < count; ++r) {
        pack(info, weight, from + (done + r) * weight.file_bytes, staging + r * weight.row_bytes);
      }
    });
  }
  rows_loaded_[slot].fetch_add(num_rows, std::memory_order_relaxed);
}

void WeightPlaces::check_loaded() const {
  for (uint32_t i = 0; i < weights_.size(); ++i) {
    const tenon_slot& slot = program_.slots()[i];
    if (slot.kind != TENON_SLOT_WEIGHT) continue;
    const uint64_t loaded = rows_loaded_[i].load(std::memory_order_relaxed);
    if (loaded >= slot.rows) continue;
    backends::refuse(TENON_BACKEND_STATE, "weight \"{}\": {} of {} rows are loaded", slot.name,
                     loaded, slot.rows);
  }
}

uint64_t WeightPlaces::memory_bytes() const {
  uint64_t bytes = 0;
  for (const uint64_t size : chunks()) bytes += size;
  return bytes;
}

}  // namespace tenon::gpu
