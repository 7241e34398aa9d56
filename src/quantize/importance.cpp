#include "quantize/importance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/source_reader.h"
#include "base/utf8.h"
#include "file/gguf_output.h"
#include "file/open.h"

namespace tenon {
namespace {

constexpr std::string_view kSums = ".in_sum2";
constexpr std::string_view kCounts = ".counts";

/// Share of the mean that every column has at least, so that no error is free: texts are few.
constexpr float kLeastShare = 1e-3f;

void check_values(const std::string& file, const WeightInputs& inputs) {
  const auto is_sum = [](float value) { return std::isfinite(value) && value >= 0; };
  if (inputs.sums.empty() || inputs.counts.empty() ||
      inputs.sums.size() % inputs.counts.size() != 0) {
    fail(Code::Format, "{}: {} has {} sums for {} counts", file, tenon::quoted(inputs.weight),
         inputs.sums.size(), inputs.counts.size());
  }
  if (!std::ranges::all_of(inputs.sums, is_sum) || !std::ranges::all_of(inputs.counts, is_sum)) {
    fail(Code::Format, "{}: {} has a value that is negative or not finite: compute it again", file,
         tenon::quoted(inputs.weight));
  }
}

/// A stack has a matrix for each expert; rows of a matrix share their inputs.
uint64_t num_matrices(const TensorInfo& tensor) {
  if (tensor.rank <= 2) return 1;
  return tensor.num_values() / tensor.row_values() / tensor.shape[tensor.rank - 2];
}

std::vector<float> floats_of(const ModelFile& file, const TensorInfo& tensor) {
  if (tensor.format != Format::F32) {
    fail(Code::Format, "{}: {} is {}, not f32", file.name(), tenon::quoted(tensor.name),
         find_format(tensor.format)->name);
  }
  std::vector<float> values(tensor.num_values());
  file.read(tensor, 0, std::as_writable_bytes(std::span(values)));
  return values;
}

ImportanceMatrix of_gguf(const ModelFile& file) {
  const Metadata& keys = file.metadata();
  const auto chunks = keys.find<uint32_t>("imatrix.chunk_count");
  if (!chunks) {
    fail(Code::Format, "{}: is not an importance matrix: it has no key \"imatrix.chunk_count\"",
         file.name());
  }
  ImportanceMatrix matrix;
  matrix.chunks = *chunks;
  matrix.chunk_tokens = keys.find<uint32_t>("imatrix.chunk_size").value_or(0);
  if (const auto names = keys.find<StringArray>("imatrix.datasets")) {
    for (uint64_t i = 0; i < names->size(); ++i) matrix.datasets.emplace_back((*names)[i]);
  }
  for (const TensorInfo& sums : file.tensors()) {
    if (!sums.name.ends_with(kSums)) continue;
    WeightInputs inputs;
    inputs.weight = sums.name.substr(0, sums.name.size() - kSums.size());
    const TensorInfo* counts = file.find(inputs.weight + std::string(kCounts));
    if (counts == nullptr) {
      fail(Code::Format, "{}: has sums of {} and no counts", file.name(),
           tenon::quoted(inputs.weight));
    }
    inputs.sums = floats_of(file, sums);
    inputs.counts = floats_of(file, *counts);
    check_values(file.name(), inputs);
    matrix.weights.push_back(std::move(inputs));
  }
  if (matrix.weights.empty()) {
    fail(Code::Format, "{}: is an importance matrix without sums", file.name());
  }
  return matrix;
}

/// The form before GGUF: for each weight its name, a number of calls, and means times that number.
ImportanceMatrix of_old_form(const ByteSource& source, const std::shared_ptr<System>& system) {
  constexpr int32_t kMostWeights = 1 << 20;
  constexpr int32_t kMostNameBytes = 4096;
  SourceReader reader(source, system);
  const auto number = [&](const char* what, int32_t least, int64_t most) {
    const auto value = reader.read<int32_t>(what);
    if (value < least || value > most) {
      fail(Code::Format, "{}: is not an importance matrix: {} is {}, not in {}..{}", source.name(),
           what, value, least, most);
    }
    return value;
  };
  const auto text = [&](const char* what) {
    std::string out(static_cast<size_t>(number("the length of a name", 0, kMostNameBytes)), '\0');
    reader.copy(std::as_writable_bytes(std::span(out)), what);
    if (!is_utf8(out)) fail(Code::Format, "{}: {} is not UTF-8", source.name(), what);
    return out;
  };
  ImportanceMatrix matrix;
  std::unordered_set<std::string> names;
  const int32_t count = number("the number of weights", 1, kMostWeights);
  for (int32_t i = 0; i < count; ++i) {
    WeightInputs inputs;
    inputs.weight = text("the name of a weight");
    const int32_t calls = number("the number of calls", 0, INT32_MAX);
    const auto values =
        number("the number of values", 1, static_cast<int64_t>(reader.remaining() / sizeof(float)));
    inputs.sums.resize(static_cast<size_t>(values));
    reader.copy(std::as_writable_bytes(std::span(inputs.sums)), "the values of a weight");
    inputs.counts = {static_cast<float>(std::max(calls, 1))};
    check_values(source.name(), inputs);
    if (!names.insert(inputs.weight).second) {
      fail(Code::Format, "{}: has {} twice", source.name(), tenon::quoted(inputs.weight));
    }
    matrix.weights.push_back(std::move(inputs));
  }
  if (reader.remaining() >= 2 * sizeof(int32_t)) {
    matrix.chunks = static_cast<uint32_t>(number("the number of chunks", 0, INT32_MAX));
    matrix.datasets.push_back(text("the name of the text"));
  }
  return matrix;
}

}  // namespace

void WeightInputs::add(const WeightInputs& other) {
  // An old file has one count for all matrices of a stack.
  const size_t most = std::max(counts.size(), other.counts.size());
  if (counts.size() == 1) counts.resize(most, counts.front());
  if (other.counts.size() == 1 && most > 1) {
    WeightInputs spread = other;
    spread.counts.resize(most, other.counts.front());
    add(spread);
    return;
  }
  if (sums.size() != other.sums.size() || counts.size() != other.counts.size()) {
    fail(Code::Argument, "importance of {}: {} sums and {} counts, in the other matrix {} and {}",
         tenon::quoted(weight), sums.size(), counts.size(), other.sums.size(), other.counts.size());
  }
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += other.sums[i];
  for (size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
}

ImportanceMatrix ImportanceMatrix::read(const std::shared_ptr<System>& system,
                                        const std::string& path) {
  const auto source = ByteSource::from_path(path, system);
  std::array<char, 4> magic{};
  if (source->size() >= magic.size()) {
    source->read(0, std::as_writable_bytes(std::span(magic)));
  }
  if (std::string_view(magic.data(), magic.size()) != "GGUF") return of_old_form(*source, system);
  return of_gguf(*open_model_file(source, {system, {}}));
}

void ImportanceMatrix::write(const std::shared_ptr<System>& system, const std::string& path) const {
  GgufOutput out(system, path);
  out.add("general.type", "imatrix");
  out.add("imatrix.datasets", std::span<const std::string>(datasets));
  out.add("imatrix.chunk_count", chunks);
  out.add("imatrix.chunk_size", chunk_tokens);
  for (const WeightInputs& each : weights) {
    const uint64_t matrices = each.counts.size();
    const std::array<uint64_t, 2> sums{matrices, each.sums.size() / matrices};
    const std::array<uint64_t, 2> counts{matrices, 1};
    out.add_tensor(each.weight + std::string(kSums), sums, Format::F32);
    out.add_tensor(each.weight + std::string(kCounts), counts, Format::F32);
  }
  out.begin();
  for (const WeightInputs& each : weights) {
    out.write(std::as_bytes(std::span(each.sums)));
    out.write(std::as_bytes(std::span(each.counts)));
  }
  out.commit();
}

/// Sums of an old file are per chunk; they become sums over tokens.
void ImportanceMatrix::count_tokens(uint32_t tokens) {
  for (WeightInputs& each : weights) {
    for (float& sum : each.sums) sum *= static_cast<float>(tokens);
    for (float& count : each.counts) count *= static_cast<float>(tokens);
  }
  chunk_tokens = tokens;
}

void ImportanceMatrix::add(const ImportanceMatrix& other) {
  if (chunk_tokens == 0 && other.chunk_tokens != 0) {
    count_tokens(other.chunk_tokens);
  } else if (chunk_tokens != 0 && other.chunk_tokens == 0) {
    ImportanceMatrix counted = other;
    counted.count_tokens(chunk_tokens);
    add(counted);
    return;
  }
  std::unordered_map<std::string_view, size_t> known;
  for (size_t i = 0; i < weights.size(); ++i) known.emplace(weights[i].weight, i);
  std::vector<const WeightInputs*> further;
  for (const WeightInputs& each : other.weights) {
    const auto own = known.find(each.weight);
    if (own == known.end()) {
      further.push_back(&each);
    } else {
      weights[own->second].add(each);
    }
  }
  for (const WeightInputs* each : further) weights.push_back(*each);
  datasets.insert(datasets.end(), other.datasets.begin(), other.datasets.end());
  chunks += other.chunks;
}

const WeightInputs* ImportanceMatrix::find(std::string_view tensor) const {
  const auto named = [&](std::string_view name) -> const WeightInputs* {
    const auto found = std::ranges::find(weights, name, &WeightInputs::weight);
    return found == weights.end() ? nullptr : &*found;
  };
  if (const WeightInputs* own = named(tensor)) return own;
  constexpr std::string_view kGate = ".ffn_gate";
  constexpr std::string_view kUp = ".ffn_up";
  for (const auto& [from, to] : {std::pair(kGate, kUp), std::pair(kUp, kGate)}) {
    const size_t at = tensor.find(from);
    if (at == tensor.npos) continue;
    std::string other(tensor);
    return named(other.replace(at, from.size(), to));
  }
  return nullptr;
}

void ImportanceMatrix::expect_sizes_of(const TensorInfo& tensor) const {
  const WeightInputs* inputs = find(tensor.name);
  if (inputs == nullptr) return;
  const uint64_t columns = tensor.row_values();
  const uint64_t matrices = inputs->sums.size() / columns;
  const uint64_t most = num_matrices(tensor);
  if (inputs->sums.size() % columns != 0 || (matrices != 1 && matrices != most) ||
      (inputs->counts.size() != 1 && inputs->counts.size() != matrices)) {
    fail(Code::Argument, "importance of {}: {} values for {} matrices of {} columns",
         tenon::quoted(tensor.name), inputs->sums.size(), most, columns);
  }
}

std::vector<float> ImportanceMatrix::of(const TensorInfo& tensor) const {
  const WeightInputs* inputs = find(tensor.name);
  if (inputs == nullptr) return {};
  expect_sizes_of(tensor);
  const uint64_t columns = tensor.row_values();
  const uint64_t matrices = inputs->sums.size() / columns;
  const uint64_t most = num_matrices(tensor);
  std::vector<float> shares(most * columns, 1.0f);
  for (uint64_t m = 0; m < most; ++m) {
    const uint64_t from = matrices == 1 ? 0 : m;
    const float* sums = inputs->sums.data() + from * columns;
    // Experts that no text reached stay even.
    if (inputs->counts[inputs->counts.size() == 1 ? 0 : from] == 0) continue;
    double total = 0;
    for (uint64_t i = 0; i < columns; ++i) total += static_cast<double>(sums[i]);
    const double mean = total / static_cast<double>(columns);
    if (!(mean > 0)) continue;
    for (uint64_t i = 0; i < columns; ++i) {
      const auto share = static_cast<float>(static_cast<double>(sums[i]) / mean);
      shares[m * columns + i] = (share + kLeastShare) / (1.0f + kLeastShare);
    }
  }
  return shares;
}

}  // namespace tenon
