// Adapters (LoRA) that sessions of a model take, each its own.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <tenon/error.hpp>
#include <tenon/model.hpp>

namespace tenon {
inline namespace v1 {

struct ScaledAdapter;

/// A folder of PEFT or a GGUF file, read for a model that was opened with adapter_slots. Immutable,
/// move-only; any thread. tenon.h, section 18.
class Adapter {
 public:
  /// Throws State, Format, Unsupported, Limit, Io.
  [[nodiscard]] static Adapter open(const Model& model, const std::string& path) {
    tenon_adapter* raw = nullptr;
    check(tenon_adapter_open(model.get(), path.c_str(), &raw));
    return Adapter(raw);
  }

  /// Takes a handle of the C interface over.
  [[nodiscard]] static Adapter adopt(tenon_adapter* raw) noexcept { return Adapter(raw); }

  /// The sum of one or more adapters of a model, which takes one slot. Throws Argument, Limit.
  [[nodiscard]] static Adapter sum(std::span<const ScaledAdapter> adapters);

  [[nodiscard]] const tenon_adapter* get() const noexcept { return handle_.get(); }

 private:
  explicit Adapter(tenon_adapter* raw) noexcept : handle_(raw) {}
  struct Destroy {
    void operator()(tenon_adapter* raw) const noexcept { tenon_adapter_destroy(raw); }
  };
  std::unique_ptr<tenon_adapter, Destroy> handle_;
};

/// An adapter of a sum.
struct ScaledAdapter {
  const Adapter* adapter = nullptr;
  float scale = 1.0f;  ///< 0: none of it
};

/// Writes an adapter as a GGUF file. `model` is the path of the model that it was trained for.
/// tenon_adapter_convert. Throws Unsupported, Format, Io.
inline void convert_adapter(const std::string& path, const std::string& model,
                            const std::string& target) {
  check(tenon_adapter_convert(path.c_str(), model.c_str(), target.c_str()));
}

inline Adapter Adapter::sum(std::span<const ScaledAdapter> adapters) {
  if (adapters.empty()) throw Error(Code::Argument, "a sum of no adapters");
  const auto add = [](const tenon_adapter* one, double scale, const tenon_adapter* other,
                      double other_scale) {
    tenon_adapter* raw = nullptr;
    check(tenon_adapter_sum(one, scale, other, other_scale, &raw));
    return Adapter(raw);
  };
  const ScaledAdapter& first = adapters.front();
  if (adapters.size() == 1) return add(first.adapter->get(), first.scale, first.adapter->get(), 0);
  Adapter total =
      add(first.adapter->get(), first.scale, adapters[1].adapter->get(), adapters[1].scale);
  for (const ScaledAdapter& one : adapters.subspan(2)) {
    total = add(total.get(), 1, one.adapter->get(), one.scale);
  }
  return total;
}

}  // namespace v1
}  // namespace tenon
