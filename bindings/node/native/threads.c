/* See threads.h. */
#include "threads.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

/* Calls beyond these wait in line. More threads than processors are needed only because some sleep. */
enum { MOST_THREADS = 64, IDLE_SECONDS = 5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_job = PTHREAD_COND_INITIALIZER;
static Job *first, *last;
static int num_threads, num_idle, num_jobs;
static _Thread_local bool is_one;

static void* serve(void* nothing) {
  (void)nothing;
  is_one = true;
  pthread_mutex_lock(&lock);
  for (;;) {
    int status = 0;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += IDLE_SECONDS;
    ++num_idle;
    while (first == NULL && status == 0) status = pthread_cond_timedwait(&has_job, &lock, &until);
    --num_idle;
    if (first == NULL) break;
    Job* const job = first;
    first = job->next;
    if (first == NULL) last = NULL;
    --num_jobs;
    pthread_mutex_unlock(&lock);
    job->run(job);
    pthread_mutex_lock(&lock);
  }
  --num_threads;
  pthread_mutex_unlock(&lock);
  return NULL;
}

bool threads_start(void* (*run)(void*), void* argument) {
  /* Signals are for the threads of the host. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool is_started = pthread_create(&thread, NULL, run, argument) == 0;
  if (is_started) pthread_detach(thread);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return is_started;
}

bool threads_run(Job* job) {
  pthread_mutex_lock(&lock);
  if (num_idle <= num_jobs && num_threads < MOST_THREADS && threads_start(&serve, NULL)) {
    ++num_threads;
  }
  const bool is_taken = num_threads > 0;
  if (is_taken) {
    job->next = NULL;
    if (last == NULL) {
      first = job;
    } else {
      last->next = job;
    }
    last = job;
    ++num_jobs;
    pthread_cond_signal(&has_job);
  }
  pthread_mutex_unlock(&lock);
  return is_taken;
}

bool threads_is_one(void) { return is_one; }
