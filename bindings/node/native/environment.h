/* JavaScript environments: the main thread, and each worker. Other threads hand over what is to be done on
 * the thread of an environment; here is the way there, what keeps its loop alive, and its end. */
#ifndef TENON_NODE_ENVIRONMENT_H
#define TENON_NODE_ENVIRONMENT_H

#include <node_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct Handle;

/* Something to be done on the thread of an environment; a member of what it is about. */
typedef struct Item Item;
struct Item {
  Item* next;
  /* env NULL: the environment has ended, and what the item is about is to be freed. */
  void (*deliver)(Item* item, napi_env env);
};

typedef struct Environment {
  atomic_int users; /* the environment itself, handles, calls and notices */
  pthread_t thread;

  pthread_mutex_t lock;    /* of the following, and of notices (requests.c) */
  pthread_cond_t answered; /* a question was (call.h) */
  bool is_closed;          /* nothing is delivered any more */
  bool is_scheduled;       /* `wake` was called, and has not come yet */
  Item *first, *last;
  napi_threadsafe_function wake;

  /* On the thread of the environment only. */
  size_t num_awaited; /* that keep the loop alive */
  struct Handle* handles;
  napi_ref handle_class, memory_class;
  napi_ref make_error; /* (status, message) -> Error */
} Environment;

/* Makes that of `env`, whose instance data it becomes; NULL with an exception. */
Environment* environment_create(napi_env env);
Environment* environment_of(napi_env env);
void environment_hold(Environment* environment);
void environment_release(Environment* environment);

/* Has the item delivered. Any thread. False when the environment has ended: it is still the caller's. */
bool environment_post(Environment* environment, Item* item);
/* The same for who has the lock. */
bool environment_post_locked(Environment* environment, Item* item);
/* Takes an item back that was not delivered yet. Under the lock. */
void environment_take_back_locked(Environment* environment, Item* item);

/* The loop goes on as long as there is more that is awaited than has come. */
void environment_await(Environment* environment, napi_env env);
void environment_came(Environment* environment, napi_env env);

#endif
