package tenon;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** A program's function that the library calls, and its exception. The library knows it by its key.
 */
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

  /** Called by the library, through which nothing may be thrown. After its first exception the
   * function is not called again. Returns the callback's result: 0 to continue. */
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

  /** True in a function that the library called. */
  static boolean isInside() {
    return DEPTH.get() > 0;
  }

  /** Rethrows the function's exception, unchanged. */
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
