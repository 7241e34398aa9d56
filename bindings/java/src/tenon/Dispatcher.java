package tenon;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Wakes waiters that have no thread: one thread per process, for any number of requests. The
 * library notifies on threads that may hold its locks, so the notification only puts a number on a
 * list. */
final class Dispatcher {
  private static final AtomicLong KEYS = new AtomicLong();
  private static final Map<Long, Runnable> WAITING = new ConcurrentHashMap<>();
  private static final ConcurrentLinkedQueue<Long> READY = new ConcurrentLinkedQueue<>();
  private static volatile Thread thread;

  private Dispatcher() {}

  /** A key for another request. */
  static long newKey() {
    return KEYS.incrementAndGet();
  }

  /** Calls `then`, on the dispatcher's thread, when the request may have a piece from now on. Look
   * first for pieces that came before. */
  static void await(long key, Runnable then) {
    start();
    WAITING.put(key, then);
  }

  static void forget(long key) {
    WAITING.remove(key);
  }

  /** Called by the library on any thread, without locks; must not throw. */
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
