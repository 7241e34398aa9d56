// Copies of specifications and the search by type, once for all types.
#include "arch/block_specs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace tenon {

BlockSpec::BlockSpec(const BlockFunctions& type, const void* spec)
    : functions_(&type), memory_(new std::byte[type.size]) {
  if (type.copy == nullptr) {
    std::memcpy(memory_.get(), spec, type.size);
    return;
  }
  type.copy(spec, memory_.get());
}

BlockSpec& BlockSpec::operator=(const BlockSpec& other) { return *this = BlockSpec(other); }

BlockSpec& BlockSpec::operator=(BlockSpec&& other) noexcept {
  std::swap(functions_, other.functions_);
  std::swap(memory_, other.memory_);
  return *this;
}

BlockSpec::~BlockSpec() {
  if (functions_->destroy != nullptr && memory_ != nullptr) functions_->destroy(memory_.get());
}

BlockSpecs::BlockSpecs() = default;
BlockSpecs::BlockSpecs(const BlockSpecs& other) = default;
BlockSpecs::BlockSpecs(BlockSpecs&& other) noexcept = default;
BlockSpecs& BlockSpecs::operator=(const BlockSpecs& other) { return *this = BlockSpecs(other); }
BlockSpecs& BlockSpecs::operator=(BlockSpecs&& other) noexcept = default;
BlockSpecs::~BlockSpecs() = default;

bool BlockSpecs::has_mixer() const {
  return std::ranges::any_of(specs_, [](const BlockSpec& one) { return one.is_mixer(); });
}

bool BlockSpecs::refers() const {
  return std::ranges::any_of(specs_, [](const BlockSpec& one) { return one.refers(); });
}

void* BlockSpecs::put(const BlockFunctions& type, const void* spec) {
  BlockSpec made(type, spec);
  for (BlockSpec& one : specs_) {
    if (one.as(type) == nullptr) continue;
    one = std::move(made);
    return one.as(type);
  }
  specs_.push_back(std::move(made));
  return specs_.back().as(type);
}

void* BlockSpecs::find(const BlockFunctions& type) const {
  for (const BlockSpec& one : specs_) {
    if (void* found = one.as(type)) return found;
  }
  return nullptr;
}

void* BlockSpecs::get(const BlockFunctions& type) const {
  void* found = find(type);
  if (found == nullptr) fail(Code::Internal, "a block's specification is missing");
  return found;
}

}  // namespace tenon
