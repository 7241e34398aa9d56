/* Lines that the library logs, on any thread, for a function of JavaScript. */
#ifndef TENON_NODE_LOG_H
#define TENON_NODE_LOG_H

#include "call.h"

typedef struct Log Log;

/* A log for a function of two arguments, level and text; NULL if the call has failed. */
Log* log_create(Call* call, napi_value function);
/* tenon_log_callback; user: a log. Any thread; waits for nothing. */
void log_line(void* user, uint32_t level, const char* text, uint64_t length);
/* Frees the log after its lines were delivered. Any thread; nothing logs any more. */
void log_end(Log* log);

#endif
