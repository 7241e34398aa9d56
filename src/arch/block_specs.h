// Specifications of rare blocks, found by their type. The header of a block declares its own, so
// that neither ModelSpec nor BuildContext knows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "program/program.h"

namespace tenon {

class BuildContext;

/// Functions for one type of specification. The address of this structure identifies the type. A
/// function is null if the type lacks that member; BlockSpec lists the members.
struct BlockFunctions {
  size_t size;                                   ///< bytes of a specification
  void (*copy)(const void* from, void* memory);  ///< null copies the bytes
  void (*destroy)(void* spec);                   ///< null if there is nothing to do
  void (*add_caches)(const void* spec, BuildContext& context, uint32_t layer);
  Slot (*build)(const void* spec, BuildContext& context, uint32_t layer, Slot x);
  bool (*refers)(const void* spec);
};

template <typename Spec>
constexpr BlockFunctions make_block_functions() {
  static_assert(alignof(Spec) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  BlockFunctions made{};
  made.size = sizeof(Spec);
  if constexpr (!std::is_trivially_copyable_v<Spec>) {
    made.copy = [](const void* from, void* memory) {
      new (memory) Spec(*static_cast<const Spec*>(from));
    };
    made.destroy = [](void* spec) { static_cast<Spec*>(spec)->~Spec(); };
  }
  if constexpr (requires(const Spec& spec, BuildContext& context) {
                  spec.add_caches(context, 0);
                }) {
    made.add_caches = [](const void* spec, BuildContext& context, uint32_t layer) {
      static_cast<const Spec*>(spec)->add_caches(context, layer);
    };
  } else {
    static_assert(
        !requires { &Spec::add_caches; }, "not callable on a const Spec");
  }
  if constexpr (requires(const Spec& spec, BuildContext& context) {
                  spec.build(context, 0, kNoSlot);
                }) {
    made.build = [](const void* spec, BuildContext& context, uint32_t layer, Slot x) {
      return static_cast<const Spec*>(spec)->build(context, layer, x);
    };
  } else {
    static_assert(
        !requires { &Spec::build; }, "not callable on a const Spec");
  }
  if constexpr (requires(const Spec& spec) { spec.refers(); }) {
    made.refers = [](const void* spec) { return static_cast<const Spec*>(spec)->refers(); };
  } else {
    static_assert(
        !requires { &Spec::refers; }, "not callable on a const Spec");
  }
  return made;
}
template <typename Spec>
inline constexpr BlockFunctions kBlockFunctions = make_block_functions<Spec>();

/// A specification of any type. The type may have these members:
///   Slot build(BuildContext& context, uint32_t layer, Slot x) const
///     Makes the block a mixer (blocks/mixer.h).
///   void add_caches(BuildContext& context, uint32_t layer) const
///     Declares caches and state of a layer, by BuildContext::add_cache and add_state.
///   bool refers() const
///     True if the block reads another layer's cache or slots, or depends on the number of layers.
class BlockSpec {
 public:
  /// Copies a specification of this type.
  BlockSpec(const BlockFunctions& type, const void* spec);
  BlockSpec(const BlockSpec& other) : BlockSpec(*other.functions_, other.memory_.get()) {}
  BlockSpec(BlockSpec&& other) noexcept = default;
  BlockSpec& operator=(const BlockSpec& other);
  BlockSpec& operator=(BlockSpec&& other) noexcept;
  ~BlockSpec();

  /// The specification; null if it has another type.
  [[nodiscard]] void* as(const BlockFunctions& type) const {
    return functions_ == &type ? memory_.get() : nullptr;
  }
  [[nodiscard]] bool is_mixer() const { return functions_->build != nullptr; }
  /// For mixers only.
  Slot build(BuildContext& context, uint32_t layer, Slot x) const {
    return functions_->build(memory_.get(), context, layer, x);
  }
  void add_caches(BuildContext& context, uint32_t layer) const {
    if (functions_->add_caches != nullptr) functions_->add_caches(memory_.get(), context, layer);
  }
  [[nodiscard]] bool refers() const {
    return functions_->refers != nullptr && functions_->refers(memory_.get());
  }

 private:
  const BlockFunctions* functions_;
  std::unique_ptr<std::byte[]> memory_;  // [size] of the type, or none in what was moved from
};

/// Specifications of different types, in the order in which they were added.
///
///   layer.specs.set(ShortConvSpec{.kernel = 3});
///   const uint32_t taps = layer.specs.get<ShortConvSpec>().kernel;
class BlockSpecs {
 public:
  BlockSpecs();
  BlockSpecs(const BlockSpecs& other);
  BlockSpecs(BlockSpecs&& other) noexcept;
  BlockSpecs& operator=(const BlockSpecs& other);
  BlockSpecs& operator=(BlockSpecs&& other) noexcept;
  ~BlockSpecs();

  /// Adds a specification, or replaces that of its type.
  template <typename Spec>
  Spec& set(const Spec& spec) {
    return *static_cast<Spec*>(put(kBlockFunctions<Spec>, &spec));
  }
  /// The specification of this type; null if there is none.
  template <typename Spec>
  [[nodiscard]] const Spec* find() const {
    return static_cast<const Spec*>(find(kBlockFunctions<Spec>));
  }
  template <typename Spec>
  [[nodiscard]] Spec* find() {
    return static_cast<Spec*>(find(kBlockFunctions<Spec>));
  }
  /// Like find(), but throws Internal if there is none.
  template <typename Spec>
  [[nodiscard]] const Spec& get() const {
    return *static_cast<const Spec*>(get(kBlockFunctions<Spec>));
  }
  template <typename Spec>
  [[nodiscard]] Spec& get() {
    return *static_cast<Spec*>(get(kBlockFunctions<Spec>));
  }

  [[nodiscard]] bool has_mixer() const;
  /// True if any specification refers() to other layers.
  [[nodiscard]] bool refers() const;
  [[nodiscard]] auto begin() const { return specs_.begin(); }
  [[nodiscard]] auto end() const { return specs_.end(); }

 private:
  void* put(const BlockFunctions& type, const void* spec);
  [[nodiscard]] void* find(const BlockFunctions& type) const;
  [[nodiscard]] void* get(const BlockFunctions& type) const;

  std::vector<BlockSpec> specs_;
};

}  // namespace tenon
