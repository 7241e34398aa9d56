/* See threads.h. */
#include "threads.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Most calls take microseconds, so a few threads are enough for any number of calls. Some sleep or
 * compute for long: one more thread starts if jobs wait and none was taken for STILL_NS. */
enum { USUAL_THREADS = 4, MOST_THREADS = 64, STILL_NS = 1000000, IDLE_SECONDS = 5 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_job = PTHREAD_COND_INITIALIZER;
static pthread_cond_t has_waiting_job = PTHREAD_COND_INITIALIZER; /* for the watch */
static Job *first, *last;
static int num_threads, num_idle, num_jobs;
static uint64_t num_taken;
static bool has_watch;
static _Thread_local bool is_one;

static struct timespec in_future(time_t seconds, long nanoseconds) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += seconds + (until.tv_nsec + nanoseconds) / 1000000000;
  until.tv_nsec = (until.tv_nsec + nanoseconds) % 1000000000;
  return until;
}

static void* serve(void* nothing) {
  (void)nothing;
  is_one = true;
  pthread_mutex_lock(&lock);
  for (;;) {
    int status = 0;
    const struct timespec until = in_future(IDLE_SECONDS, 0);
    ++num_idle;
    while (first == NULL && status == 0) status = pthread_cond_timedwait(&has_job, &lock, &until);
    --num_idle;
    if (first == NULL) break;
    Job* const job = first;
    first = job->next;
    if (first == NULL) last = NULL;
    --num_jobs;
    ++num_taken;
    pthread_mutex_unlock(&lock);
    job->run(job);
    pthread_mutex_lock(&lock);
  }
  --num_threads;
  pthread_mutex_unlock(&lock);
  return NULL;
}

/* Starts one more thread of the pool. Under the lock. */
static bool add_thread(void) {
  if (num_threads >= MOST_THREADS || !threads_start("tenon-call", &serve, NULL)) return false;
  ++num_threads;
  return true;
}

/* Keeps jobs from waiting for calls that sleep. Lives as long as the process, asleep while no job
 * waits. */
static void* watch(void* nothing) {
  (void)nothing;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (num_jobs <= num_idle) pthread_cond_wait(&has_waiting_job, &lock);
    const uint64_t taken_before = num_taken;
    const struct timespec until = in_future(0, STILL_NS);
    pthread_mutex_unlock(&lock);
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
    pthread_mutex_lock(&lock);
    if (num_jobs > num_idle && num_taken == taken_before) (void)add_thread();
  }
  return NULL;
}

bool threads_start(const char* name, void* (*run)(void*), void* argument) {
  /* Signals are for the threads of the host. */
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool is_started = pthread_create(&thread, NULL, run, argument) == 0;
  if (is_started) {
    pthread_setname_np(thread, name);
    pthread_detach(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return is_started;
}

bool threads_run(Job* job) {
  pthread_mutex_lock(&lock);
  if (num_idle <= num_jobs && num_threads < USUAL_THREADS) (void)add_thread();
  if (!has_watch) has_watch = threads_start("tenon-watch", &watch, NULL);
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
    if (num_jobs > num_idle) pthread_cond_signal(&has_waiting_job);
  }
  pthread_mutex_unlock(&lock);
  return is_taken;
}

bool threads_is_one(void) { return is_one; }
