// Breaks of the binary interface, one at a time (BREAK), in front of the library: programs of the past must notice each.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>
#include <tenon/tenon.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#if BREAK == 1  // two fields of a structure change places
tenon_status tenon_session_next(tenon_session* session, tenon_sampler* sampler,
                                tenon_piece* piece) {
  const tenon_status status = REAL(tenon_session_next)(session, sampler, piece);
  const int32_t token = piece->token;
  piece->token = piece->finish;
  piece->finish = token;
  return status;
}
#elif BREAK == 2  // the numbers of errors change
tenon_status tenon_options_set_int(tenon_options* options, const char* key, int64_t value) {
  const tenon_status status = REAL(tenon_options_set_int)(options, key, value);
  return status == TENON_OK ? status : status + 1;
}
#elif BREAK == 3  // more is written than the struct_size that was given
tenon_status tenon_model_get_info(const tenon_model* model, tenon_model_info* info) {
  const uint32_t known = info->struct_size;
  const tenon_status status = REAL(tenon_model_get_info)(model, info);
  memset((char*)info + known, 0xAA, 16);
  return status;
}
#elif BREAK == 4  // a parameter has another type
tenon_status with_float(tenon_request*, float, tenon_piece*) __asm__("tenon_request_wait");
tenon_status with_float(tenon_request* request, float timeout, tenon_piece* piece) {
  return REAL(tenon_request_wait)(request, timeout, piece);
}
#elif BREAK == 5  // a constant has another number
tenon_status tenon_grammar_create(int32_t kind, const char* text, size_t length,
                                  tenon_grammar** grammar) {
  return REAL(tenon_grammar_create)(kind == TENON_GRAMMAR_REGEX ? TENON_GRAMMAR_GBNF : kind, text,
                                    length, grammar);
}
#elif BREAK == 6  // structures of the past are refused
tenon_status tenon_session_submit(tenon_session* session, const tenon_submission* submission,
                                  tenon_request** request) {
  tenon_submission larger = {0};
  memcpy(&larger, submission, submission->struct_size);
  larger.struct_size = 1;
  return REAL(tenon_session_submit)(session, &larger, request);
}
#endif
