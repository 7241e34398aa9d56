/* See arguments.h. */
#include "arguments.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

void fail_argument(Call* call, const char* reason, const char* name) {
  if (call->has_failed) return;
  call->has_failed = true;
  char message[200];
  snprintf(message, sizeof message, "%s%s%s: %s", call->of->name, name != NULL ? ", " : "",
           name != NULL ? name : "", reason);
  napi_throw_type_error(call->env, NULL, message);
}

static napi_valuetype type_of(Call* call, napi_value given) {
  napi_valuetype type = napi_undefined;
  if (given != NULL) napi_typeof(call->env, given, &type);
  return type;
}

napi_value argument(Call* call, size_t index) { return call->arguments[index]; }

bool is_absent(Call* call, napi_value given) {
  const napi_valuetype type = type_of(call, given);
  return type == napi_undefined || type == napi_null;
}

bool is_object(Call* call, napi_value given, const char* name) {
  if (call->has_failed) return false;
  if (type_of(call, given) == napi_object) return true;
  fail_argument(call, "an object is needed", name);
  return false;
}

napi_value member(Call* call, napi_value object, const char* name) {
  napi_value item = NULL;
  if (call->has_failed) return NULL;
  if (napi_get_named_property(call->env, object, name, &item) != napi_ok) {
    call->has_failed = true; /* a getter threw */
    return NULL;
  }
  return is_absent(call, item) ? NULL : item;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Largest range in which every integer is a double. */
static const double kMostWhole = 9007199254740992.0;

double as_double(Call* call, napi_value given, const char* name) {
  double value = 0;
  if (!call->has_failed && napi_get_value_double(call->env, given, &value) != napi_ok) {
    fail_argument(call, "a number is needed", name);
  }
  return value;
}

static double as_whole(Call* call, napi_value given, const char* name, double least, double most) {
  const double value = as_double(call, given, name);
  if (call->has_failed) return 0;
  if (value == floor(value) && value >= least && value <= most) return value;
  char reason[96];
  snprintf(reason, sizeof reason, "%.15g is no whole number from %.16g to %.16g", value, least,
           most);
  fail_argument(call, reason, name);
  return 0;
}

int32_t as_int32_t(Call* call, napi_value given, const char* name) {
  return (int32_t)as_whole(call, given, name, INT32_MIN, INT32_MAX);
}
uint16_t as_uint16_t(Call* call, napi_value given, const char* name) {
  return (uint16_t)as_whole(call, given, name, 0, UINT16_MAX);
}
uint32_t as_uint32_t(Call* call, napi_value given, const char* name) {
  return (uint32_t)as_whole(call, given, name, 0, UINT32_MAX);
}
size_t as_count(Call* call, napi_value given, const char* name) {
  return (size_t)as_whole(call, given, name, 0, INT32_MAX);
}
size_t as_size_t(Call* call, napi_value given, const char* name) {
  return (size_t)as_uint64_t(call, given, name);
}

int64_t as_int64_t(Call* call, napi_value given, const char* name) {
  int64_t value = 0;
  bool is_lossless = false;
  if (call->has_failed) return 0;
  if (type_of(call, given) != napi_bigint) {
    return (int64_t)as_whole(call, given, name, -kMostWhole, kMostWhole);
  }
  napi_get_value_bigint_int64(call->env, given, &value, &is_lossless);
  if (!is_lossless) fail_argument(call, "beyond 64 bits", name);
  return value;
}

uint64_t as_uint64_t(Call* call, napi_value given, const char* name) {
  uint64_t value = 0;
  bool is_lossless = false;
  if (call->has_failed) return 0;
  if (type_of(call, given) != napi_bigint) {
    return (uint64_t)as_whole(call, given, name, 0, kMostWhole);
  }
  napi_get_value_bigint_uint64(call->env, given, &value, &is_lossless);
  if (!is_lossless) fail_argument(call, "beyond 64 bits, or negative", name);
  return value;
}

/* Length of an array; fails the call for anything else. */
static uint32_t array_length(Call* call, napi_value given, const char* name) {
  bool is_array = false;
  uint32_t length = 0;
  if (call->has_failed) return 0;
  if (napi_is_array(call->env, given, &is_array) != napi_ok || !is_array) {
    fail_argument(call, "an array of numbers, or a typed array of this type, is needed", name);
    return 0;
  }
  napi_get_array_length(call->env, given, &length);
  return length;
}

static napi_value element(Call* call, napi_value array, uint32_t index) {
  napi_value item = NULL;
  if (!call->has_failed && napi_get_element(call->env, array, index, &item) != napi_ok) {
    call->has_failed = true; /* a getter threw */
  }
  return item;
}

void as_doubles(Call* call, napi_value given, const char* name, double* values, size_t count) {
  const uint32_t length = array_length(call, given, name);
  for (uint32_t i = 0; !call->has_failed && i < length && i < count; ++i) {
    values[i] = as_double(call, element(call, given, i), name);
  }
}

/* A copy of a typed array of this type, or NULL if it is none. */
static void* as_typed_array(Call* call, napi_value given, napi_typedarray_type wanted, size_t size,
                            size_t* count) {
  bool is_typed = false;
  napi_typedarray_type type = napi_int8_array;
  void* data = NULL;
  if (call->has_failed || napi_is_typedarray(call->env, given, &is_typed) != napi_ok || !is_typed ||
      napi_get_typedarray_info(call->env, given, &type, count, &data, NULL, NULL) != napi_ok ||
      type != wanted) {
    return NULL;
  }
  void* const copy = scratch(call, *count * size);
  if (copy != NULL && *count > 0) memcpy(copy, data, *count * size);
  return copy;
}

const tenon_token* as_tokens(Call* call, napi_value given, const char* name, size_t* count) {
  tenon_token* tokens = as_typed_array(call, given, napi_int32_array, sizeof *tokens, count);
  if (tokens != NULL || call->has_failed) return tokens;
  const uint32_t length = array_length(call, given, name);
  tokens = scratch(call, length * sizeof *tokens);
  for (uint32_t i = 0; !call->has_failed && i < length; ++i) {
    tokens[i] = as_int32_t(call, element(call, given, i), name);
  }
  *count = length;
  return tokens;
}

Items as_items(Call* call, napi_value given, const char* name) {
  const Items none = {0, NULL, NULL, NULL};
  bool is_array = false;
  if (call->has_failed) return none;
  if (napi_is_array(call->env, given, &is_array) != napi_ok || !is_array) {
    fail_argument(call, "an array of strings, or of arrays of tokens, is needed", name);
    return none;
  }
  const uint32_t count = array_length(call, given, name);
  const void** const places = scratch(call, count * sizeof *places);
  uint64_t* const lengths = scratch(call, count * sizeof *lengths);
  bool has_tokens = false;
  for (uint32_t i = 0; !call->has_failed && i < count; ++i) {
    napi_value const item = element(call, given, i);
    size_t length = 0;
    const bool is_tokens = !call->has_failed && type_of(call, item) != napi_string;
    if (i == 0) has_tokens = is_tokens;
    if (is_tokens != has_tokens) {
      fail_argument(call, "all are strings, or all are arrays of tokens", name);
      return none;
    }
    places[i] = has_tokens ? (const void*)as_tokens(call, item, "tokens", &length)
                           : (const void*)as_text(call, item, "text", &length);
    lengths[i] = length;
  }
  return (Items){count, has_tokens ? NULL : (const char* const*)places,
                 has_tokens ? (const tenon_token* const*)places : NULL, lengths};
}

const float* as_floats(Call* call, napi_value given, const char* name, size_t* count) {
  float* values = as_typed_array(call, given, napi_float32_array, sizeof *values, count);
  if (values != NULL || call->has_failed) return values;
  const uint32_t length = array_length(call, given, name);
  values = scratch(call, length * sizeof *values);
  for (uint32_t i = 0; !call->has_failed && i < length; ++i) {
    values[i] = (float)as_double(call, element(call, given, i), name);
  }
  *count = length;
  return values;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

const void* as_bytes(Call* call, napi_value given, const char* name, size_t* size) {
  *size = 0;
  if (call->has_failed) return NULL;
  Memory* const memory = memory_of(call->env, given);
  if (memory != NULL) {
    if (call->memory == NULL) {
      memory_hold(memory);
      call->memory = memory;
    }
    if (call->memory != memory) fail_argument(call, "one memory a call", name);
    *size = memory->size;
    return memory->data;
  }
  const void* bytes = as_typed_array(call, given, napi_uint8_array, 1, size);
  if (bytes == NULL) fail_argument(call, "a Uint8Array is needed", name);
  return bytes;
}

const char* as_text(Call* call, napi_value given, const char* name, size_t* length) {
  *length = 0;
  if (call->has_failed) return NULL;
  if (type_of(call, given) != napi_string) {
    const char* bytes = as_typed_array(call, given, napi_uint8_array, 1, length);
    if (bytes == NULL) fail_argument(call, "a string is needed", name);
    return bytes;
  }
  napi_get_value_string_utf8(call->env, given, NULL, 0, length);
  char* const text = scratch(call, *length + 1);
  if (text != NULL) napi_get_value_string_utf8(call->env, given, text, *length + 1, length);
  return text;
}

const char* as_name(Call* call, napi_value given, const char* name) {
  size_t length = 0;
  const char* text = as_text(call, given, name, &length);
  if (!call->has_failed && strlen(text) != length) fail_argument(call, "it holds a NUL", name);
  return text;
}

/* ---- Handles, callbacks ---------------------------------------------------------------------- */

void* as_handle(Call* call, napi_value given, const char* name, enum Kind kind, int flags) {
  if (call->has_failed || ((flags & NULLABLE) != 0 && is_absent(call, given))) return NULL;
  Handle* const handle = handle_of(call->env, given);
  char message[128];
  if (handle == NULL || handle->kind != kind) {
    snprintf(message, sizeof message, "a handle of a %s is needed", kind_name(kind));
    fail_argument(call, message, name);
    return NULL;
  }
  const char* reason = NULL;
  if (handle->is_closed) {
    reason = "the %s has been closed";
  } else if (handle->is_busy && (flags & WHILE_BUSY) == 0) {
    reason =
        "the %s is in use by another call, which is to be awaited first; only cancel and close may "
        "interrupt";
  }
  if (reason != NULL || call->num_handles == MOST_HANDLES) {
    snprintf(message, sizeof message, reason != NULL ? reason : "%s: too many handles",
             kind_name(kind));
    call->has_failed = true;
    throw_status(call->environment, call->env, TENON_ERROR_STATE, message);
    return NULL;
  }
  const bool is_alone = kind_is_one_at_a_time(kind) && (flags & WHILE_BUSY) == 0;
  if (is_alone) handle->is_busy = true;
  handle_use(handle);
  call->is_alone[call->num_handles] = is_alone;
  call->handles[call->num_handles++] = handle;
  return handle->pointer;
}

void as_callback(Call* call, napi_value given, const char* name) {
  if (call->has_failed || is_absent(call, given)) return;
  if (type_of(call, given) != napi_function) {
    fail_argument(call, "a function is needed", name);
    return;
  }
  napi_create_reference(call->env, given, 1, &call->callback);
}
