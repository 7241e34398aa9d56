package tenon;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The threads that compute for engines. They know their engine's state alone, so an engine that nobody has any more
 * can go. */
final class Runners {
  private static final Set<Handle.State> RUNNING = ConcurrentHashMap.newKeySet();
  private static boolean hasHook;

  private Runners() {}

  static void start(Handle.State engine) {
    stopAtExit();
    long pointer = engine.enter(true);
    RUNNING.add(engine);
    Thread thread = new Thread(() -> {
      try {
        Library.use().engineRun(pointer);
      } finally {
        RUNNING.remove(engine);
        engine.leave(true);
      }
    }, "tenon engine");
    thread.setDaemon(true);
    thread.start();
  }

  /** System.exit waits 0.3 s for threads that are in native code; these leave it within a step. */
  private static synchronized void stopAtExit() {
    if (hasHook) return;
    hasHook = true;
    try {
      Runtime.getRuntime().addShutdownHook(new Thread(() -> RUNNING.forEach(Handle.State::stopEngine)));
    } catch (IllegalStateException ending) {
      return; // the process ends already
    }
  }
}
