// A loaded model, the sources of its bytes, and its contents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tenon/error.hpp>
#include <tenon/options.hpp>
#include <tenon/progress.hpp>
#include <tenon/tokenizer.hpp>
#include <utility>
#include <vector>

namespace tenon {
inline namespace v1 {

/// Bytes of a model file. Memory must outlive the model.
class Source {
 public:
  static Source path(std::string path) {
    Source source(TENON_SOURCE_PATH, std::move(path));
    return source;
  }
  /// Bytes [offset, offset + size) of an open file, which may be closed afterwards; size 0: to its
  /// end. name: used in messages.
  static Source descriptor(int fd, uint64_t offset = 0, uint64_t size = 0,
                           std::string name = "descriptor") {
    Source source(TENON_SOURCE_FD, std::move(name));
    source.raw_.fd = fd;
    source.raw_.offset = offset;
    source.raw_.size = size;
    return source;
  }
  static Source memory(std::span<const std::byte> bytes, std::string name = "memory") {
    Source source(TENON_SOURCE_MEMORY, std::move(name));
    source.raw_.data = bytes.data();
    source.raw_.size = bytes.size();
    return source;
  }

  /// Valid while this object stays in place.
  [[nodiscard]] tenon_source raw() const noexcept {
    tenon_source raw = raw_;
    raw.name = name_.data();
    raw.name_length = name_.size();
    return raw;
  }

 private:
  Source(int32_t kind, std::string name) : name_(std::move(name)) {
    raw_.struct_size = sizeof raw_;
    raw_.kind = kind;
  }
  std::string name_;
  tenon_source raw_{};
};

/// A metadata value, or one element of an array; `text` lives as long as the model.
struct MetadataValue {
  int32_t type = 0;  ///< TENON_VALUE_*
  int64_t integer = 0;
  double number = 0;
  std::string_view text{};
};

/// An immutable model: any number of threads and sessions may use it. Move-only.
class Model {
 public:
  /// Loads a file; for a split model name the first part.
  explicit Model(const std::string& path, const ModelOptions& options = {})
      : Model(Source::path(path), options) {}
  explicit Model(const Source& source, const ModelOptions& options = {})
      : Model(std::span<const Source>(&source, 1), options) {}
  /// Loads all parts of a split model, in any order.
  explicit Model(std::span<const Source> sources, const ModelOptions& options = {}) {
    std::vector<tenon_source> raw;
    for (const Source& source : sources) raw.push_back(source.raw());
    std::vector<const tenon_source*> pointers;
    for (const tenon_source& source : raw) pointers.push_back(&source);
    detail::Progress progress{options.progress};
    const detail::LoadingProgress loading(progress);
    tenon_callbacks callbacks{};
    callbacks.struct_size = sizeof callbacks;
    if (options.progress) callbacks.progress = &detail::LoadingProgress::call;
    if (options.log != nullptr) {
      callbacks.user = const_cast<Log*>(options.log);  // only handed back
      callbacks.log_level = options.log->level;
      callbacks.log = &detail::write_log;
    }
    tenon_model* loaded = nullptr;
    const tenon_status status = tenon_model_load(pointers.data(), pointers.size(),
                                                 Options(options).get(), &callbacks, &loaded);
    progress.check(status);
    handle_.reset(loaded);
  }

  [[nodiscard]] Tokenizer tokenizer() const {
    const tenon_tokenizer* raw = nullptr;
    check(tenon_model_tokenizer(get(), &raw));
    return Tokenizer(raw);
  }

  /// Architecture, sizes, chat template. Texts live as long as the model.
  [[nodiscard]] tenon_model_info info() const {
    tenon_model_info info{};
    info.struct_size = sizeof info;
    check(tenon_model_get_info(get(), &info));
    return info;
  }
  /// Memory of the model with one session of `context` positions; 0: a session's default.
  [[nodiscard]] tenon_memory memory(uint64_t context = 0) const {
    tenon_memory memory{};
    memory.struct_size = sizeof memory;
    check(tenon_model_memory(get(), context, &memory));
    return memory;
  }

  /// How the model runs on this machine, and the figures its speed is measured against.
  [[nodiscard]] tenon_execution execution() const {
    tenon_execution execution{};
    execution.struct_size = sizeof execution;
    check(tenon_model_execution(get(), &execution));
    return execution;
  }

  [[nodiscard]] size_t num_metadata() const noexcept { return tenon_model_metadata_count(get()); }
  [[nodiscard]] tenon_metadata metadata(size_t index) const {
    tenon_metadata metadata{};
    metadata.struct_size = sizeof metadata;
    check(tenon_model_metadata(get(), index, &metadata));
    return metadata;
  }
  [[nodiscard]] MetadataValue metadata_value(size_t index, uint64_t element = 0) const {
    tenon_value value{};
    value.struct_size = sizeof value;
    check(tenon_model_metadata_value(get(), index, element, &value));
    return {value.type, value.integer, value.number, {value.text, value.length}};
  }
  /// Throws Argument if the model has no such key.
  [[nodiscard]] MetadataValue metadata_value(std::string_view key, uint64_t element = 0) const {
    size_t index = 0;
    check(tenon_model_find_metadata(get(), key.data(), key.size(), &index));
    return metadata_value(index, element);
  }

  /// The token of a chat template's text where a picture goes; with the option "projector" only.
  [[nodiscard]] Token picture_place() const {
    Token token = TENON_NO_TOKEN;
    check(tenon_model_picture_place(get(), &token));
    return token;
  }
  /// Tokens that a picture of this size takes in a text.
  [[nodiscard]] uint64_t picture_tokens(uint64_t width, uint64_t height) const {
    uint64_t tokens = 0;
    check(tenon_model_picture_tokens(get(), width, height, &tokens));
    return tokens;
  }
  [[nodiscard]] size_t num_tensors() const noexcept { return tenon_model_tensor_count(get()); }
  [[nodiscard]] tenon_tensor tensor(size_t index) const {
    tenon_tensor tensor{};
    tensor.struct_size = sizeof tensor;
    check(tenon_model_tensor(get(), index, &tensor));
    return tensor;
  }

  [[nodiscard]] const tenon_model* get() const noexcept { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(tenon_model* raw) const noexcept { tenon_model_destroy(raw); }
  };
  std::unique_ptr<tenon_model, Destroy> handle_;
};

}  // namespace v1
}  // namespace tenon
