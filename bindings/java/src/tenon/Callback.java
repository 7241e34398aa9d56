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
    try {
      return body.run(callback.function) ? 1 : 0;
    } catch (Throwable error) {
      callback.thrown = error;
      return 1;
    }
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
