/* The interface of a library that exists to be changed in ways the ABI check must judge. */
#ifndef FAKE_H
#define FAKE_H
#include <stdint.h>

typedef struct fake_handle fake_handle;

typedef struct fake_record {
  uint32_t struct_size;
#ifdef FIELD_IN_THE_MIDDLE
  uint32_t inserted;
#endif
  uint32_t first;
  uint64_t second;
#ifdef FIELD_AT_THE_END
  uint64_t third;
#endif
} fake_record;

#ifdef PARAMETER_TYPE
int32_t fake_open(const char* path, int64_t flags, fake_handle** handle);
#elif defined(PARAMETER_COUNT)
int32_t fake_open(const char* path, int32_t flags, int32_t more, fake_handle** handle);
#else
int32_t fake_open(const char* path, int32_t flags, fake_handle** handle);
#endif
int32_t fake_read(const fake_handle* handle, fake_record* record);
#ifndef FUNCTION_GONE
void fake_close(fake_handle* handle);
#endif
#ifdef FUNCTION_MORE
void fake_flush(fake_handle* handle);
#endif
#endif
