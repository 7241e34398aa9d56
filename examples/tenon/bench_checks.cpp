#include "bench_checks.h"

#include <algorithm>
#include <cstdio>

#include "failure.h"
#include "format_text.h"
#include "option_flags.h"
#include "terminal.h"

namespace tenon_program {
namespace {

std::string words(const BenchCell& cell) {
  std::string text = (cell.decode ? "decode of " : "prefill of ") + counted(cell.tokens, "token");
  if (cell.decode) text += " by " + counted(cell.sequences, "sequence");
  return cell.depth == 0 ? text : text + " behind " + std::to_string(cell.depth);
}

/// Default tokens per step on `cpu`.
constexpr uint64_t kUsualSlice = 256;

/// Tokens per step. options: of a model that has been opened.
uint64_t slice_of(const tenon::ExtraOptions& options) {
  auto slice = static_cast<uint64_t>(find_option("slice").int_default);
  for (const auto& [key, value] : options) {
    if (key == "slice") slice = std::stoull(value);
  }
  return slice == 0 ? kUsualSlice : slice;
}

void check_cell(const tenon::Model& model, const tenon_hardware& hardware, uint64_t slice,
                const BenchCell& cell) {
  if (cell.sequences > slice) {
    throw Failure(words(cell) + ": a step holds " + counted(slice, "token") +
                  ", one of each sequence; give --slice " + std::to_string(cell.sequences));
  }
  const tenon_plan plan =
      tenon::plan(model, hardware, {.context = context_of(cell), .sessions = cell.sequences});
  if (plan.fits != 0) return;
  throw Failure(words(cell) + ": takes " + size_text(plan.total_bytes) +
                " of memory, and there are " + size_text(hardware.memory_bytes) +
                "; choose fewer tokens, less depth or another --cache-type");
}

}  // namespace

void check_cells(const std::string& path, const std::vector<tenon::ExtraOptions>& variants,
                 const std::vector<BenchCell>& cells) {
  uint64_t trained = 0;
  for (const tenon::ExtraOptions& options : variants) {
    const tenon::Model model(path, {.inspect = true, .extra = options});
    const tenon_hardware hardware = tenon::measure_hardware(model, false);
    for (const BenchCell& cell : cells) check_cell(model, hardware, slice_of(options), cell);
    trained = model.info().trained_context;
  }
  uint64_t longest = 0;
  for (const BenchCell& cell : cells) longest = std::max(longest, cell.depth + cell.tokens);
  if (longest <= trained) return;
  std::fprintf(stderr, "tenon: warning: %llu positions: the model was trained for %llu\n",
               static_cast<unsigned long long>(longest), static_cast<unsigned long long>(trained));
}

}  // namespace tenon_program
