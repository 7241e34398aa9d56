// Options that a host has set, checked. Their users interpret them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handle.h"
#include "tenon/tenon.h"

namespace tenon::capi {

/// Values by the keys of the option table. Setters check name, type and range, and throw Argument,
/// or Limit for more texts than the key takes. Getters return the default if the key is not set.
class OptionSet {
 public:
  void set_int(std::string_view key, int64_t value);
  void set_float(std::string_view key, double value);
  void set_bool(std::string_view key, int32_t value);
  void set_string(std::string_view key, std::string_view value);
  void add_string(std::string_view key, std::string_view value);
  /// Parses `text` by the type of the key; a list appends the value.
  void parse(std::string_view key, std::string_view text);

  [[nodiscard]] int64_t integer(std::string_view key) const;
  [[nodiscard]] double real(std::string_view key) const;
  [[nodiscard]] bool boolean(std::string_view key) const { return integer(key) != 0; }
  [[nodiscard]] std::string string(std::string_view key) const;
  [[nodiscard]] std::vector<std::string> strings(std::string_view key) const;

  /// Options backend.KEY: the keys without the prefix, and their values.
  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& backend_options() const {
    return backend_;
  }

  /// Calls visit(option, integer, real) for each number of `scope` that is set.
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
    size_t text_bytes = 0;  // total of the list's texts
  };

  const Entry* find(std::string_view key) const;
  Entry* find(std::string_view key);
  void put(Entry entry);
  void set_backend(const tenon_option_info& option, std::string_view key, std::string_view value);

  std::vector<Entry> entries_;                                // unique keys
  std::vector<std::pair<std::string, std::string>> backend_;  // unique keys
};

}  // namespace tenon::capi

/// Object behind an options handle.
struct tenon_options : tenon::capi::Handle<tenon_options> {
  static constexpr auto kMagic = tenon::capi::Magic::Options;
  static constexpr const char* kName = "options";
  tenon::capi::OptionSet set;
};

namespace tenon::capi {

/// Options behind an optional handle; NULL means an empty set. Throws Argument for a bad handle.
inline OptionSet options_or_default(const tenon_options* options) {
  return options == nullptr ? OptionSet{} : checked(options).set;
}

}  // namespace tenon::capi
