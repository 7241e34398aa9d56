/* Converts results of the library to values of JavaScript. Each is NULL with an exception if it
 * cannot be made. */
#ifndef TENON_NODE_VALUES_H
#define TENON_NODE_VALUES_H

#include "call.h"

napi_value undefined_value(napi_env env);
napi_value object_value(napi_env env);
void set_member(napi_env env, napi_value object, const char* name, napi_value value);

napi_value double_value(napi_env env, double value);
/* A number, or beyond 2^53 a BigInt. */
napi_value int64_value(napi_env env, int64_t value);
napi_value uint64_value(napi_env env, uint64_t value);
napi_value doubles_value(napi_env env, const double* values, size_t count);
napi_value integers_value(napi_env env, const uint64_t* values, size_t count);

/* A string; invalid UTF-8 becomes U+FFFD. */
napi_value text_value(napi_env env, const char* text, size_t length);
/* A string from a text that ends in a NUL; null for NULL. */
napi_value name_value(napi_env env, const char* name);
napi_value bytes_value(napi_env env, const char* bytes, size_t length);
/* A typed array [count]: a copy, or around memory of malloc, which it takes; the pointer is then
 * NULL. */
napi_value array_value(napi_env env, napi_typedarray_type type, const void* values, size_t count);
napi_value owned_value(napi_env env, napi_typedarray_type type, void** values, size_t count);

/* A handle made by a call from the first handle that it uses. */
napi_value handle_value(Call* call, enum Kind kind, void* pointer, int flags);

#endif
