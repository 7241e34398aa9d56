/* Lists of functions that JavaScript can call, and shared parts of the generated ones. */
#ifndef TENON_NODE_FUNCTIONS_H
#define TENON_NODE_FUNCTIONS_H

#include "call.h"

typedef struct {
  const Function* functions;
  size_t count;
} FunctionList;

extern const FunctionList generated_list; /* functions.c */
extern const FunctionList request_list;   /* requests.c */
extern const FunctionList loading_list;   /* loading.c */
extern const FunctionList embedding_list; /* embedding.c */
extern const FunctionList scoring_list;   /* scoring.c */
extern const FunctionList server_list;    /* server.c */

/* Structures from objects. */
void read_submission(Call* call, napi_value given, tenon_submission* submission);
void read_server_options(Call* call, napi_value given, tenon_server_options* options);
void read_server_request(Call* call, napi_value given, tenon_server_request* request);
/* tenon_progress_callback; user: a call with a callback. */
int32_t tell_progress(void* call, double fraction);
/* For tests of layouts: a structure in memory, zero beyond its size. */
napi_value structure_value(napi_env env, const char* name, const void* memory);

#endif
