package tenon;

import java.lang.ref.Cleaner;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** An object of the library. It counts its running calls, so that closing is allowed at any time
 * from any thread: the object is freed when the last of them returns, and later ones are refused.
 */
final class Handle implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  final State state;
  private final Cleaner.Cleanable cleanable;

  private Handle(State state) {
    this.state = state;
    cleanable = CLEANER.register(this, state);
  }

  /** Result of a function; null for NULL. parent: the object it was made from, whose memory it may
   * use. */
  static Handle of(Kind kind, long pointer, Handle parent) {
    return pointer == 0 ? null : new Handle(new State(kind, pointer, null, parent == null ? null : parent.state.keeps));
  }

  /** A request of a session or a server. Closing that closes the request first: two threads would
   * both wait for its end. */
  static Handle within(Kind kind, long pointer, Handle whole) {
    State made = new State(kind, pointer, null, whole.state.keeps);
    made.whole = whole.state;
    if (!whole.state.begin(made)) made.run();
    return new Handle(made);
  }

  /** Part of another object, valid as long as that. */
  static Handle lent(Kind kind, long pointer, Handle owner) {
    owner.state.hold();
    return new Handle(new State(kind, pointer, owner.state, owner.state.keeps));
  }

  /** Memory of Java's that the object, and all that is made from it, reads. */
  static Handle withMemory(Kind kind, long pointer, Object memory) {
    return new Handle(new State(kind, pointer, null, memory));
  }

  @Override
  public void close() {
    cleanable.clean();
  }

  boolean isLive() {
    return state.isLive();
  }

  /** The state behind a handle. It does not refer to the handle, so that the Cleaner can free
   * unclosed ones. */
  static final class State implements Runnable {
    private final Kind kind;
    private final State owner;
    /** Memory is reachable as long as the cleaner has this, so it outlives the object. */
    private final Object keeps;
    private long pointer;
    private int calls;
    private int holds;
    private boolean isInUse; // by an exclusive call
    private boolean isClosed;
    private State whole; // owner of a request
    private final Set<State> requests = new HashSet<>(); // of a session or a server, until destroyed
    private final List<Runnable> afterwards = new ArrayList<>(); // actions after its destruction

    private State(Kind kind, long pointer, State owner, Object keeps) {
      this.kind = kind;
      this.pointer = pointer;
      this.owner = owner;
      this.keeps = keeps;
    }

    /** Begins a call. */
    synchronized long enter(boolean alongside) {
      if (isClosed) throw new TenonException.State("the " + kind.title + " has been closed");
      if (kind.oneAtATime && !alongside) {
        if (isInUse) throw new TenonException.State("the " + kind.title + " is in use by another call");
        if (holds > 0) {
          throw new TenonException.State("numbers of the " + kind.title + " are still in use: close its Logits");
        }
        isInUse = true;
      }
      ++calls;
      return pointer;
    }

    /** Ends a call. */
    void leave(boolean alongside) {
      long last;
      synchronized (this) {
        --calls;
        if (kind.oneAtATime && !alongside) isInUse = false;
        last = takeIfLast();
      }
      destroy(last);
    }

    /** Begins a call even on a closed object, while something keeps it alive. */
    synchronized long enterAlive() {
      if (pointer == 0) throw new TenonException.State("the " + kind.title + " has been closed");
      ++calls;
      return pointer;
    }

    /** True until it is destroyed: it is open, or closed and kept alive. */
    synchronized boolean isAlive() {
      return pointer != 0;
    }

    /** Notes a user of its memory. */
    synchronized void hold() {
      ++holds;
    }

    /** Notes a user that only an open object can have. */
    synchronized void holdOpen() {
      if (isClosed) throw new TenonException.State("the " + kind.title + " has been closed");
      ++holds;
    }

    /** Runs the action after destruction; false: it is destroyed already. */
    synchronized boolean afterwards(Runnable action) {
      return pointer != 0 && afterwards.add(action);
    }

    /** Withdraws the action; false: it has run, or is about to. */
    synchronized boolean withdraw(Runnable action) {
      return afterwards.remove(action);
    }

    private synchronized List<Runnable> takeAfterwards() {
      List<Runnable> actions = List.copyOf(afterwards);
      afterwards.clear();
      return actions;
    }

    void release() {
      long last;
      synchronized (this) {
        --holds;
        last = takeIfLast();
      }
      destroy(last);
    }

    synchronized boolean isLive() {
      return !isClosed;
    }

    /** Closes it: now, or when running calls return, which it ends if possible. */
    @Override
    public void run() {
      final long last;
      final boolean isBusy;
      final List<State> under;
      synchronized (this) {
        if (isClosed) return;
        isClosed = true;
        last = takeIfLast();
        isBusy = calls > 0;
        if (isBusy) ++calls;
        under = List.copyOf(requests);
      }
      Runnable rest = () -> {
        under.forEach(State::run);
        if (isBusy) {
          endCalls();
          leave(true);
        }
        destroy(last);
      };
      // Closed by its own log: a thread of the server's cannot wait for itself.
      if (kind == Kind.SERVER && Callback.isInside()) {
        new Thread(rest, "tenon server end").start();
      } else {
        rest.run();
      }
    }

    private void endCalls() {
      NativeCalls library = Library.use();
      switch (kind) {
        case SESSION -> library.sessionCancel(pointer);
        case REQUEST -> library.requestCancel(pointer);
        case SERVER -> library.serverStop(pointer, 0);
        default -> { }
      }
    }

    private long takeIfLast() {
      if (!isClosed || calls > 0 || holds > 0 || !requests.isEmpty()) return 0;
      long last = pointer;
      pointer = 0;
      return last;
    }

    /** Outside of the lock: it may wait for a running callback. */
    private void destroy(long last) {
      if (last == 0) return;
      if (owner != null) {
        owner.release();
        return;
      }
      kind.destroy(Library.use(), last);
      if (whole != null) whole.end(this);
      takeAfterwards().forEach(Runnable::run);
    }

    /** True if it is open. */
    private synchronized boolean begin(State request) {
      requests.add(request);
      return !isClosed;
    }

    private void end(State request) {
      long last;
      synchronized (this) {
        requests.remove(request);
        last = takeIfLast();
      }
      destroy(last);
    }
  }
}
