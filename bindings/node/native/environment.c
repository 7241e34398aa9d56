/* See environment.h. */
#include "environment.h"

#include <stdlib.h>

#include "handles.h"

/* Items per turn. JavaScript that waits for them runs after it, so a turn must be short. */
enum { MOST_ITEMS = 32 };

void environment_hold(Environment* environment) { atomic_fetch_add(&environment->users, 1); }

void environment_release(Environment* environment) {
  if (atomic_fetch_sub(&environment->users, 1) != 1) return;
  pthread_mutex_destroy(&environment->lock);
  pthread_cond_destroy(&environment->answered);
  free(environment);
}

static void schedule_locked(Environment* environment) {
  if (environment->is_scheduled || environment->first == NULL) return;
  environment->is_scheduled =
      napi_call_threadsafe_function(environment->wake, NULL, napi_tsfn_nonblocking) == napi_ok;
}

bool environment_post_locked(Environment* environment, Item* item) {
  if (environment->is_closed) return false;
  item->next = NULL;
  if (environment->last == NULL) {
    environment->first = item;
  } else {
    environment->last->next = item;
  }
  environment->last = item;
  schedule_locked(environment);
  return true;
}

bool environment_post(Environment* environment, Item* item) {
  pthread_mutex_lock(&environment->lock);
  const bool is_posted = environment_post_locked(environment, item);
  pthread_mutex_unlock(&environment->lock);
  return is_posted;
}

void environment_take_back_locked(Environment* environment, Item* item) {
  Item* before = NULL;
  for (Item* at = environment->first; at != NULL; before = at, at = at->next) {
    if (at != item) continue;
    if (before == NULL) {
      environment->first = at->next;
    } else {
      before->next = at->next;
    }
    if (environment->last == at) environment->last = before;
    return;
  }
}

/* On the thread of the environment, for `wake`. */
static void deliver_items(napi_env env, napi_value function, void* context, void* data) {
  (void)function, (void)data;
  Environment* const environment = context;
  if (env == NULL) return;
  Item* items[MOST_ITEMS];
  size_t count = 0;
  pthread_mutex_lock(&environment->lock);
  environment->is_scheduled = false;
  while (count < MOST_ITEMS && environment->first != NULL) {
    Item* const item = environment->first;
    environment->first = item->next;
    if (environment->first == NULL) environment->last = NULL;
    items[count++] = item;
  }
  schedule_locked(environment);
  pthread_mutex_unlock(&environment->lock);
  for (size_t i = 0; i < count; ++i) {
    napi_handle_scope scope = NULL;
    napi_open_handle_scope(env, &scope);
    items[i]->deliver(items[i], env);
    napi_close_handle_scope(env, scope);
  }
}

/* Cancels running calls without waiting for them. Called at least once, on the thread. */
static void end_environment(void* data) {
  Environment* const environment = data;
  pthread_mutex_lock(&environment->lock);
  const bool was_closed = environment->is_closed;
  environment->is_closed = true;
  Item* item = environment->first;
  environment->first = environment->last = NULL;
  pthread_mutex_unlock(&environment->lock);
  if (was_closed) return;
  while (item != NULL) {
    Item* const next = item->next;
    item->deliver(item, NULL);
    item = next;
  }
  while (environment->handles != NULL) handle_close(environment->handles, NULL);
}

static void end_with_function(napi_env env, void* data, void* hint) {
  (void)env, (void)hint;
  end_environment(data);
  environment_release(data);
}

static void forget_instance(napi_env env, void* data, void* hint) {
  (void)env, (void)hint;
  end_environment(data);
  environment_release(data);
}

Environment* environment_create(napi_env env) {
  Environment* const environment = calloc(1, sizeof *environment);
  napi_value name = NULL;
  if (environment == NULL) {
    napi_throw_error(env, NULL, "no memory");
    return NULL;
  }
  atomic_init(&environment->users, 2); /* the instance data, and the threadsafe function */
  environment->thread = pthread_self();
  pthread_mutex_init(&environment->lock, NULL);
  pthread_cond_init(&environment->answered, NULL);
  if (napi_create_string_utf8(env, "tenon", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_threadsafe_function(env, NULL, NULL, name, 0, 1, environment, &end_with_function,
                                      environment, &deliver_items, &environment->wake) != napi_ok ||
      napi_unref_threadsafe_function(env, environment->wake) != napi_ok ||
      napi_set_instance_data(env, environment, &forget_instance, NULL) != napi_ok ||
      napi_add_env_cleanup_hook(env, &end_environment, environment) != napi_ok) {
    napi_throw_error(env, NULL, "tenon cannot be used in this environment");
    return NULL;
  }
  return environment;
}

Environment* environment_of(napi_env env) {
  void* data = NULL;
  napi_get_instance_data(env, &data);
  return data;
}

void environment_await(Environment* environment, napi_env env) {
  if (environment->num_awaited++ == 0) napi_ref_threadsafe_function(env, environment->wake);
}

void environment_came(Environment* environment, napi_env env) {
  if (--environment->num_awaited == 0) napi_unref_threadsafe_function(env, environment->wake);
}
