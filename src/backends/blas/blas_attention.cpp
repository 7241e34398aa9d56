// attention: query heads that share a KV head, for several tokens, are rows of one matrix. Scores
// and results are products with keys and values, read chunk by chunk.
#include <algorithm>
#include <vector>

#include "backends/blas/blas_products.h"
#include "backends/common/plain/plain_attention.h"
#include "backends/common/plain/plain_step.h"

namespace tenon::blas {
namespace {

/// Positions whose keys or values are decoded to f32 at once.
constexpr uint32_t kChunk = 256;
/// Tokens per unit of work. A causal mask wastes half of a unit's width per token.
constexpr uint64_t kMostTokens = 32;
/// Scores per unit, 16 MB, unless those of one token are more.
constexpr uint64_t kMostScores = uint64_t{4} << 20;

/// Consecutive tokens of a sequence.
struct Tile {
  uint32_t first_token;
  uint32_t num_tokens;
};

class TiledAttention {
 public:
  TiledAttention(StepRun<Single>& step, const tenon_op& op)
      : step_(step), attention_(step, op), heads_(attention_.params.heads / group().kv_heads) {
    const uint64_t longest = std::max<uint64_t>(attention_.longest(), 1);
    const uint64_t tokens = std::clamp<uint64_t>(kMostScores / (heads_ * longest), 1, kMostTokens);
    const Strided<tenon_step_sequence> sequences = sequences_of(step.step());
    for (uint32_t s = 0; s < sequences.size(); ++s) {
      for (uint32_t i = 0; i < sequences[s].num_tokens; i += static_cast<uint32_t>(tokens)) {
        const auto left = std::min<uint64_t>(tokens, sequences[s].num_tokens - i);
        tiles_.push_back({sequences[s].first_token + i, static_cast<uint32_t>(left)});
      }
    }
    for (const Tile& tile : tiles_) {
      const auto range = seen(tile);
      most_rows_ = std::max<uint64_t>(most_rows_, heads_ * tile.num_tokens);
      most_positions_ = std::max<uint64_t>(most_positions_, range.end - range.first);
    }
  }

  void run() {
    const uint64_t room = most_rows_ * (group().key_dim + group().value_dim + most_positions_) +
                          kChunk * uint64_t{std::max(group().key_dim, group().value_dim)};
    step_.for_each(tiles_.size() * group().kv_heads, room, [&](uint64_t i, float* values) noexcept {
      attend(tiles_[i / group().kv_heads], i % group().kv_heads, values);
    });
  }

 private:
  using Range = plain::Attention<Single>::Range;

  [[nodiscard]] const tenon_cache_group& group() const { return attention_.group; }

  /// Positions seen by any token of the tile.
  [[nodiscard]] Range seen(const Tile& tile) const {
    Range all = attention_.seen(step_.place(tile.first_token));
    for (uint32_t i = 1; i < tile.num_tokens; ++i) {
      const Range range = attention_.seen(step_.place(tile.first_token + i));
      all = {std::min(all.first, range.first), std::max(all.end, range.end)};
    }
    return all;
  }

  /// Row h * num_tokens + i belongs to head h of the KV head and token i of the tile.
  void attend(const Tile& tile, uint64_t kv_head, float* values) noexcept {
    const uint64_t key_dim = group().key_dim;
    const uint64_t value_dim = group().value_dim;
    const uint64_t rows = heads_ * tile.num_tokens;
    const uint64_t first_head = kv_head * heads_;
    const Range range = seen(tile);
    const uint32_t positions = range.end - range.first;
    float* query = values;                      // [rows, key_dim]
    float* result = query + rows * key_dim;     // [rows, value_dim]
    float* scores = result + rows * value_dim;  // [rows, positions]
    float* chunk = scores + rows * positions;   // [kChunk, key_dim or value_dim]
    const auto head_of = [&](auto& matrix, uint64_t row, uint64_t dim) {
      const auto t = static_cast<Eigen::Index>(tile.first_token + row % tile.num_tokens);
      return matrix.row(t).data() + (first_head + row / tile.num_tokens) * dim;
    };
    const tenon_step_sequence& sequence = *step_.place(tile.first_token).sequence;

    for (uint64_t r = 0; r < rows; ++r) {
      std::copy_n(head_of(attention_.query, r, key_dim), key_dim, query + r * key_dim);
    }
    for (uint32_t first = 0; first < positions; first += kChunk) {
      const uint32_t count = std::min(kChunk, positions - first);
      for (uint32_t i = 0; i < count; ++i) {
        attention_.load_key(sequence, kv_head, range.first + first + i, chunk + i * key_dim);
      }
      step_.math().multiply_transposed(rows, count, key_dim, query, key_dim, chunk, scores + first,
                                       positions);
    }
    for (uint64_t r = 0; r < rows; ++r) {
      const uint32_t token = tile.first_token + static_cast<uint32_t>(r % tile.num_tokens);
      weigh(first_head + r / tile.num_tokens, token, range, scores + r * positions);
    }
    std::fill_n(result, rows * value_dim, 0.0f);
    for (uint32_t first = 0; first < positions; first += kChunk) {
      const uint32_t count = std::min(kChunk, positions - first);
      // Ascending: the next latent row overwrites the excess.
      for (uint32_t i = 0; i < count; ++i) {
        attention_.load_value(sequence, kv_head, range.first + first + i, chunk + i * value_dim);
      }
      step_.math().add_product(rows, value_dim, count, scores + first, positions, chunk, result);
    }
    for (uint64_t r = 0; r < rows; ++r) {
      std::copy_n(result + r * value_dim, value_dim, head_of(attention_.out, r, value_dim));
    }
  }

  /// Turns products with the keys of [range.first, range.end) into weights; 0 for positions that
  /// the token does not see.
  void weigh(uint64_t head, uint32_t token, const Range& range, float* scores) const noexcept {
    const Range own = attention_.seen(step_.place(token));
    const uint32_t position = step_.place(token).position;
    float* of_own = scores + (own.first - range.first);
    const uint32_t count = own.end - own.first;
    for (uint32_t i = 0; i < count; ++i) {
      of_own[i] = attention_.score(of_own[i], head, position, own.first + i);
    }
    attention_.softmax(head, of_own, count);
    std::fill(scores, of_own, 0.0f);
    std::fill(of_own + count, scores + (range.end - range.first), 0.0f);
  }

  StepRun<Single>& step_;
  plain::Attention<Single> attention_;
  uint64_t heads_;  ///< sharing a KV head
  std::vector<Tile> tiles_;
  uint64_t most_rows_ = 0;
  uint64_t most_positions_ = 0;
};

}  // namespace

bool fits_attention(const OpShape& shape) noexcept {
  return plain::fits_attention(shape) && shape.group->key_dim <= kMaxColumns &&
         shape.group->value_dim <= kMaxColumns;
}

void run_attention(StepRun<Single>& step, const tenon_op& op) {
  // Neighbouring tokens with different selections share no product.
  if (op.inputs[3] != TENON_NO_SLOT) return plain::run_attention(step, op);
  TiledAttention(step, op).run();
}

}  // namespace tenon::blas
