/* Handles of the library as objects of JavaScript. An object's pointer is destroyed when the object
 * is closed (or collected, or its environment ends) and its running calls have returned. */
#ifndef TENON_NODE_HANDLES_H
#define TENON_NODE_HANDLES_H

#include <tenon/server.h>
#include <tenon/tenon.h>

#include "environment.h"
#include "generated.h" /* FUNCTIONS, KINDS, enum Kind */
#include "threads.h"

/* Functions of the libraries in use, one of each per process; NULL: the library lacks the function,
 * or none is in use. */
#define MEMBER(name) __typeof__(&tenon_##name) name;
typedef struct {
  FUNCTIONS(MEMBER)
  SERVER_FUNCTIONS(MEMBER)
} Api;
#undef MEMBER
extern Api api;

/* Memory that the library reads while anything made of it lives: the bytes of a model. */
typedef struct Memory {
  atomic_int users;
  size_t size;
  unsigned char data[];
} Memory;

struct Notice;
struct Log;

typedef struct Handle Handle;

/* A handle that another one needs while that lives. */
typedef struct Keep {
  struct Keep* next;
  Handle* handle;
} Keep;

struct Handle {
  void* pointer;
  enum Kind kind;
  bool is_lent; /* part of `owner`, not to be destroyed */
  Environment* environment;
  Handle* owner;         /* lender of the pointer, a request's session, a call's server; or NULL */
  Memory* kept;          /* or NULL */
  struct Notice* notice; /* of a request, of a call of a server */
  struct Log* log;       /* of a server, or NULL */
  atomic_int uses;       /* of the pointer: until it is closed, calls, lent handles, a thread */
  atomic_int holders;    /* of this struct: the object, the pointer */

  /* Under the lock of the environment. */
  Keep* keeps;     /* what a server serves */
  int num_keepers; /* servers that serve it or are being given it; closing it leaves it to them */
  bool stops_last; /* an engine closed meanwhile: the last server stops it */

  /* On the thread of the environment only. */
  bool is_closed;
  bool is_busy;            /* an exclusive call is running */
  bool has_thread;         /* tenon_engine_run is running */
  Handle *next, *previous; /* list of open handles */

  /* Job of the destruction. */
  Job job;
  Item item;
  napi_deferred gone; /* or NULL without a waiter */
};

enum { NULLABLE = 1, WHILE_BUSY = 2, LENT = 4 };

const char* kind_name(enum Kind kind);
bool kind_is_one_at_a_time(enum Kind kind);

/* Defines the classes of handles and of memory in an environment. */
bool handles_define(Environment* environment, napi_env env);
/* An object for a pointer. from: the handle it was made from, or NULL; flags: LENT, or 0. NULL with
 * an exception: the pointer has been destroyed. */
napi_value handle_create(Environment* environment, napi_env env, enum Kind kind, void* pointer,
                         Handle* from, int flags);
/* The handle of an object, closed or not; NULL if it is none. */
Handle* handle_of(napi_env env, napi_value object);
/* Ends its running calls that can be cancelled, and destroys it when they return. gone: resolved
 * then, or NULL. Only once; on the thread of the environment. */
void handle_close(Handle* handle, napi_deferred gone);
/* Adds or drops a use. Any thread. */
void handle_use(Handle* handle);
void handle_unuse(Handle* handle);
/* Keeps its handle from now on. On the thread of the environment. */
void keep_reserve(Keep* keep);
/* The keeper takes the reserved keeps until it has been destroyed. Any thread. */
void handle_keep(Handle* keeper, Keep** keeps);
/* Releases and frees them: an engine closed meanwhile stops with its last keep. Any thread. */
void keeps_let_go(Keep* keep);

/* memoryCreate(size), memoryWrite(memory, offset, bytes); the memory of an object, or NULL. */
napi_value memory_create(napi_env env, napi_callback_info info);
napi_value memory_write(napi_env env, napi_callback_info info);
Memory* memory_of(napi_env env, napi_value object);
void memory_hold(Memory* memory);
void memory_release(Memory* memory);

#endif
