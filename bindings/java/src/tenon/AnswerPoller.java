package tenon;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Wakes waiters for a server's answer that have no thread: one thread per process polls. The
 * server could notify, but on threads of its own, and a thread that was in Java once makes
 * System.exit wait 0.3 s. */
final class AnswerPoller {
  private static final long FIRST_PAUSE_MILLISECONDS = 1;
  /** Pause while nothing comes. */
  private static final long LONGEST_PAUSE_MILLISECONDS = 8;
  /** Polling takes at most one part in so many of the time. */
  private static final long SHARE = 10;

  private static final Map<ServerAnswer, Runnable> WAITING = new ConcurrentHashMap<>();
  private static final Object LOCK = new Object();
  private static boolean isRunning;

  private AnswerPoller() {}

  /** Calls `then`, on the poller's thread, whenever a part is ready from now on. Look first for
   * parts that came before. */
  static void await(ServerAnswer answer, Runnable then) {
    synchronized (LOCK) {
      if (!isRunning) Background.start(AnswerPoller::run, "tenon answers");
      isRunning = true;
      WAITING.put(answer, then);
      LOCK.notifyAll();
    }
  }

  static void forget(ServerAnswer answer) {
    WAITING.remove(answer);
  }

  /** Number of polled answers. */
  static int waiting() {
    return WAITING.size();
  }

  private static void run() {
    try {
      poll();
    } finally { // only an Error ends it: the next waiter starts another thread
      synchronized (LOCK) {
        isRunning = false;
      }
    }
  }

  private static void poll() {
    long pause = FIRST_PAUSE_MILLISECONDS;
    while (true) {
      long start = System.nanoTime();
      boolean hasCome = look();
      long took = (System.nanoTime() - start) / 1_000_000;
      pause = hasCome ? FIRST_PAUSE_MILLISECONDS : Math.min(2 * pause, LONGEST_PAUSE_MILLISECONDS);
      try {
        synchronized (LOCK) {
          // A new waiter ends a pause: it is polled soon.
          LOCK.wait(WAITING.isEmpty() ? 0 : Math.max(pause, SHARE * took));
          if (WAITING.isEmpty()) continue;
        }
      } catch (InterruptedException unasked) {
        continue;
      }
    }
  }

  private static boolean look() {
    boolean hasCome = false;
    for (Map.Entry<ServerAnswer, Runnable> entry : WAITING.entrySet()) {
      try {
        if (!entry.getKey().hasNews()) continue;
        hasCome = true;
        entry.getValue().run();
      } catch (Throwable error) {
        Background.report(error);
      }
    }
    return hasCome;
  }
}
