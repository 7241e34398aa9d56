#include "arch/adapter/adapter_places.h"

#include <fmt/format.h>

#include <charconv>
#include <numeric>

#include "arch/architectures.h"
#include "arch/folder/folder_model.h"
#include "arch/folder/folder_tensors.h"
#include "arch/keys/keys.h"
#include "base/error.h"
#include "base/utf8.h"

namespace tenon {
namespace {

uint64_t rows_of_tensor(const TensorInfo& tensor) {
  return tensor.rank == 1 ? tensor.num_values() : tensor.num_values() / tensor.row_values();
}

/// Takes the number at the beginning of a text; false without one.
bool take_number(std::string_view& text, uint64_t& number) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end.ptr - text.data()));
  return true;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

AdapterPlaces::AdapterPlaces(const ModelFile& model)
    : model_(model), name_(model.metadata().get<std::string_view>("general.architecture")) {
  check_architecture(model);
  for (const NamedArchitecture& one : architectures()) {
    if (one.name == name_) form_ = one.architecture->folder;
  }
  is_folder_ = model.metadata().get_or<bool>(name_ + ".rope.halves", false);
  num_experts_ = model.metadata().get_or<uint64_t>(name_ + ".expert_count", uint64_t{0});
  if (num_experts_ > SpecLimits::kExperts) {
    fail(Code::Format, "{}: {}.expert_count is {}; the limit is {}", model.name(), name_,
         num_experts_, SpecLimits::kExperts);
  }
  if (form_ == nullptr || !form_->reorders_heads) return;
  heads_ = HeadRows(read_model_spec(model));
}

bool AdapterPlaces::is_tied() const {
  return model_.find("output.weight") == nullptr && model_.find("token_embd.weight") != nullptr;
}

/// Rows of a tensor of the file; of one expert where the name has its number, whether its matrix is
/// a tensor or part of a stack. No tensor if there is none.
AdapterPlaces::Range AdapterPlaces::locate(std::string_view name) const {
  if (const TensorInfo* tensor = model_.find(name)) return {tensor, 0, rows_of_tensor(*tensor)};
  if (name == "output.weight") {
    const TensorInfo* table = model_.find("token_embd.weight");
    return table == nullptr ? Range{} : Range{table, 0, rows_of_tensor(*table)};
  }
  // blk.N.ffn_gate.E.weight
  std::string_view rest = name;
  if (!take_word(rest, "blk.")) return {};
  uint64_t layer = 0;
  uint64_t expert = 0;
  if (!take_number(rest, layer) || !take_word(rest, ".ffn_")) return {};
  const size_t dot = rest.find('.');
  if (dot == rest.npos) return {};
  const std::string_view kind = rest.substr(0, dot);
  rest.remove_prefix(dot + 1);
  if (!take_number(rest, expert) || rest != ".weight" || expert >= num_experts_) return {};
  const auto part_of = [&](const std::string& stack, uint64_t parts, uint64_t part) -> Range {
    const TensorInfo* tensor = model_.find(stack);
    if (tensor == nullptr || tensor->rank < 3) return {};
    const uint64_t rows = rows_of_tensor(*tensor);
    if (rows % (num_experts_ * parts) != 0) return {};
    const uint64_t each = rows / num_experts_ / parts;
    return {tensor, (expert * parts + part) * each, each};
  };
  const Range own = part_of(fmt::format("blk.{}.ffn_{}_exps.weight", layer, kind), 1, 0);
  if (own.tensor != nullptr || (kind != "gate" && kind != "up")) return own;
  return part_of(fmt::format("blk.{}.ffn_gate_up_exps.weight", layer), 2, kind == "up" ? 1 : 0);
}

/// Changes the order of rows (HeadRows).
///   to_file  from the order of folders to that of GGUF files, else back
void AdapterPlaces::reorder(AdapterPlace& place, bool to_file) const {
  const uint64_t per_head = heads_.per_head(model_.name(), place.name, place.rows.size());
  if (per_head == 0) return;
  const std::vector<uint64_t> before = place.rows;
  for (uint64_t row = 0; row < before.size(); ++row) {
    const uint64_t in_folder = HeadRows::in_folder(row, per_head);
    if (to_file) {
      place.rows[row] = before[in_folder];
    } else {
      place.rows[in_folder] = before[row];
    }
  }
}

std::vector<std::string> AdapterPlaces::tables() const {
  std::vector<std::string> tables;
  for (const FolderForm* form = form_; form != nullptr; form = form->next) {
    tables.push_back(tensor_table(*form));
  }
  if (tables.empty()) {
    fail(Code::Unsupported,
         "{}: names of transformers are not known for \"{}\": convert the adapter to GGUF, as with "
         "llama.cpp's convert_lora_to_gguf.py",
         model_.name(), name_);
  }
  return tables;
}

std::vector<AdapterPlace> AdapterPlaces::of_module(std::string_view module, uint64_t rows,
                                                   std::string_view suffix) const {
  std::string missing;
  for (const std::string& table : tables()) {
    const std::optional<std::vector<NamedTensor>> names = names_of(table, stem_of(module), suffix);
    if (!names) continue;
    std::vector<AdapterPlace> places;
    for (const NamedTensor& one : *names) {
      const Range range = locate(one.name);
      if (range.tensor == nullptr) {
        missing = one.name;
        break;
      }
      if (one.is_reshaped) {
        fail(Code::Unsupported,
             "{}: an adapter of {} is not computed: its rows are stored in "
             "another way",
             model_.name(), quoted(module));
      }
      const uint64_t count = one.parts == 1 ? rows : rows / one.parts;
      if (rows % one.parts != 0 || count != range.num_rows) {
        fail(Code::Format, "{}: tensor {} has {} rows, but the adapter's {} has {}", model_.name(),
             quoted(one.name), range.num_rows * one.parts, quoted(module), rows);
      }
      AdapterPlace place = range.place(one.name);
      place.adds_one = one.adds_one;
      place.takes_exp = one.takes_exp;
      place.rows.resize(count);
      for (uint64_t i = 0; i < count; ++i) place.rows[i] = one.row(i, count);
      if (!is_folder_) reorder(place, true);
      places.push_back(std::move(place));
    }
    if (places.size() == names->size()) return places;
  }
  if (!missing.empty()) {
    fail(Code::Unsupported, "{}: has no tensor {}, which the adapter's {} changes", model_.name(),
         quoted(missing), quoted(module));
  }
  fail(Code::Unsupported, "{}: \"{}\" has no module {}, which the adapter changes", model_.name(),
       name_, quoted(module));
}

std::vector<AdapterPlace> AdapterPlaces::of_expert(std::string_view module,
                                                   std::string_view parameter, uint64_t expert,
                                                   uint64_t rows) const {
  const std::string stem = fmt::format("{}.{}", stem_of(module), parameter);
  for (const std::string& table : tables()) {
    std::optional<std::vector<NamedTensor>> names = names_of(table, stem, "");
    if (!names || names->empty()) continue;
    // Files may have a matrix of its own for each expert, and for gate and up.
    std::string_view rest = names->front().name;
    uint64_t layer = 0;
    if (!take_word(rest, "blk.") || !take_number(rest, layer)) continue;
    if (rest == ".ffn_gate_up_exps.weight") {
      NamedTensor gate;
      gate.name = fmt::format("blk.{}.ffn_gate.{}.weight", layer, expert);
      gate.parts = 2;
      NamedTensor up = gate;
      up.name = fmt::format("blk.{}.ffn_up.{}.weight", layer, expert);
      up.part = 1;
      *names = {gate, up};
    } else {
      for (NamedTensor& one : *names) {
        for (const char* kind : {"gate", "up", "down"}) {
          if (one.name != fmt::format("blk.{}.ffn_{}_exps.weight", layer, kind)) continue;
          one.name = fmt::format("blk.{}.ffn_{}.{}.weight", layer, kind, expert);
          break;
        }
      }
    }
    std::vector<AdapterPlace> places;
    for (const NamedTensor& one : *names) {
      const Range range = locate(one.name);
      if (range.tensor == nullptr) break;
      if (rows % one.parts != 0 || rows / one.parts != range.num_rows) {
        fail(Code::Format, "{}: {} has {} rows, but the adapter's {} has {}", model_.name(),
             quoted(one.name), range.num_rows * one.parts, quoted(stem), rows);
      }
      AdapterPlace place = range.place(one.name);
      for (uint64_t i = 0; i < range.num_rows; ++i) {
        place.rows.push_back(one.row(i, range.num_rows));
      }
      places.push_back(std::move(place));
    }
    if (places.size() == names->size()) return places;
  }
  fail(Code::Unsupported, "{}: has no experts {}, which the adapter changes", model_.name(),
       quoted(stem));
}

AdapterPlace AdapterPlaces::of_tensor(std::string_view name, uint64_t rows) const {
  const Range range = locate(name);
  if (range.tensor == nullptr) {
    fail(Code::Unsupported, "{}: has no tensor {}, which the adapter changes", model_.name(),
         quoted(name));
  }
  if (range.num_rows != rows) {
    fail(Code::Format, "{}: tensor {} has {} rows, but the adapter's has {}", model_.name(),
         quoted(name), range.num_rows, rows);
  }
  AdapterPlace place = range.place(name);
  place.rows.resize(rows);
  std::iota(place.rows.begin(), place.rows.end(), uint64_t{0});
  if (is_folder_) reorder(place, false);
  return place;
}

}  // namespace tenon
