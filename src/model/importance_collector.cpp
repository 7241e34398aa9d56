#include "model/importance_collector.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "model/program_runner.h"

namespace tenon {
namespace {

/// Sums of one weight's inputs, in double: chunks are many.
struct InputSums {
  const WatchedProduct* product;
  uint64_t columns;            // of a matrix
  std::vector<double> sums;    // [matrices, columns]
  std::vector<double> counts;  // [matrices]
};

class ImportanceCollector {
 public:
  ImportanceCollector(const Model& model, bool with_output) : model_(model), trunk_(model.trunk()) {
    if (trunk_.program.watched().empty() || trunk_.executable == nullptr) {
      fail(Code::State, "{}: was not loaded for statistics", model.file().name());
    }
    for (const WatchedProduct& product : trunk_.program.watched()) {
      const std::string_view name = slot(product.weight).name;
      if (!name.starts_with("blk.") && !(with_output && name == "output.weight")) continue;
      // A weight that several products read has one entry.
      const auto is_same = [&](const InputSums& other) {
        return other.product->weight == product.weight;
      };
      if (std::ranges::any_of(sums_, is_same)) continue;
      add(product);
    }
    const DeviceTurn::Use turn(model_.turn(), patience());
    runner_.emplace(trunk_, std::span<const std::shared_ptr<BlockPool>>{}, model_.options().system);
  }

  ~ImportanceCollector() {
    const DeviceTurn::Use turn(model_.turn(), patience());  // buffers go back to the device
    runner_.reset();
  }

  ImportanceCollector(const ImportanceCollector&) = delete;
  ImportanceCollector& operator=(const ImportanceCollector&) = delete;

  [[nodiscard]] uint32_t step_tokens() const {
    return std::min(runner_->max_tokens(), kMostPrivateOutputs);
  }

  /// Computes tokens [past, past + count) of a part of the text.
  void run(std::span<const Token> part, uint64_t past, uint32_t count) {
    const DeviceTurn::Use turn(model_.turn(), patience());
    runner_->clear();
    runner_->add({.text = part,
                  .past = past,
                  .num_tokens = count,
                  .num_outputs = count,
                  .private_positions = part.size()});
    values_.assign(trunk_.program.slots().size(), {});
    for (const InputSums& each : sums_) {
      bind(each.product->squares);
      if (each.product->experts != TENON_NO_SLOT) bind(each.product->experts);
    }
    runner_->run(nullptr);
    for (InputSums& each : sums_) take(each, count);
  }

  [[nodiscard]] std::vector<WeightInputs> results() const {
    std::vector<WeightInputs> all;
    for (const InputSums& each : sums_) {
      WeightInputs one{.weight = slot(each.product->weight).name, .sums = {}, .counts = {}};
      for (const double sum : each.sums) {
        if (!std::isfinite(sum)) {
          fail(Code::Format,
               "importance of {}: an input is not finite: the model's weights are damaged, or its "
               "values exceed f32",
               tenon::quoted(one.weight));
        }
        one.sums.push_back(static_cast<float>(sum));
      }
      for (const double count : each.counts) one.counts.push_back(static_cast<float>(count));
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  [[nodiscard]] const tenon_slot& slot(uint32_t number) const {
    return trunk_.program.slots()[number];
  }
  [[nodiscard]] DeviceTurn::Patience patience() const { return {*model_.options().system}; }

  void add(const WatchedProduct& product) {
    const tenon_slot& weight = slot(product.weight);
    const uint64_t inputs = slot(product.squares).columns;
    InputSums one{.product = &product, .columns = weight.columns, .sums = {}, .counts = {}};
    // Heads of one weight have their own inputs, side by side.
    uint64_t matrices = inputs / weight.columns;
    if (product.experts != TENON_NO_SLOT) matrices = experts_of(product);
    one.sums.resize(matrices * weight.columns);
    one.counts.resize(matrices);
    sums_.push_back(std::move(one));
  }

  [[nodiscard]] uint64_t experts_of(const WatchedProduct& product) const {
    for (const tenon_op& op : trunk_.program.ops()) {
      if (op.kind == TENON_OP_MOE_LINEAR && op.inputs[2] == product.weight) {
        return op.params.moe_linear.experts;
      }
    }
    return 1;
  }

  void bind(uint32_t number) {
    if (values_[number].empty()) {
      values_[number] = runner_->bind_own(number, "statistics of products");
    }
  }

  void take(InputSums& into, uint32_t tokens) {
    const std::span<const float> squares = values_[into.product->squares];
    const uint64_t columns = slot(into.product->squares).columns;
    if (into.product->experts != TENON_NO_SLOT) return take_experts(into, squares, columns, tokens);
    if (slot(into.product->squares).row_class == TENON_ROWS_SEQUENCES) {
      for (uint64_t i = 0; i < columns; ++i) into.sums[i] += double{squares[i]} * tokens;
    } else {
      for (uint64_t i = 0; i < columns * tokens; ++i) {
        into.sums[i % columns] += double{squares[i]};
      }
    }
    for (double& count : into.counts) count += tokens;
  }

  void take_experts(InputSums& into, std::span<const float> squares, uint64_t columns,
                    uint32_t tokens) {
    const uint64_t used = slot(into.product->experts).columns;
    const std::span<const float> experts = values_[into.product->experts];
    // Each expert has its own input, or all have the token's.
    const bool own = columns == used * into.columns && used > 1;
    for (uint32_t t = 0; t < tokens; ++t) {
      for (uint64_t e = 0; e < used; ++e) {
        const auto expert = std::bit_cast<int32_t>(experts[t * used + e]);
        if (expert < 0 || static_cast<uint64_t>(expert) >= into.counts.size()) continue;
        const float* row = squares.data() + t * columns + (own ? e * into.columns : 0);
        double* sums = into.sums.data() + static_cast<uint64_t>(expert) * into.columns;
        for (uint64_t i = 0; i < into.columns; ++i) sums[i] += double{row[i]};
        into.counts[static_cast<size_t>(expert)] += 1;
      }
    }
  }

  const Model& model_;
  const ModelProgram& trunk_;
  std::vector<InputSums> sums_;
  std::optional<ProgramRunner> runner_;
  std::vector<std::span<const float>> values_;  // by slot, of the current step
};

}  // namespace

ImportanceMatrix collect_importance(const Model& model, std::string_view text,
                                    const ImportanceOptions& options) {
  const Tokenizer& tokenizer = *model.tokenizer();
  std::vector<Token> tokens =
      tokenizer.encode(text, {.add_special = true, .parse_special = options.parse_special});
  const uint64_t size = std::max(options.chunk_tokens, 1u);
  uint64_t chunks = tokens.size() / size;
  if (chunks == 0) {
    fail(Code::Argument, "the text has {} tokens, a part {}: give a longer text or shorter parts",
         tokens.size(), size);
  }
  if (options.max_chunks > 0) chunks = std::min(chunks, options.max_chunks);
  ImportanceCollector collector(model, options.with_output);
  for (uint64_t chunk = 0; chunk < chunks; ++chunk) {
    const std::span<Token> part = std::span(tokens).subspan(chunk * size, size);
    if (tokenizer.adds_bos() && tokenizer.bos()) part[0] = *tokenizer.bos();
    for (uint64_t past = 0; past < size;) {
      const auto count =
          static_cast<uint32_t>(std::min<uint64_t>(collector.step_tokens(), size - past));
      collector.run(part, past, count);
      past += count;
      const double done = static_cast<double>(chunk * size + past);
      if (options.progress && !options.progress(done / static_cast<double>(chunks * size))) {
        fail(Code::Cancelled, "computing importance was cancelled");
      }
    }
  }
  ImportanceMatrix matrix;
  matrix.weights = collector.results();
  if (!options.dataset.empty()) matrix.datasets.push_back(options.dataset);
  matrix.chunks = static_cast<uint32_t>(std::min<uint64_t>(chunks, UINT32_MAX));
  matrix.chunk_tokens = static_cast<uint32_t>(size);
  return matrix;
}

}  // namespace tenon
