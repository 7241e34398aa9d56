package tenon;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** A function of a program that the library calls, and what it threw. The library knows it by its key. */
final class Callback {
  /** Calls the function; true ends the library's call. */
  interface Body {
    boolean run(Object function) throws Exception;
  }

  private static final AtomicLong KEYS = new AtomicLong();
  private static final ThreadLocal<Integer> DEPTH = ThreadLocal.withInitial(() -> 0);
  private static final Map<Long, Callback> ALL = new ConcurrentHashMap<>();

  final long key = KEYS.incrementAndGet();
  private final Object function;
  private volatile Throwable thrown;

  private Callback(Object function) {
    this.function = function;
  }

  static Callback of(Object function) {
    Callback made = new Callback(function);
    ALL.put(made.key, made);
    return made;
  }

  /** From the library, which nothing may be thrown through. After the first throw the function is not called
   * again. Returns what a callback returns: 0 to go on. */
  static int run(long key, Body body) {
    Callback callback = ALL.get(key);
    if (callback == null || callback.thrown != null) return 1;
    int depth = DEPTH.get();
    DEPTH.set(depth + 1);
    try {
      return body.run(callback.function) ? 1 : 0;
    } catch (Throwable error) {
      callback.thrown = error;
      return 1;
    } finally {
      if (depth == 0) DEPTH.remove(); else DEPTH.set(depth);
    }
  }

  /** Whether this thread is in a function that the library called. */
  static boolean isInside() {
    return DEPTH.get() > 0;
  }

  /** Throws on what the function threw, as it was. */
  void rethrow() {
    if (thrown != null) sneak(thrown);
  }

  @SuppressWarnings("unchecked")
  private static <T extends Throwable> void sneak(Throwable thrown) throws T {
    throw (T) thrown;
  }

  void end() {
    ALL.remove(key);
  }
}
