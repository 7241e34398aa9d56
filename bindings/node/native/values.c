/* See values.h. */
#include "values.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Smaller results are copied: memory outside of JavaScript's own costs a finaliser. */
enum { LEAST_EXTERNAL_BYTES = 65536 };
static const uint64_t kMostWhole = UINT64_C(1) << 53;

napi_value undefined_value(napi_env env) {
  napi_value value = NULL;
  napi_get_undefined(env, &value);
  return value;
}

napi_value object_value(napi_env env) {
  napi_value value = NULL;
  napi_create_object(env, &value);
  return value;
}

void set_member(napi_env env, napi_value object, const char* name, napi_value value) {
  if (value != NULL) napi_set_named_property(env, object, name, value);
}

napi_value double_value(napi_env env, double number) {
  napi_value value = NULL;
  napi_create_double(env, number, &value);
  return value;
}

napi_value int64_value(napi_env env, int64_t number) {
  napi_value value = NULL;
  if (number <= (int64_t)kMostWhole && number >= -(int64_t)kMostWhole) {
    napi_create_double(env, (double)number, &value);
  } else {
    napi_create_bigint_int64(env, number, &value);
  }
  return value;
}

napi_value uint64_value(napi_env env, uint64_t number) {
  napi_value value = NULL;
  if (number <= kMostWhole) {
    napi_create_double(env, (double)number, &value);
  } else {
    napi_create_bigint_uint64(env, number, &value);
  }
  return value;
}

napi_value doubles_value(napi_env env, const double* values, size_t count) {
  napi_value array = NULL;
  napi_create_array_with_length(env, count, &array);
  for (uint32_t i = 0; i < count; ++i)
    napi_set_element(env, array, i, double_value(env, values[i]));
  return array;
}

napi_value integers_value(napi_env env, const uint64_t* values, size_t count) {
  napi_value array = NULL;
  napi_create_array_with_length(env, count, &array);
  for (uint32_t i = 0; i < count; ++i)
    napi_set_element(env, array, i, uint64_value(env, values[i]));
  return array;
}

napi_value text_value(napi_env env, const char* text, size_t length) {
  napi_value value = NULL;
  napi_create_string_utf8(env, text != NULL ? text : "", text != NULL ? length : 0, &value);
  return value;
}

napi_value name_value(napi_env env, const char* name) {
  napi_value value = NULL;
  if (name != NULL) return text_value(env, name, strlen(name));
  napi_get_null(env, &value);
  return value;
}

static size_t element_bytes(napi_typedarray_type type) {
  switch (type) {
    case napi_int32_array:
    case napi_float32_array:
      return 4;
    case napi_biguint64_array:
      return 8;
    default:
      return 1;
  }
}

napi_value array_value(napi_env env, napi_typedarray_type type, const void* values, size_t count) {
  napi_value buffer = NULL, array = NULL;
  void* data = NULL;
  const size_t size = count * element_bytes(type);
  if (napi_create_arraybuffer(env, size, &data, &buffer) != napi_ok ||
      napi_create_typedarray(env, type, count, buffer, 0, &array) != napi_ok) {
    return NULL;
  }
  if (size > 0) memcpy(data, values, size);
  return array;
}

napi_value bytes_value(napi_env env, const char* bytes, size_t length) {
  return array_value(env, napi_uint8_array, bytes, length);
}

static void free_external(napi_env env, void* data, void* hint) {
  (void)env, (void)hint;
  free(data);
}

napi_value owned_value(napi_env env, napi_typedarray_type type, void** values, size_t count) {
  napi_value buffer = NULL, array = NULL;
  const size_t size = count * element_bytes(type);
  /* Also copied if foreign memory cannot be an ArrayBuffer (Electron). */
  if (size >= LEAST_EXTERNAL_BYTES &&
      napi_create_external_arraybuffer(env, *values, size, &free_external, NULL, &buffer) ==
          napi_ok) {
    *values = NULL;
    napi_create_typedarray(env, type, count, buffer, 0, &array);
    return array;
  }
  return array_value(env, type, *values, count);
}

napi_value handle_value(Call* call, enum Kind kind, void* pointer, int flags) {
  Handle* const from = call->num_handles > 0 ? call->handles[0] : NULL;
  return handle_create(call->environment, call->env, kind, pointer, from, flags);
}
