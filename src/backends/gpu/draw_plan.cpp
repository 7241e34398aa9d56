#include "backends/gpu/draw_plan.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "abi/failure.h"
#include "abi/philox.h"
#include "backends/common/host_draw.h"

namespace tenon::gpu {
namespace {

/// Most bytes of modified logits rows.
constexpr uint64_t kMostRowBytes = uint64_t{32} << 20;
/// Weights are below 2^41: this many have a 63-bit sum.
constexpr uint64_t kMostVocab = uint64_t{1} << 22;
constexpr uint64_t kResultStride =
    sizeof(DrawResult) + backends::kMaxCandidates * sizeof(DrawCandidate);

/// A share in [0, 1) as a multiple of 2^-64.
uint64_t binary_fraction(double share) {
  return static_cast<uint64_t>(std::ldexp(std::clamp(share, 0.0, 1 - 0x1p-53), 64));
}

DeviceDraw describe(const tenon_draw& draw, uint64_t vocab) {
  DeviceDraw to{};
  to.kind = draw.kind;
  to.vocab = static_cast<uint32_t>(vocab);
  to.num_biases = draw.num_biases;
  to.num_candidates = draw.kind == TENON_DRAW_CANDIDATES ? draw.num_candidates : 0;
  to.most_behind = std::numeric_limits<float>::infinity();
  if (draw.kind != TENON_DRAW_DRAWN) return to;
  to.top_k = draw.top_k;
  to.cuts_top_p = draw.top_p < 1 ? 1 : 0;
  to.top_p = binary_fraction(draw.top_p);
  to.random = binary_fraction(uniform_at(draw.seed, draw.position));
  if (draw.min_p > 0) to.most_behind = static_cast<float>(-std::log(draw.min_p));
  int exponent = 0;
  const double rate = std::frexp(std::numbers::log2e / draw.temperature, &exponent);
  to.rate = static_cast<uint32_t>(std::min(std::ldexp(rate, 32), 4294967295.0));
  to.shift = 32 - exponent;
  return to;
}

}  // namespace

uint64_t logits_columns(const backends::ProgramCopy& program) {
  const uint32_t logits = program.view().logits;
  return logits == TENON_NO_SLOT ? 0 : program.slots()[logits].columns;
}

DrawPlan::DrawPlan(uint64_t vocab, uint32_t most_outputs) : vocab_(vocab) {
  if (vocab == 0 || most_outputs == 0) return;
  if (vocab > kMostVocab) {
    backends::refuse(TENON_BACKEND_UNSUPPORTED, "draws from {} logits, more than {}", vocab,
                     kMostVocab);
  }
  const uint64_t fit = kMostRowBytes / (vocab * sizeof(float));
  most_draws_ = static_cast<uint32_t>(std::clamp<uint64_t>(fit, 1, most_outputs));
  most_biases_ = std::max<uint64_t>(vocab, 4096);
  mask_bytes_ = (vocab + 63) / 64 * sizeof(uint64_t);
  upload_bytes_ = sizeof(DrawStage) + most_draws_ * (sizeof(DeviceDraw) + mask_bytes_) +
                  most_biases_ * sizeof(DrawBias);
  taken_.reserve(most_draws_);
  rows_.reserve(most_draws_);
  candidates_.reserve(backends::kMaxCandidates);
}

uint64_t DrawPlan::result_bytes() const { return most_draws_ * kResultStride; }
uint64_t DrawPlan::row_bytes() const { return most_draws_ * vocab_ * sizeof(float); }

uint32_t DrawPlan::write(const Strided<tenon_draw>& draws, uint32_t first, const Places& places,
                         std::byte* upload) {
  taken_.clear();
  rows_.clear();
  num_computed_ = 0;
  uint64_t biases = 0;
  const DrawStage stage{places.upload + sizeof(DrawStage)};
  std::memcpy(upload, &stage, sizeof(stage));
  written_ = sizeof(stage) + most_draws_ * sizeof(DeviceDraw);
  for (uint32_t i = first; i < draws.size() && taken_.size() < most_draws_; ++i) {
    const tenon_draw& draw = draws[i];
    if (draw.kind == TENON_DRAW_ROW) {
      rows_.push_back(draw.row);
      taken_.push_back(draw);
      continue;
    }
    // A token has at most one bias, so the biases of one draw always fit.
    if (biases + draw.num_biases > most_biases_) break;
    biases += draw.num_biases;
    DeviceDraw to = describe(draw, vocab_);
    to.logits = places.logits + draw.row * vocab_ * sizeof(float);
    to.row = places.rows + num_computed_ * vocab_ * sizeof(float);
    to.result = places.results + num_computed_ * kResultStride;
    to.candidates = to.result + sizeof(DrawResult);
    const bool is_token = draw.kind != TENON_DRAW_CANDIDATES;
    if (is_token) to.token = places.tokens + draw.row * sizeof(int32_t);
    if (draw.allowed != nullptr) {
      to.allowed = places.upload + written_;
      std::memcpy(upload + written_, draw.allowed, mask_bytes_);
      written_ += mask_bytes_;
    }
    to.biases = places.upload + written_;
    for (uint32_t b = 0; b < draw.num_biases; ++b) {
      const DrawBias bias{static_cast<uint32_t>(draw.biases[b].token), draw.biases[b].bias};
      std::memcpy(upload + written_, &bias, sizeof(bias));
      written_ += sizeof(bias);
    }
    std::memcpy(upload + sizeof(stage) + num_computed_ * sizeof(to), &to, sizeof(to));
    ++num_computed_;
    taken_.push_back(draw);
  }
  return static_cast<uint32_t>(taken_.size());
}

void DrawPlan::finish_computed(const tenon_draw& draw, const std::byte* results, uint32_t number) {
  DrawResult result;
  std::memcpy(&result, results + number * kResultStride, sizeof(result));
  tenon_drawn& drawn = *draw.drawn;
  drawn.flags = result.flags;
  if (result.flags != 0) return;
  const double log_sum =
      double{result.largest} + std::log(std::ldexp(static_cast<double>(result.mass), -40));
  drawn.log_sum_exp = static_cast<float>(log_sum);
  if (draw.kind != TENON_DRAW_CANDIDATES) {
    drawn.token = static_cast<int32_t>(result.token);
    drawn.logprob = static_cast<float>(double{result.logit} - log_sum);
    return;
  }
  drawn.num_candidates = std::min(result.num_candidates, draw.num_candidates);
  candidates_.resize(drawn.num_candidates);
  std::memcpy(candidates_.data(), results + number * kResultStride + sizeof(result),
              candidates_.size() * sizeof(DrawCandidate));
  std::ranges::sort(candidates_, [](const DrawCandidate& a, const DrawCandidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  });
  for (size_t i = 0; i < candidates_.size(); ++i) {
    draw.candidates[i] = static_cast<int32_t>(candidates_[i].token);
    draw.logits[i] = candidates_[i].logit;
  }
}

void DrawPlan::finish(const std::byte* results, const float* logits) {
  uint32_t number = 0;
  for (const tenon_draw& draw : taken_) {
    *draw.drawn = {0, -1, 0, 0, 0, 0};
    if (draw.kind == TENON_DRAW_ROW) {
      std::copy_n(logits + draw.row * vocab_, vocab_, draw.logits);
    } else {
      finish_computed(draw, results, number++);
    }
  }
}

}  // namespace tenon::gpu
