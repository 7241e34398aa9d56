#include "backends/vulkan/matrix_modules.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "abi/failure.h"

namespace tenon::vulkan {
namespace {

// SPIR-V Specification, "Physical Layout of a SPIR-V Module and Instruction" and the table of
// instructions; extensions SPV_NV_cooperative_matrix and SPV_KHR_cooperative_matrix.
constexpr uint32_t kMagic = 0x07230203;
constexpr size_t kHeaderWords = 5;
constexpr size_t kBoundWord = 3;  // word of the header: bound of all ids
enum Op : uint32_t {
  kExtension = 10,
  kCapability = 17,
  kTypeInt = 21,
  kConstantTrue = 41,
  kConstantFalse = 42,
  kConstant = 43,
  kSpecConstantOp = 52,
  kDecorate = 71,
  kTypeMatrixKhr = 4456,
  kLoadKhr = 4457,
  kStoreKhr = 4458,
  kMultiplyAddKhr = 4459,
  kLengthKhr = 4460,
  kTypeMatrixNv = 5358,
  kLoadNv = 5359,
  kStoreNv = 5360,
  kMultiplyAddNv = 5361,
  kLengthNv = 5362,
};
constexpr uint32_t kSpecId = 1;  // decoration
constexpr uint32_t kMatricesNv = 5357;
constexpr uint32_t kMatricesKhr = 6022;
constexpr std::string_view kExtensionNv = "SPV_NV_cooperative_matrix";
constexpr std::string_view kExtensionKhr = "SPV_KHR_cooperative_matrix";
constexpr uint32_t kUses = 3;  // A, B and sums, by number
constexpr uint32_t kRowMajor = 0;
constexpr uint32_t kColumnMajor = 1;

[[noreturn]] void refuse_module(const char* what) {
  backends::refuse(TENON_BACKEND_INTERNAL, "a shader of cooperative matrices: {}", what);
}

/// Words of an instruction; operands begin at 1.
struct Instruction {
  std::span<const uint32_t> words;
  [[nodiscard]] uint32_t op() const { return words[0] & 0xFFFF; }
  [[nodiscard]] uint32_t at(size_t word) const {
    if (word >= words.size()) refuse_module("an instruction is cut");
    return words[word];
  }
};

template <class Visit>
void for_each_instruction(std::span<const uint32_t> module, const Visit& visit) {
  for (size_t at = kHeaderWords; at < module.size();) {
    const size_t count = module[at] >> 16;
    if (count == 0 || count > module.size() - at) refuse_module("an instruction is cut");
    visit(Instruction{module.subspan(at, count)});
    at += count;
  }
}

class Rewriter {
 public:
  explicit Rewriter(std::span<const uint32_t> module) : module_(module) {
    if (module.size() < kHeaderWords || module[0] != kMagic) refuse_module("it is no SPIR-V");
    first_use_ = module[kBoundWord];
    for_each_instruction(module, [this](const Instruction& found) { note(found); });
  }

  std::vector<uint32_t> run() {
    out_.assign(module_.begin(), module_.begin() + kHeaderWords);
    out_[kBoundWord] += kUses;
    for_each_instruction(module_, [this](const Instruction& found) { rewrite(found); });
    return std::move(out_);
  }

 private:
  void note(const Instruction& found) {
    switch (found.op()) {
      case kTypeInt:
        if (found.at(2) == 32 && found.at(3) == 0) uint_type_ = found.at(1);
        break;
      case kConstantTrue:
        layouts_[found.at(2)] = kColumnMajor;
        break;
      case kConstantFalse:
        layouts_[found.at(2)] = kRowMajor;
        break;
      case kDecorate:
        if (found.at(2) == kSpecId) spec_ids_[found.at(1)] = found.at(3);
        break;
      default:
        break;
    }
  }

  [[nodiscard]] uint32_t spec_id(uint32_t constant) const {
    const auto found = spec_ids_.find(constant);
    return found == spec_ids_.end() ? UINT32_MAX : found->second;
  }
  /// Use of a matrix type, by the ids of its sizes.
  [[nodiscard]] uint32_t use_of(uint32_t rows, uint32_t columns) const {
    const std::pair sizes{spec_id(rows), spec_id(columns)};
    if (sizes == std::pair{kRowsOfWeightsId, kColumnsId}) return 0;
    if (sizes == std::pair{kColumnsId, kRowsOfXId}) return 1;
    if (sizes == std::pair{kRowsOfWeightsId, kRowsOfXId}) return 2;
    refuse_module("a matrix of other sizes");
  }
  /// Layout constants equal uses A and B: 0 and 1.
  [[nodiscard]] uint32_t layout(uint32_t is_column_major) const {
    const auto found = layouts_.find(is_column_major);
    if (found == layouts_.end()) refuse_module("a layout that is no constant");
    return first_use_ + found->second;
  }

  void put(uint32_t op, std::initializer_list<uint32_t> operands,
           std::span<const uint32_t> rest = {}) {
    const auto count = static_cast<uint32_t>(1 + operands.size() + rest.size());
    out_.push_back(count << 16 | op);
    out_.insert(out_.end(), operands);
    out_.insert(out_.end(), rest.begin(), rest.end());
  }
  void put_extension(std::string_view name) {
    std::vector<uint32_t> words(name.size() / sizeof(uint32_t) + 1);
    std::memcpy(words.data(), name.data(), name.size());
    put(kExtension, {}, words);
  }
  /// Adds the constants of uses before the first matrix type.
  void put_uses() {
    if (std::exchange(has_uses_, true)) return;
    if (!uint_type_) refuse_module("it has no uint");
    for (uint32_t use = 0; use < kUses; ++use) put(kConstant, {*uint_type_, first_use_ + use, use});
  }

  void rewrite(const Instruction& found) {
    const auto rest = [&found](size_t first) {
      return found.words.subspan(std::min(first, found.words.size()));
    };
    switch (found.op()) {
      case kCapability:
        return put(kCapability, {found.at(1) == kMatricesNv ? kMatricesKhr : found.at(1)});
      case kExtension: {
        const auto bytes = std::as_bytes(rest(1));
        const auto* text = reinterpret_cast<const char*>(bytes.data());
        if (std::string_view(text, ::strnlen(text, bytes.size())) == kExtensionNv) {
          return put_extension(kExtensionKhr);
        }
        break;
      }
      case kTypeMatrixNv:  // result, component, scope, rows, columns
        put_uses();
        return put(kTypeMatrixKhr, {found.at(1), found.at(2), found.at(3), found.at(4), found.at(5),
                                    first_use_ + use_of(found.at(4), found.at(5))});
      case kLoadNv:  // type, result, pointer, stride, column major, memory operands
        return put(kLoadKhr,
                   {found.at(1), found.at(2), found.at(3), layout(found.at(5)), found.at(4)},
                   rest(6));
      case kStoreNv:  // pointer, matrix, stride, column major, memory operands
        return put(kStoreKhr, {found.at(1), found.at(2), layout(found.at(4)), found.at(3)},
                   rest(5));
      case kMultiplyAddNv:
        return put(kMultiplyAddKhr, {}, rest(1));
      case kLengthNv:
        return put(kLengthKhr, {}, rest(1));
      case kSpecConstantOp:  // type, result, instruction, operands
        if (found.at(3) == kLengthNv) {
          return put(kSpecConstantOp, {found.at(1), found.at(2), kLengthKhr}, rest(4));
        }
        break;
      default:
        break;
    }
    out_.insert(out_.end(), found.words.begin(), found.words.end());
  }

  std::span<const uint32_t> module_;
  std::vector<uint32_t> out_;
  uint32_t first_use_ = 0;  ///< id of the constant 0; those of 1 and 2 follow
  bool has_uses_ = false;
  std::optional<uint32_t> uint_type_;
  std::map<uint32_t, uint32_t> layouts_;   ///< of the constants false and true
  std::map<uint32_t, uint32_t> spec_ids_;  ///< of constants
};

}  // namespace

std::vector<uint32_t> with_khr_matrices(std::span<const uint32_t> module) {
  return Rewriter(module).run();
}

}  // namespace tenon::vulkan
