#include "fake.h"

#include <stddef.h>

struct fake_handle {
  int32_t flags;
#ifdef OPAQUE_TYPE
  double more;
#endif
};

#ifdef PARAMETER_TYPE
int32_t fake_open(const char* path, int64_t flags, fake_handle** handle) {
#elif defined(PARAMETER_COUNT)
int32_t fake_open(const char* path, int32_t flags, int32_t more, fake_handle** handle) {
  (void)more;
#else
int32_t fake_open(const char* path, int32_t flags, fake_handle** handle) {
#endif
  return path == NULL || flags == 0 || handle == NULL;
}

int32_t fake_read(const fake_handle* handle, fake_record* record) {
  record->first = (uint32_t)handle->flags;
  return 0;
}

#ifndef FUNCTION_GONE
void fake_close(fake_handle* handle) { handle->flags = 0; }
#endif
#ifdef FUNCTION_MORE
void fake_flush(fake_handle* handle) { handle->flags = 1; }
#endif
