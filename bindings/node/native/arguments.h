/* Converts JavaScript's arguments for the library. All functions return 0 or NULL after the call
 * has failed; `name` is the argument's, for messages. */
#ifndef TENON_NODE_ARGUMENTS_H
#define TENON_NODE_ARGUMENTS_H

#include "call.h"

/* Options as given; the running call makes a set of them. */
typedef struct OptionList OptionList;

/* Fails the call with a TypeError. */
void fail_argument(Call* call, const char* reason, const char* name);

napi_value argument(Call* call, size_t index);
bool is_absent(Call* call, napi_value given);
bool is_object(Call* call, napi_value given, const char* name);
/* A member, or NULL if it is absent, undefined or null. */
napi_value member(Call* call, napi_value object, const char* name);

int32_t as_int32_t(Call* call, napi_value given, const char* name);
uint16_t as_uint16_t(Call* call, napi_value given, const char* name);
uint32_t as_uint32_t(Call* call, napi_value given, const char* name);
int64_t as_int64_t(Call* call, napi_value given, const char* name);
uint64_t as_uint64_t(Call* call, napi_value given, const char* name);
size_t as_size_t(Call* call, napi_value given, const char* name);
size_t as_count(Call* call, napi_value given, const char* name);
double as_double(Call* call, napi_value given, const char* name);
void as_doubles(Call* call, napi_value given, const char* name, double* values, size_t count);

/* UTF-8 of a string, or the bytes of a typed array; a name holds no NUL. */
const char* as_text(Call* call, napi_value given, const char* name, size_t* length);
const char* as_name(Call* call, napi_value given, const char* name);
/* A typed array of bytes, copied, or a Memory, held. */
const void* as_bytes(Call* call, napi_value given, const char* name, size_t* size);
/* An Int32Array, a Float32Array, or an array of numbers, copied. */
const tenon_token* as_tokens(Call* call, napi_value given, const char* name, size_t* count);
const float* as_floats(Call* call, napi_value given, const char* name, size_t* count);

/* Texts or tokens, [count] with their lengths; one of the two is NULL. */
typedef struct {
  uint64_t count;
  const char* const* texts;
  const tenon_token* const* tokens;
  const uint64_t* lengths;
} Items;
/* Items of an array of strings, or of an array of arrays of tokens. */
Items as_items(Call* call, napi_value given, const char* name);

/* The pointer of a handle, which the call uses until it returns. */
void* as_handle(Call* call, napi_value given, const char* name, enum Kind kind, int flags);
void as_callback(Call* call, napi_value given, const char* name);

/* An object of options, or nothing: NULL. */
OptionList* as_options(Call* call, napi_value given, const char* name);
/* Makes the set, NULL for no list; false if the call has failed, with the reason. Called when the
 * call runs. */
bool make_options(Call* call, const OptionList* list, tenon_options** options);

#endif
