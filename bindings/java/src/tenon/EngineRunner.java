package tenon;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The thread that computes for waiters without one: steps of an engine, while there are such
 * generations, or a server uses it. It is in native code for a step at most, because System.exit
 * waits 0.3 s for threads that are. It knows only its engine's state, so an unreferenced engine can
 * be freed. */
final class EngineRunner implements Runnable {
  private static final long IDLE_MILLISECONDS = 2000;
  /** Pause while others compute, pieces wait for their subscribers, or no request comes to the
   * server. */
  private static final long LONGEST_PAUSE_MILLISECONDS = 16;

  private final Handle.State engine;
  private final Set<Generation> driven = new HashSet<>();
  private int servers;
  private Thread thread;
  private long pause = 1;

  EngineRunner(Handle.State engine) {
    this.engine = engine;
  }

  /** Computes the generation until it is removed. */
  synchronized void add(Generation generation) {
    wake();
    driven.add(generation);
  }

  /** Computes all work of the engine until leaveServer(). */
  synchronized void enterServer() {
    wake();
    ++servers;
  }

  synchronized void leaveServer() {
    --servers;
  }

  /** Call it before adding work, which must not be there if no thread can start. */
  private void wake() {
    pause = 1;
    notifyAll();
    if (thread == null) thread = Background.start(this, "tenon engine");
  }

  synchronized void remove(Generation generation) {
    driven.remove(generation);
  }

  synchronized List<Generation> all() {
    return new ArrayList<>(driven);
  }

  @Override
  public void run() {
    try {
      while (hasWork()) {
        if (!step()) rest();
      }
    } catch (InterruptedException unasked) {
      return;
    } finally {
      end();
    }
  }

  private synchronized boolean hasWork() throws InterruptedException {
    if (driven.isEmpty() && servers == 0) wait(IDLE_MILLISECONDS);
    boolean has = (!driven.isEmpty() || servers > 0) && engine.isAlive();
    if (!has) thread = null; // at once: work added now starts another one
    return has;
  }

  private synchronized void rest() throws InterruptedException {
    wait(pause);
    pause = Math.min(2 * pause, LONGEST_PAUSE_MILLISECONDS);
  }

  private synchronized void end() {
    if (thread == Thread.currentThread()) thread = null;
  }

  private boolean step() {
    try (Call call = new Call()) {
      Block worked = call.block(8);
      call.check(call.library.engineStep(call.state(engine), worked.address));
      if (worked.int32(0) == 0) return false;
    } catch (TenonException error) {
      return false; // closed, or the affected generations get the error
    } catch (Throwable error) { // out of memory, for instance: a server's requests wake nobody
      Background.report(error);
      synchronized (this) {
        pause = IDLE_MILLISECONDS; // a lasting one is reported now and then
      }
      return false;
    }
    synchronized (this) {
      pause = 1;
    }
    return true;
  }
}
