#include <span>

#include "abi/ngram_hash.h"
#include "program/op_rules.h"
#include "program/operations.h"

namespace tenon {
namespace {

using namespace op_rules;

std::span<const int64_t> integers_of(const OpView& view, uint32_t input) {
  const tenon_slot& slot = *view.inputs[input];
  require(slot.type == TENON_TYPE_I64, view, fmt::format("\"{}\" is not i64", slot.name));
  return {static_cast<const int64_t*>(slot.data), slot.rows * slot.columns};
}

uint64_t ngram_rows_columns(const OpView& view) {
  const tenon_slot& table = *view.inputs[0];
  const tenon_slot& heads = *view.inputs[2];
  const std::span<const int64_t> multipliers = integers_of(view, 1);
  require(view.inputs[1]->rows == 1 && multipliers.size() <= backends::kMaxNgram, view,
          fmt::format("multipliers [{}, {}], not [1, 1 to {}]", view.inputs[1]->rows,
                      view.inputs[1]->columns, backends::kMaxNgram));
  require(heads.columns == backends::kNgramHeadNumbers, view,
          fmt::format("heads of {} numbers, not {}", heads.columns, backends::kNgramHeadNumbers));
  require(backends::are_ngram_heads(integers_of(view, 2), multipliers.size(), table.rows), view,
          fmt::format("a head looks back beyond {} tokens or leaves the {} rows of \"{}\"",
                      multipliers.size(), table.rows, table.name));
  require(view.op.params.ngram_rows.end >= 0, view, "the end of texts is no token");
  require(view.inputs[3] == nullptr || (view.inputs[3]->rows == 1 && !integers_of(view, 3).empty()),
          view, "the map is not [1, v]");
  return heads.rows * table.columns;
}

/// Steps provide the tokens that the operation looks back at.
void connect_ngram_rows(const OpView& view, ProgramFacts& facts) {
  const uint64_t back = view.inputs[1]->columns - 1;
  require(back <= facts.token_history, view,
          fmt::format("looks back {} tokens, steps bring {}", back, facts.token_history));
}

}  // namespace

constexpr OpRule op_table::ngram_rows{
    .inputs = "WCCc", .columns = ngram_rows_columns, .connect = connect_ngram_rows};

namespace op {

Slot ngram_rows(ProgramBuilder& builder, Slot table, const NgramLookup& ngrams) {
  std::vector<int64_t> heads;
  for (const auto& [order, offset, size] : ngrams.heads) {
    const auto numbers = std::array<uint64_t, 3>{order, offset, size};
    heads.insert(heads.end(), numbers.begin(), numbers.end());
  }
  tenon_op op = new_op(TENON_OP_NGRAM_ROWS);
  op.params.ngram_rows = {ngrams.end};
  const std::vector<int64_t>& factors = ngrams.multipliers;
  const Slot multipliers = builder.integers("multipliers", factors, factors.size());
  const Slot map = ngrams.map ? builder.shared_integers("token map", ngrams.map) : kNoSlot;
  const Slot rows = builder.add(op, {table, multipliers, builder.integers("heads", heads, 3), map});
  builder.look_back(static_cast<uint32_t>(factors.size() - 1));
  return rows;
}

}  // namespace op
}  // namespace tenon
