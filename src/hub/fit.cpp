#include "hub/fit.h"

#include <tenon/tenon.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon::hub {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{1} << 20;
constexpr size_t kMaxBlocks = 256;

/// The beginning of a remote file for tenon_model_load: blocks, fetched when they are read.
class RemoteFileReader {
 public:
  RemoteFileReader(const ReadPart& read, size_t file, uint64_t size)
      : read_(&read), file_(file), size_(size) {}

  static int64_t read(void* user, uint64_t offset, void* buffer, uint64_t size) {
    auto& self = *static_cast<RemoteFileReader*>(user);
    try {
      return self.copy(offset, static_cast<char*>(buffer), size);
    } catch (...) {
      self.failure = std::current_exception();
      return -1;
    }
  }

  [[nodiscard]] uint64_t size() const { return size_; }
  std::exception_ptr failure;

 private:
  int64_t copy(uint64_t offset, char* buffer, uint64_t size) {
    if (offset >= size_) return 0;
    const uint64_t number = offset / kBlockBytes;
    auto found = blocks_.find(number);
    if (found == blocks_.end()) {
      if (blocks_.size() == kMaxBlocks) {
        fail(Code::Limit, "the header of the file is longer than {} MiB", kMaxBlocks);
      }
      const uint64_t begin = number * kBlockBytes;
      found = blocks_.emplace(number, (*read_)(file_, begin, std::min(kBlockBytes, size_ - begin)))
                  .first;
    }
    const uint64_t inside = offset - number * kBlockBytes;
    if (inside >= found->second.size()) return -1;
    const uint64_t count = std::min<uint64_t>(size, found->second.size() - inside);
    std::memcpy(buffer, found->second.data() + inside, static_cast<size_t>(count));
    return static_cast<int64_t>(count);
  }

  const ReadPart* read_;
  size_t file_;
  uint64_t size_;
  std::map<uint64_t, std::string> blocks_;
};

struct Planned {
  bool fits = false;
  uint64_t total_bytes = 0;
  uint64_t memory_bytes = 0;
  uint64_t context = 0;
};

using ModelHandle = std::unique_ptr<tenon_model, decltype(&tenon_model_destroy)>;
using OptionsHandle = std::unique_ptr<tenon_options, decltype(&tenon_options_destroy)>;

/// The plan of a model; empty, with the reason, if this version has none for it.
std::optional<Planned> plan_of(const Settings& settings, const std::vector<NamedFile>& files,
                               const GgufModel& gguf, const ReadPart& read, std::string& reason) {
  std::vector<std::unique_ptr<RemoteFileReader>> readers;
  std::vector<tenon_source> sources;
  for (const size_t place : gguf.files) {
    readers.push_back(std::make_unique<RemoteFileReader>(read, place, files[place].size_bytes));
    tenon_source source{};
    source.struct_size = sizeof source;
    source.kind = TENON_SOURCE_READER;
    source.name = files[place].path.c_str();
    source.name_length = files[place].path.size();
    source.size = readers.back()->size();
    source.read = &RemoteFileReader::read;
    source.user = readers.back().get();
    sources.push_back(source);
  }
  std::vector<const tenon_source*> pointers;
  for (const tenon_source& source : sources) pointers.push_back(&source);
  tenon_options* made = nullptr;
  if (tenon_options_create(&made) != TENON_OK) return std::nullopt;
  const OptionsHandle options(made, &tenon_options_destroy);
  tenon_options_set_bool(options.get(), "inspect", 1);
  tenon_model* opened = nullptr;
  const tenon_status status =
      tenon_model_load(pointers.data(), pointers.size(), options.get(), nullptr, &opened);
  for (const auto& reader : readers) {
    if (reader->failure != nullptr) std::rethrow_exception(reader->failure);
  }
  if (status != TENON_OK) {
    reason = tenon_last_error();
    return std::nullopt;
  }
  const ModelHandle model(opened, &tenon_model_destroy);
  tenon_hardware hardware{};
  hardware.struct_size = sizeof hardware;
  tenon_plan plan{};
  plan.struct_size = sizeof plan;
  if (tenon_measure_hardware(model.get(), 0, &hardware) != TENON_OK) {
    reason = tenon_last_error();
    return std::nullopt;
  }
  if (settings.memory_bytes != 0) hardware.memory_bytes = settings.memory_bytes;
  if (tenon_model_plan(model.get(), settings.context, 1, &hardware, &plan) != TENON_OK) {
    reason = tenon_last_error();
    return std::nullopt;
  }
  return Planned{plan.fits != 0, plan.total_bytes, hardware.memory_bytes, plan.context};
}

std::string label_of(const GgufModel& model) {
  return printable(model.quantisation.empty() ? model.path : model.quantisation, 80);
}

bool is_wide(const GgufModel& model) {
  return model.quantisation.ends_with("16") || model.quantisation.ends_with("32");
}

}  // namespace

std::string size_text(uint64_t bytes) {
  const double value = static_cast<double>(bytes);
  if (bytes < (uint64_t{1} << 20)) return fmt::format("{:.1f} KiB", value / 1024);
  if (bytes < (uint64_t{1} << 30)) return fmt::format("{:.1f} MiB", value / (1 << 20));
  return fmt::format("{:.1f} GiB", value / (1 << 30));
}

Decision decide_by_plan(const Settings& settings, const std::string& what,
                        const std::vector<NamedFile>& files, const std::vector<GgufModel>& models,
                        const ReadPart& read) {
  std::vector<size_t> order;
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i].num_missing == 0) order.push_back(i);
  }
  if (order.empty()) fail(Code::Format, "{}: parts of each of its models are missing", what);
  const bool has_narrow = std::ranges::any_of(order, [&](size_t i) { return !is_wide(models[i]); });
  if (has_narrow) std::erase_if(order, [&](size_t i) { return is_wide(models[i]); });
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](size_t i) { return models[i].size_bytes; });
  const uint64_t memory =
      settings.memory_bytes != 0 ? settings.memory_bytes : settings.system->available_memory();
  std::string too_large;
  std::string unplanned;
  uint64_t least = 0;
  for (const size_t i : order) {
    const GgufModel& model = models[i];
    const bool is_hopeless = model.size_bytes > memory;
    std::optional<Planned> plan;
    if (!is_hopeless && unplanned.empty()) {
      try {
        plan = plan_of(settings, files, model, read, unplanned);
      } catch (const Error& error) {
        if (error.code() != Code::Unsupported && error.code() != Code::Limit) throw;
        unplanned = error.what();
      }
    }
    // Without a plan: the file, an eighth for what is computed, and a half GiB.
    const uint64_t rough = model.size_bytes + model.size_bytes / 8 + (uint64_t{512} << 20);
    const uint64_t total = plan ? plan->total_bytes : rough;
    if (!is_hopeless && (plan ? plan->fits : rough <= memory)) {
      std::string note = label_of(model) + ": the largest of " + std::to_string(order.size()) +
                         " quantisations that fits, by its plan " + size_text(total) + " of " +
                         size_text(plan ? plan->memory_bytes : memory);
      if (plan) note += " with " + std::to_string(plan->context) + " positions";
      if (!plan) note += " (a guess from its size: " + unplanned + ")";
      if (!too_large.empty()) note += "; too large: " + too_large;
      return {i, note};
    }
    too_large += (too_large.empty() ? "" : ", ") + label_of(model);
    least = total;
  }
  fail(Code::Limit,
       "{}: none of its quantisations fits into {}: the smallest, {}, takes about {}; name one "
       "(\"{}:{}\") to get it all the same",
       what, size_text(memory), label_of(models[order.back()]), size_text(least), what,
       label_of(models[order.back()]));
}

}  // namespace tenon::hub
