/* Functions generated from the descriptions of the interfaces. See generate.py. */
#include "functions.h"

#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "values.h"

#define TENON_GENERATED_BODIES
#include "generated.h"

const FunctionList generated_list = {generated_functions,
                                     sizeof generated_functions / sizeof *generated_functions};

void read_submission(Call* call, napi_value given, tenon_submission* submission) {
  fill_submission(call, given, submission);
}
void read_server_options(Call* call, napi_value given, tenon_server_options* options) {
  fill_server_options(call, given, options);
}
void read_server_request(Call* call, napi_value given, tenon_server_request* request) {
  fill_server_request(call, given, request);
}

int32_t tell_progress(void* call, double fraction) { return on_progress_callback(call, fraction); }

napi_value structure_value(napi_env env, const char* name, const void* memory) {
  return read_struct(env, name, memory);
}
