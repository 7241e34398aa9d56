/* One call of a function of the library. Its arguments are read on the thread of JavaScript. It
 * runs there (now) or on another thread (later). Its result is made on the thread of JavaScript
 * again. */
#ifndef TENON_NODE_CALL_H
#define TENON_NODE_CALL_H

#include "handles.h"

typedef struct Call Call;

/* Description of a function. */
typedef struct {
  const char* name;
  size_t num_arguments;
  size_t call_size; /* of the struct that begins with its Call */
  void** function;  /* in `api` */
  void (*parse)(Call* call);
  void (*run)(Call* call);
  napi_value (*result)(Call* call);
  void (*free)(Call* call); /* or NULL */
} Function;

enum { MOST_ARGUMENTS = 8, MOST_HANDLES = 8 };

struct Call {
  Item item;
  Job job;
  const Function* of;
  Environment* environment;
  napi_env env;                         /* on the thread of JavaScript only */
  napi_value arguments[MOST_ARGUMENTS]; /* valid while they are read */
  bool has_failed;                      /* an exception is pending: an argument was wrong */
  Handle* handles[MOST_HANDLES];        /* in use by the call */
  bool is_alone[MOST_HANDLES];          /* it uses the handle exclusively */
  size_t num_handles;
  Keep* keeps;          /* for handle_keep, not taken yet */
  struct Block* blocks; /* memory that lives until it returns */
  Memory* memory;       /* memory of an argument; or NULL */
  napi_deferred deferred;
  napi_ref callback; /* the callback, or NULL */
  napi_ref thrown;   /* an array with its exception, or NULL */
  bool has_thrown;
  tenon_status status;
  char* message;        /* of a failure */
  int32_t system_error; /* errno of the failure, or 0 */
};

/* Defines a JavaScript function that makes the call; data: its Function. */
napi_value call_now(napi_env env, napi_callback_info info);
napi_value call_later(napi_env env, napi_callback_info info);

/* Memory [size], zeroed, that lives until the call returns; NULL with an exception if it failed. */
void* scratch(Call* call, size_t size);
/* Keeps the message of a failure, of libtenon and of libtenon-server. On the thread of the call, before anything else
 * is called. */
void keep_message(Call* call);
void keep_server_message(Call* call);
/* For handle_keep: keeps all handles of the call but the first, after its arguments have been read.
 * They are released with the call unless they are taken. */
void reserve_keeps(Call* call);
/* Fails a call that is running. */
void fail_running(Call* call, tenon_status status, const char* message);
/* Makes a buffer of a running call hold `needed` elements. */
bool grow(Call* call, void** buffer, size_t* capacity, size_t needed, size_t size);

/* Calls the callback of the call `user` on the thread of JavaScript, with arguments that `make`
 * makes from `data`, and waits. Nonzero: it returned true, threw, or the environment has ended. */
int32_t ask_javascript(void* user,
                       size_t (*make)(napi_env env, const void* data, napi_value* arguments),
                       const void* data);

/* Throws the error of a status. */
void throw_status(Environment* environment, napi_env env, tenon_status status, const char* message);

#endif
