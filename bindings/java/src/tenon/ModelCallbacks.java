package tenon;

import java.util.function.DoublePredicate;

/** Callbacks of a model while it loads and later. */
public abstract class ModelCallbacks<S extends ModelCallbacks<S>> extends Options<S> {
  /** Lines of the log. */
  @FunctionalInterface
  public interface Log {
    /** level: Constants.LOG_*. On any thread. */
    void line(int level, String line);
  }

  private DoublePredicate progress;
  private Log log;
  private int logLevel;

  ModelCallbacks() {}

  /** Called with 0 .. 1 while the model loads; true cancels with {@link TenonException.Cancelled}.
   * Model.open throws its exception. */
  @SuppressWarnings("unchecked")
  public S onProgress(DoublePredicate function) {
    progress = function;
    return (S) this;
  }

  /** Called with the log's lines up to a level, until the process ends. */
  @SuppressWarnings("unchecked")
  public S onLog(int level, Log function) {
    logLevel = level;
    log = function;
    return (S) this;
  }

  /** Both functions under the library's one key for them. */
  private record Functions(DoublePredicate progress, Log log) implements Upcalls.OnProgress, Upcalls.OnLog {
    @Override
    public boolean call(double fraction) {
      return progress.test(fraction);
    }

    @Override
    public void call(int level, String text) {
      pass(log, level, text);
    }
  }

  /** No call of the library can throw a line function's exception. */
  static void pass(Log log, int level, String text) {
    try {
      log.line(level, text);
    } catch (RuntimeException error) {
      Thread thread = Thread.currentThread();
      thread.getUncaughtExceptionHandler().uncaughtException(thread, error);
    }
  }

  /** Fills tenon_callbacks; null: the library needs none. */
  Callback fill(Block callbacks, NativeCalls library) {
    if (progress == null && log == null) return null;
    Callback made = Callback.of(new Functions(progress, log));
    callbacks.int32(Layouts.Callbacks.LOG_LEVEL, logLevel);
    callbacks.int64(Layouts.Callbacks.USER, made.key);
    if (progress != null) callbacks.int64(Layouts.Callbacks.PROGRESS, library.upcall(Upcalls.PROGRESS_CALLBACK));
    if (log != null) callbacks.int64(Layouts.Callbacks.LOG, library.upcall(Upcalls.LOG_CALLBACK));
    return made;
  }

  boolean hasLog() {
    return log != null;
  }
}
