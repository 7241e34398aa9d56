// Adapters (LoRA) that sessions of a model take, each its own.
#pragma once

#include <memory>
#include <string>
#include <tenon/error.hpp>
#include <tenon/model.hpp>

namespace tenon {
inline namespace v1 {

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

}  // namespace v1
}  // namespace tenon
