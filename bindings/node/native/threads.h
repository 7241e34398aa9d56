/* Threads for calls that may wait: a few, and more while those stand still; ended when they are idle. Not those of
 * the event loop, which are few, serve files and names, and are waited for when a process exits. */
#ifndef TENON_NODE_THREADS_H
#define TENON_NODE_THREADS_H

#include <stdbool.h>

/* Something to be run on another thread; a member of what it is about. */
typedef struct Job Job;
struct Job {
  Job* next;
  void (*run)(Job* job);
};

/* Has it run soon, once. Any thread. False when no thread can be had. */
bool threads_run(Job* job);

/* Starts a thread of its own, without signals, under a name of at most 15 characters; nobody waits for its end. */
bool threads_start(const char* name, void* (*run)(void*), void* argument);

/* Whether this is one of them, where waiting is fine. */
bool threads_is_one(void);

#endif
