/* Requests, and their notices to JavaScript: one each, set on any thread. */
#ifndef TENON_NODE_REQUESTS_H
#define TENON_NODE_REQUESTS_H

#include "call.h"

typedef struct Notice Notice;

/* A notice for a call that makes a request; NULL if the call has failed. */
Notice* notice_create(Call* call);
/* tenon_notify_callback; user: a notice. Any thread. */
void notice_tell(void* user);
/* Releases the waiter; nothing is notified from now on. On the thread of JavaScript. */
void notice_stop(Notice* notice, napi_env env);
/* Called after its request has been destroyed. Any thread. */
void notice_free(Notice* notice);

/* requestReady(request or call of a server) -> true if a piece may have come since the last time,
 * else a promise of it. */
napi_value request_ready(napi_env env, napi_callback_info info);

#endif
