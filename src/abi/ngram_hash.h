// Hashes of the last tokens that select rows in ngram_rows (tenon/backend.h,
// tenon_ngram_rows_params).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "abi/program_copy.h"
#include "abi/strided.h"
#include "tenon/backend.h"

namespace tenon::backends {

/// Most tokens per hash.
inline constexpr uint32_t kMaxNgram = 16;
/// Numbers per head, in this order.
inline constexpr uint32_t kNgramHeadNumbers = 3;
struct NgramHead {
  uint64_t order;   ///< tokens hashed
  uint64_t offset;  ///< its first row in the table
  uint64_t size;    ///< number of its rows
};
/// Head `head` of `numbers` [heads, kNgramHeadNumbers].
inline NgramHead ngram_head(std::span<const int64_t> numbers, uint64_t head) noexcept {
  const int64_t* own = numbers.data() + head * kNgramHeadNumbers;
  return {static_cast<uint64_t>(own[0]), static_cast<uint64_t>(own[1]),
          static_cast<uint64_t>(own[2])};
}

/// Token `back` places before place `place` of a sequence; TENON_BEFORE_TEXT before its text.
///   number   index of the sequence in the step
///   history  tenon_program.token_history
inline int32_t token_before(const tenon_step& step, uint32_t history, uint32_t number,
                            uint32_t place, uint32_t back) noexcept {
  if (back <= place) return step.tokens[sequences_of(step)[number].first_token + place - back];
  const uint32_t earlier = back - place;
  if (earlier > history) return TENON_BEFORE_TEXT;
  return step.earlier_tokens[uint64_t{number} * history + history - earlier];
}

/// Parameters of the hash.
struct NgramNumbers {
  std::span<const int64_t> multipliers;  ///< [n], at most kMaxNgram
  int32_t end;                           ///< tenon_ngram_rows_params
  std::span<const int64_t> map;          ///< [vocab]; may be empty
};
/// Parameters of an ngram_rows operation.
inline NgramNumbers ngram_numbers(const ProgramCopy& program, const tenon_op& op) noexcept {
  const bool maps = op.inputs[3] != TENON_NO_SLOT;
  return {program.integers(op.inputs[1]), op.params.ngram_rows.end,
          maps ? program.integers(op.inputs[3]) : std::span<const int64_t>()};
}

/// Hashes for a place in a step: [m - 1] is the hash of the last m tokens.
inline std::array<uint64_t, kMaxNgram> ngram_hashes(const tenon_step& step, uint32_t history,
                                                    uint32_t number, uint32_t place,
                                                    const NgramNumbers& numbers) noexcept {
  std::array<uint64_t, kMaxNgram> hashes{};
  uint64_t hash = 0;
  bool ended = false;
  for (uint32_t back = 0; back < numbers.multipliers.size(); ++back) {
    const int32_t token = token_before(step, history, number, place, back);
    // The token itself counts even if it ends a text.
    const bool ends = numbers.map.empty() && back > 0 && token == numbers.end;
    ended = ended || token == TENON_BEFORE_TEXT || ends;
    int64_t counts_as = ended ? numbers.end : token;
    if (!ended && !numbers.map.empty()) {
      const auto known = static_cast<uint64_t>(token);
      counts_as = known < numbers.map.size() ? numbers.map[known] : numbers.end;
    }
    hash ^= static_cast<uint64_t>(counts_as) * static_cast<uint64_t>(numbers.multipliers[back]);
    hashes[back] = hash;
  }
  return hashes;
}

/// Table row for a head.
inline uint64_t ngram_row(const NgramHead& head,
                          const std::array<uint64_t, kMaxNgram>& hashes) noexcept {
  return head.offset + hashes[head.order - 1] % head.size;
}

/// True if each head [order, offset, size] hashes at most `n` tokens and stays within `rows`.
inline bool are_ngram_heads(std::span<const int64_t> numbers, uint64_t n, uint64_t rows) noexcept {
  for (uint64_t head = 0; head < numbers.size() / kNgramHeadNumbers; ++head) {
    const auto [order, offset, size] = ngram_head(numbers, head);
    if (order < 1 || order > n || size < 1 || size > rows || offset > rows - size) return false;
  }
  return true;
}

}  // namespace tenon::backends
