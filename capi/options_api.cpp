// tenon_options_*: sets of options. tenon_option_*: the list of all options.
#include "fence.h"
#include "option_set.h"
#include "option_table.h"
#include "values.h"

using namespace tenon::capi;

tenon_status tenon_options_create(tenon_options** options) {
  return fence([&] {
    tenon_options*& out = checked_out(options, "options");
    out = new tenon_options;
  });
}

void tenon_options_destroy(tenon_options* options) { destroy(options); }

tenon_status tenon_options_set_int(tenon_options* options, const char* key, int64_t value) {
  return fence([&] { checked(options).set.set_int(name_in(key, "key"), value); });
}

tenon_status tenon_options_set_float(tenon_options* options, const char* key, double value) {
  return fence([&] { checked(options).set.set_float(name_in(key, "key"), value); });
}

tenon_status tenon_options_set_bool(tenon_options* options, const char* key, int32_t value) {
  return fence([&] { checked(options).set.set_bool(name_in(key, "key"), value); });
}

tenon_status tenon_options_set_string(tenon_options* options, const char* key, const char* value,
                                      size_t length) {
  return fence([&] {
    checked(options).set.set_string(name_in(key, "key"), text_in(value, length, "value"));
  });
}

tenon_status tenon_options_add_string(tenon_options* options, const char* key, const char* value,
                                      size_t length) {
  return fence([&] {
    checked(options).set.add_string(name_in(key, "key"), text_in(value, length, "value"));
  });
}

tenon_status tenon_options_parse(tenon_options* options, const char* key, const char* value,
                                 size_t length) {
  return fence(
      [&] { checked(options).set.parse(name_in(key, "key"), text_in(value, length, "value")); });
}

size_t tenon_option_count(void) { return num_options(); }

tenon_status tenon_option_get_info(size_t index, tenon_option_info* option) {
  return fence([&] { struct_out(option_at(index), option, "tenon_option_info"); });
}
