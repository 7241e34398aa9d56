package tenon;

import java.lang.ref.Cleaner;
import java.nio.FloatBuffer;

/** Logits [vocabulary] f32 in the library's memory, until they are closed. Their session meanwhile
 * refuses calls with {@link TenonException.State}.
 *
 * <pre>{@code
 * try (Logits logits = session.logits()) {
 *   float first = logits.get(0);
 * }
 * }</pre>
 *
 * From Java 22 on nothing is copied, and reading a buffer after the close throws
 * IllegalStateException. Older Java cannot take a buffer back, so it is a copy. */
public final class Logits implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  private final End end;
  private final Cleaner.Cleanable cleanable;
  private final Lent lent;
  private final FloatBuffer values;
  private int users;
  private boolean isClosed;

  /** Ends the loan; without the object, for the Cleaner. */
  private record End(Lent lent, Handle.State owner) implements Runnable {
    @Override
    public void run() {
      lent.close();
      owner.release();
    }
  }

  private Logits(Handle.State owner, Lent lent) {
    this.lent = lent;
    values = lent.floats();
    end = new End(lent, owner);
    cleanable = CLEANER.register(this, end);
  }

  /** During a call on the owner. */
  static Logits lent(Handle owner, long address, long count) {
    Lent lent = Library.use().lend(address, 4 * count);
    owner.state.hold();
    return new Logits(owner.state, lent);
  }

  /** Number of logits: the vocabulary. */
  public int size() {
    return values.limit();
  }

  /** The logit of a token. */
  public synchronized float get(int token) {
    checkOpen();
    return values.get(token);
  }

  /** All logits, read-only. */
  public synchronized FloatBuffer buffer() {
    checkOpen();
    return values.duplicate();
  }

  /** A copy. */
  public synchronized float[] toArray() {
    checkOpen();
    float[] copy = new float[values.limit()];
    values.get(0, copy);
    return copy;
  }

  private void checkOpen() {
    if (isClosed) throw new TenonException.State("the logits have been closed");
  }

  /** For a call of the library that reads them; a close waits for leave(). */
  synchronized Block enter() {
    checkOpen();
    ++users;
    return new Block(null, 0, lent.address, values.limit());
  }

  void leave() {
    boolean isLast;
    synchronized (this) {
      isLast = --users == 0 && isClosed;
    }
    if (isLast) cleanable.clean();
  }

  @Override
  public void close() {
    boolean isLast;
    synchronized (this) {
      isLast = !isClosed && users == 0;
      isClosed = true;
    }
    if (isLast) cleanable.clean();
  }
}
