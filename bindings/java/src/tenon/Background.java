package tenon;

import java.util.concurrent.ThreadFactory;

/** Threads of the binding, which do not keep the process alive. */
final class Background {
  /** Tests make it fail. */
  static volatile ThreadFactory factory = Thread::new;

  private Background() {}

  /** Throws OutOfMemoryError if the process can have no more threads; nothing runs then. */
  static Thread start(Runnable run, String name) {
    Thread thread = factory.newThread(run);
    thread.setName(name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  /** Reports an error that ends nothing. */
  static void report(Throwable error) {
    Thread thread = Thread.currentThread();
    thread.getUncaughtExceptionHandler().uncaughtException(thread, error);
  }
}
