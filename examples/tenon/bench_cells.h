// Measurements of `tenon bench`: cells of lengths, depth, sequences and options, and their results.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <tenon/tenon.hpp>
#include <vector>

#include "stopwatch.h"

namespace tenon_program {

/// Measurement with a loaded model.
struct BenchCell {
  bool decode = false;     ///< false: prefill
  uint64_t tokens = 0;     ///< prefill: prompt tokens; decode: tokens generated per sequence
  uint64_t sequences = 1;  ///< decode: parallel requests, each with a token in every step
  uint64_t depth = 0;      ///< tokens already in the context
  std::string speculation = "off";  ///< decode: the engine's option
};

/// Positions that each session needs.
constexpr uint64_t context_of(const BenchCell& cell) { return cell.depth + cell.tokens + 1; }

struct BenchResult {
  BenchCell cell;
  std::vector<double> rates;        ///< tokens per second of all sequences, one per repetition
  std::vector<double> first_token;  ///< prefill: seconds from the prompt to the first token
  std::vector<double> per_token;    ///< decode: seconds per token, each
  /// decode: cache bytes per token at half the length (token_cache_bytes)
  uint64_t cache_bytes = 0;
  std::string drafters{};   ///< decode with speculation: how tokens were guessed, in lines
  double stream_rate = 0;   ///< bytes per second; measured within half a minute of the cell's end
  uint64_t peak_bytes = 0;  ///< peak memory since the load began
};

/// Quantile p in 0..1 by linear interpolation between neighbours; 0.5 is the median, for an even
/// number the mean of the middle two. Returns 0 without values.
double percentile(std::vector<double> values, double p);

/// Runs a cell `repetitions` times after a warm-up round. progress is called with the fraction
/// done. now: clock, of which only differences count.
BenchResult run_cell(const tenon::Model& model, const BenchCell& cell, uint64_t repetitions,
                     const std::function<void(double)>& progress, const Now& now = Clock::now);

}  // namespace tenon_program
