package tenon;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The thread that computes for what waits without one: steps of an engine, as long as there are such generations, or a
 * server has it. It is in native code for a step at most, since System.exit waits 0.3 s for threads that are. It knows
 * its engine's state alone, so an engine that nobody has any more can go. */
final class EngineRunner implements Runnable {
  private static final long IDLE_MILLISECONDS = 2000;
  /** While others compute, pieces wait for their subscribers, or no request comes to the server. */
  private static final long LONGEST_PAUSE_MILLISECONDS = 16;

  private final Handle.State engine;
  private final Set<Generation> driven = new HashSet<>();
  private int servers;
  private Thread thread;
  private long pause = 1;

  EngineRunner(Handle.State engine) {
    this.engine = engine;
  }

  /** Has the generation computed until it is removed. */
  synchronized void add(Generation generation) {
    wake();
    driven.add(generation);
  }

  /** Has whatever comes to the engine computed until leaveServer(). */
  synchronized void enterServer() {
    wake();
    ++servers;
  }

  synchronized void leaveServer() {
    --servers;
  }

  /** Before what is added, which must not be there where there can be no thread. */
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
    if (!has) thread = null; // at once: who adds something now has another one
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
      return false; // closed, or the generations concerned hear of it
    } catch (Throwable error) { // short of memory, say: a server's requests wake nobody
      Background.report(error);
      synchronized (this) {
        pause = IDLE_MILLISECONDS; // one that stays is told of now and then
      }
      return false;
    }
    synchronized (this) {
      pause = 1;
    }
    return true;
  }
}
