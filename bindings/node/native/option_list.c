/* Options as given, and as a set of the library. See arguments.h. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "arguments.h"

typedef struct {
  const char* key;
  enum { INTEGER, NUMBER, BOOLEAN, TEXT, MORE_TEXT } type; /* MORE_TEXT: of a list */
  int64_t integer;
  double number;
  const char* text;
  size_t length;
} Option;

struct OptionList {
  size_t count;
  Option options[];
};

static Option* read_option(Call* call, Option* option, napi_value value) {
  napi_valuetype type = napi_undefined;
  napi_typeof(call->env, value, &type);
  bool truth = false;
  if (type == napi_boolean) {
    option->type = BOOLEAN;
    napi_get_value_bool(call->env, value, &truth);
    option->integer = truth;
  } else if (type == napi_bigint) {
    option->type = INTEGER;
    option->integer = as_int64_t(call, value, option->key);
  } else if (type == napi_number) {
    option->number = as_double(call, value, option->key);
    /* Options of either number type take an integer. */
    const bool is_whole =
        option->number == floor(option->number) && fabs(option->number) <= 9007199254740992.0;
    option->type = is_whole ? INTEGER : NUMBER;
    if (is_whole) option->integer = (int64_t)option->number;
  } else {
    option->type = TEXT;
    option->text = as_text(call, value, option->key, &option->length);
  }
  return option + 1;
}

OptionList* as_options(Call* call, napi_value given, const char* name) {
  if (call->has_failed || is_absent(call, given) || !is_object(call, given, name)) return NULL;
  napi_env const env = call->env;
  napi_value keys = NULL;
  uint32_t num_keys = 0;
  size_t count = 0;
  if (napi_get_property_names(env, given, &keys) != napi_ok) {
    call->has_failed = true;
    return NULL;
  }
  napi_get_array_length(env, keys, &num_keys);
  /* A list becomes an option per text. */
  for (int is_second = 0; is_second < 2; ++is_second) {
    OptionList* const list =
        is_second ? scratch(call, sizeof *list + count * sizeof *list->options) : NULL;
    Option* option = list != NULL ? list->options : NULL;
    for (uint32_t i = 0; !call->has_failed && i < num_keys; ++i) {
      napi_value key = NULL, value = NULL, item = NULL;
      bool is_array = false;
      uint32_t length = 1;
      napi_get_element(env, keys, i, &key);
      if (napi_get_property(env, given, key, &value) != napi_ok) {
        call->has_failed = true;
        return NULL;
      }
      if (is_absent(call, value)) continue;
      napi_is_array(env, value, &is_array);
      if (is_array) napi_get_array_length(env, value, &length);
      if (list == NULL) count += length;
      for (uint32_t j = 0; list != NULL && !call->has_failed && j < length; ++j) {
        if (option == list->options + count) break; /* a getter gives more now */
        option->key = as_name(call, key, name);
        if (is_array) napi_get_element(env, value, j, &item);
        Option* const next = read_option(call, option, is_array ? item : value);
        if (is_array) option->type = MORE_TEXT;
        if (is_array && option->text == NULL)
          fail_argument(call, "a list of strings is needed", name);
        option = next;
      }
    }
    if (list != NULL && !call->has_failed) {
      list->count = (size_t)(option - list->options);
      return list;
    }
  }
  return NULL;
}

static tenon_status set_option(tenon_options* options, const Option* option) {
  switch (option->type) {
    case INTEGER:
      return api.options_set_int(options, option->key, option->integer);
    case NUMBER:
      return api.options_set_float(options, option->key, option->number);
    case BOOLEAN:
      return api.options_set_bool(options, option->key, (int32_t)option->integer);
    case TEXT:
      return api.options_set_string(options, option->key, option->text, option->length);
    default:
      return api.options_add_string(options, option->key, option->text, option->length);
  }
}

bool make_options(Call* call, const OptionList* list, tenon_options** options) {
  if (list == NULL || list->count == 0) return true;
  call->status = api.options_create(options);
  for (size_t i = 0; call->status == TENON_OK && i < list->count; ++i) {
    call->status = set_option(*options, &list->options[i]);
  }
  keep_message(call);
  if (call->status == TENON_OK) return true;
  api.options_destroy(*options);
  *options = NULL;
  return false;
}
