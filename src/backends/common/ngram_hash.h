// The numbers that ngram_rows takes its rows by: which tokens a place of a step looks back at, and
// their hashes (tenon/backend.h, tenon_ngram_rows_params).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "backends/common/program_copy.h"
#include "backends/common/strided.h"
#include "tenon/backend.h"

namespace tenon::backends {

/// Tokens that a hash takes at most.
inline constexpr uint32_t kMaxNgram = 16;
/// Numbers of a head, in this order.
inline constexpr uint32_t kNgramHeadNumbers = 3;
struct NgramHead {
  uint64_t order;   ///< tokens that are hashed
  uint64_t offset;  ///< of its rows in the table
  uint64_t size;    ///< its rows
};
/// Head `head` of `numbers` [heads, kNgramHeadNumbers].
inline NgramHead ngram_head(std::span<const int64_t> numbers, uint64_t head) noexcept {
  const int64_t* own = numbers.data() + head * kNgramHeadNumbers;
  return {static_cast<uint64_t>(own[0]), static_cast<uint64_t>(own[1]),
          static_cast<uint64_t>(own[2])};
}

/// The token `back` places before number `place` of a sequence's tokens in a step; TENON_BEFORE_TEXT
/// where its text has none.
///   number   of the sequence in the step
///   history  tenon_program.token_history
inline int32_t token_before(const tenon_step& step, uint32_t history, uint32_t number,
                            uint32_t place, uint32_t back) noexcept {
  if (back <= place) return step.tokens[sequences_of(step)[number].first_token + place - back];
  const uint32_t earlier = back - place;
  if (earlier > history) return TENON_BEFORE_TEXT;
  return step.earlier_tokens[uint64_t{number} * history + history - earlier];
}

/// What tokens are hashed with.
struct NgramNumbers {
  std::span<const int64_t> multipliers;  ///< [n], at most kMaxNgram
  int32_t end;                           ///< tenon_ngram_rows_params
  std::span<const int64_t> map;          ///< [vocab], or none
};
/// Those of an ngram_rows.
inline NgramNumbers ngram_numbers(const ProgramCopy& program, const tenon_op& op) noexcept {
  const bool maps = op.inputs[3] != TENON_NO_SLOT;
  return {program.integers(op.inputs[1]), op.params.ngram_rows.end,
          maps ? program.integers(op.inputs[3]) : std::span<const int64_t>()};
}

/// Of that place: [m - 1] is the hash of the last m tokens.
inline std::array<uint64_t, kMaxNgram> ngram_hashes(const tenon_step& step, uint32_t history,
                                                    uint32_t number, uint32_t place,
                                                    const NgramNumbers& numbers) noexcept {
  std::array<uint64_t, kMaxNgram> hashes{};
  uint64_t hash = 0;
  bool ended = false;
  for (uint32_t back = 0; back < numbers.multipliers.size(); ++back) {
    const int32_t token = token_before(step, history, number, place, back);
    // The own token counts as it is, also where it ends a text.
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

/// The row of the table that a head takes.
inline uint64_t ngram_row(const NgramHead& head,
                          const std::array<uint64_t, kMaxNgram>& hashes) noexcept {
  return head.offset + hashes[head.order - 1] % head.size;
}

/// Whether each head [order, offset, size] looks back at no more than `n` tokens and stays within
/// `rows`.
inline bool are_ngram_heads(std::span<const int64_t> numbers, uint64_t n, uint64_t rows) noexcept {
  for (uint64_t head = 0; head < numbers.size() / kNgramHeadNumbers; ++head) {
    const auto [order, offset, size] = ngram_head(numbers, head);
    if (order < 1 || order > n || size < 1 || size > rows || offset > rows - size) return false;
  }
  return true;
}

}  // namespace tenon::backends
