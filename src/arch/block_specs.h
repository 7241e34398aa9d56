// Specifications of rare blocks, found by their type. The header of a block declares its own, so
// that neither ModelSpec nor BuildContext knows it.
#pragma once

#include <any>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"
#include "program/program.h"

namespace tenon {

class BuildContext;

/// Functions of a type of specification; null if the type lacks them. BlockSpec says which.
struct BlockFunctions {
  void (*add_caches)(const std::any& spec, BuildContext& context, uint32_t layer) = nullptr;
  Slot (*build)(const std::any& spec, BuildContext& context, uint32_t layer, Slot x) = nullptr;
  bool (*refers)(const std::any& spec) = nullptr;
};

template <typename Spec>
constexpr BlockFunctions make_block_functions() {
  BlockFunctions made;
  if constexpr (requires(const Spec& spec, BuildContext& context) {
                  spec.add_caches(context, 0);
                }) {
    made.add_caches = [](const std::any& spec, BuildContext& context, uint32_t layer) {
      std::any_cast<Spec>(&spec)->add_caches(context, layer);
    };
  }
  if constexpr (requires(const Spec& spec, BuildContext& context) {
                  spec.build(context, 0, kNoSlot);
                }) {
    made.build = [](const std::any& spec, BuildContext& context, uint32_t layer, Slot x) {
      return std::any_cast<Spec>(&spec)->build(context, layer, x);
    };
  }
  if constexpr (requires(const Spec& spec) { spec.refers(); }) {
    made.refers = [](const std::any& spec) { return std::any_cast<Spec>(&spec)->refers(); };
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
  template <typename Spec>
  explicit BlockSpec(Spec spec) : spec_(std::move(spec)), functions_(&kBlockFunctions<Spec>) {}

  /// The specification; null if it has another type.
  template <typename Spec>
  [[nodiscard]] const Spec* as() const {
    return std::any_cast<Spec>(&spec_);
  }
  template <typename Spec>
  [[nodiscard]] Spec* as() {
    return std::any_cast<Spec>(&spec_);
  }

  [[nodiscard]] bool is_mixer() const { return functions_->build != nullptr; }
  /// For mixers only.
  Slot build(BuildContext& context, uint32_t layer, Slot x) const {
    return functions_->build(spec_, context, layer, x);
  }
  void add_caches(BuildContext& context, uint32_t layer) const {
    if (functions_->add_caches != nullptr) functions_->add_caches(spec_, context, layer);
  }
  [[nodiscard]] bool refers() const {
    return functions_->refers != nullptr && functions_->refers(spec_);
  }

 private:
  std::any spec_;
  const BlockFunctions* functions_;
};

/// Specifications of different types, in the order in which they were added.
///
///   layer.specs.set(ShortConvSpec{.kernel = 3});
///   const uint32_t taps = layer.specs.get<ShortConvSpec>().kernel;
class BlockSpecs {
 public:
  /// Adds a specification, or replaces that of its type.
  template <typename Spec>
  Spec& set(Spec spec) {
    if (Spec* known = find<Spec>()) return *known = std::move(spec);
    return *specs_.emplace_back(std::move(spec)).template as<Spec>();
  }
  /// The specification of this type; null if there is none.
  template <typename Spec>
  [[nodiscard]] const Spec* find() const {
    for (const BlockSpec& one : specs_) {
      if (const Spec* spec = one.as<Spec>()) return spec;
    }
    return nullptr;
  }
  template <typename Spec>
  [[nodiscard]] Spec* find() {
    return const_cast<Spec*>(std::as_const(*this).find<Spec>());
  }
  /// Like find(), but throws Internal if there is none.
  template <typename Spec>
  [[nodiscard]] const Spec& get() const {
    const Spec* spec = find<Spec>();
    if (spec == nullptr) fail(Code::Internal, "a block's specification is missing");
    return *spec;
  }
  template <typename Spec>
  [[nodiscard]] Spec& get() {
    return const_cast<Spec&>(std::as_const(*this).get<Spec>());
  }

  [[nodiscard]] bool has_mixer() const {
    bool has = false;
    for (const BlockSpec& one : specs_) has = has || one.is_mixer();
    return has;
  }
  [[nodiscard]] bool refers() const {
    bool refers = false;
    for (const BlockSpec& one : specs_) refers = refers || one.refers();
    return refers;
  }
  [[nodiscard]] auto begin() const { return specs_.begin(); }
  [[nodiscard]] auto end() const { return specs_.end(); }

 private:
  std::vector<BlockSpec> specs_;
};

}  // namespace tenon
