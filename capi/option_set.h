// The options that a host has set, checked; what they mean is decided where they are taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handle.h"
#include "tenon/tenon.h"

namespace tenon::capi {

/// Values under the keys of the option table. Setting checks name, type and range and throws
/// Argument, or Limit for more texts than the key takes; getting a value that was not set gives the
/// default.
class OptionSet {
 public:
  void set_int(std::string_view key, int64_t value);
  void set_float(std::string_view key, double value);
  void set_bool(std::string_view key, int32_t value);
  void set_string(std::string_view key, std::string_view value);
  void add_string(std::string_view key, std::string_view value);
  /// `text` as the type of the key asks; a list gets one more value.
  void parse(std::string_view key, std::string_view text);

  [[nodiscard]] int64_t integer(std::string_view key) const;
  [[nodiscard]] double real(std::string_view key) const;
  [[nodiscard]] bool boolean(std::string_view key) const { return integer(key) != 0; }
  [[nodiscard]] std::string string(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> strings(std::string_view key) const;

  /// The keys backend.KEY without their prefix, and their values.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& backend_options() const {
    return backend_;
  }

  /// Calls visit(option, integer, real) for each number of `scope` that was set.
  template <typename Visit>
  void for_each_number(int32_t scope, Visit visit) const {
    for (const Entry& entry : entries_) {
      if (entry.option.scope == scope) visit(entry.option, entry.integer, entry.real);
    }
  }

 private:
  struct Entry {
    tenon_option_info option;
    int64_t integer = 0;
    double real = 0;
    std::vector<std::string> texts;
    size_t text_bytes = 0;  // of all of them
  };

  const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
  void put(Entry entry);
  void set_backend(const tenon_option_info& option, std::string_view key, std::string_view value);

  std::vector<Entry> entries_;                                // no key twice
  std::vector<std::pair<std::string, std::string>> backend_;  // the same
};

}  // namespace tenon::capi

/// The object behind the handle.
struct tenon_options : tenon::capi::Handle<tenon_options> {
  static constexpr auto kMagic = tenon::capi::Magic::Options;
  static constexpr const char* kName = "options";
  tenon::capi::OptionSet set;
};

namespace tenon::capi {

/// The set behind an optional handle: NULL is the empty one. Throws Argument for a bad handle.
inline OptionSet options_or_default(const tenon_options* options) {
  return options == nullptr ? OptionSet{} : checked(options).set;
}

}  // namespace tenon::capi
