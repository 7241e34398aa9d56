package tenon;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** How what waits without a thread hears of its request: one thread for the process, whatever the number of requests.
 * The library notifies on threads that may hold its locks, so there a number is put on a list and no more. */
final class Dispatcher {
  private static final AtomicLong KEYS = new AtomicLong();
  private static final Map<Long, Runnable> WAITING = new ConcurrentHashMap<>();
  private static final ConcurrentLinkedQueue<Long> READY = new ConcurrentLinkedQueue<>();
  private static volatile Thread thread;

  private Dispatcher() {}

  /** For one more request. */
  static long newKey() {
    return KEYS.incrementAndGet();
  }

  /** From now on `then` is called, on the dispatcher's thread, when the request may have something. What it had before
   * is to be looked for first. */
  static void await(long key, Runnable then) {
    start();
    WAITING.put(key, then);
  }

  static void forget(long key) {
    WAITING.remove(key);
  }

  /** From the library: on any thread, without locks, and nothing may be thrown. */
  static void notified(long key) {
    try {
      if (!WAITING.containsKey(key)) return;
      READY.add(key);
      LockSupport.unpark(thread);
    } catch (Throwable error) {
      return; // out of memory: the next notice wakes it
    }
  }

  private static synchronized void start() {
    if (thread != null) return;
    Thread made = new Thread(Dispatcher::run, "tenon dispatcher");
    made.setDaemon(true);
    thread = made;
    made.start();
  }

  private static void run() {
    while (true) {
      Long key = READY.poll();
      if (key == null) {
        LockSupport.park(Dispatcher.class);
        continue;
      }
      Runnable then = WAITING.get(key);
      if (then == null) continue;
      try {
        then.run();
      } catch (Throwable error) {
        thread.getUncaughtExceptionHandler().uncaughtException(thread, error);
      }
    }
  }
}
