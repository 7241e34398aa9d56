package tenon;

import java.util.concurrent.ThreadFactory;

/** Threads of the binding's own, which do not keep the process alive. */
final class Background {
  /** Tests have it fail. */
  static volatile ThreadFactory factory = Thread::new;

  private Background() {}

  /** Throws OutOfMemoryError where the process can have no more threads; then nothing runs. */
  static Thread start(Runnable run, String name) {
    Thread thread = factory.newThread(run);
    thread.setName(name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /** Tells of what ends nothing. */
  static void report(Throwable error) {
    Thread thread = Thread.currentThread();
    thread.getUncaughtExceptionHandler().uncaughtException(thread, error);
  }
}
