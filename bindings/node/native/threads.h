/* Threads for calls that may wait: a few, more while those are blocked; idle ones end. They are not
 * the event loop's, which are few, serve files and names, and delay the exit of a process. */
#ifndef TENON_NODE_THREADS_H
#define TENON_NODE_THREADS_H

#include <stdbool.h>

/* Work for another thread; a member of its subject. */
typedef struct Job Job;
struct Job {
  Job* next;
  void (*run)(Job* job);
};

/* Runs it soon, once. Any thread. False if no thread can start. */
bool threads_run(Job* job);

/* Starts a separate thread, without signals, under a name of at most 15 characters; nothing waits
 * for its end. */
bool threads_start(const char* name, void* (*run)(void*), void* argument);

/* True on such a thread, which may wait. */
bool threads_is_one(void);

#endif
