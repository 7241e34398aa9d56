/* JavaScript environments: the main thread, and each worker. Other threads post items to the thread
 * of an environment. This file has the queue, the references that keep its loop alive, and its end.
 */
#ifndef TENON_NODE_ENVIRONMENT_H
#define TENON_NODE_ENVIRONMENT_H

#include <node_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct Handle;

/* Work for the thread of an environment; a member of its subject. */
typedef struct Item Item;
struct Item {
  Item* next;
  /* env NULL: the environment has ended; free the item's subject. */
  void (*deliver)(Item* item, napi_env env);
};

typedef struct Environment {
  atomic_int users; /* the environment itself, handles, calls and notices */
  pthread_t thread;

  pthread_mutex_t lock;    /* of the following members, and of notices (requests.c) */
  pthread_cond_t answered; /* a question was answered (call.h) */
  bool is_closed;          /* no item is delivered any more */
  bool is_scheduled;       /* `wake` was called and is pending */
  Item *first, *last;
  napi_threadsafe_function wake;

  /* On the thread of the environment only. */
  size_t num_awaited; /* that keep the loop alive */
  struct Handle* handles;
  napi_ref handle_class, memory_class;
  napi_ref make_error; /* (status, message) -> Error */
} Environment;

/* Makes the environment of `env`, as its instance data; NULL with an exception. */
Environment* environment_create(napi_env env);
Environment* environment_of(napi_env env);
void environment_hold(Environment* environment);
void environment_release(Environment* environment);

/* Posts the item. Any thread. False if the environment has ended: the item stays the caller's. */
bool environment_post(Environment* environment, Item* item);
/* environment_post for a holder of the lock. */
bool environment_post_locked(Environment* environment, Item* item);
/* Takes back an undelivered item. Under the lock. */
void environment_take_back_locked(Environment* environment, Item* item);

/* Keeps the loop alive while more items are awaited than have come. */
void environment_await(Environment* environment, napi_env env);
void environment_came(Environment* environment, napi_env env);

#endif
