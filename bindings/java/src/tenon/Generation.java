package tenon;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** A running continuation: its pieces by a loop, a {@link #stream}, a subscriber or a future; one
 * of them.
 *
 * <p>It is queued in the engine when it is made, and cancelled when it is closed. The last piece
 * closes it. The session can then continue from where it was. */
public final class Generation implements Iterable<Piece>, Iterator<Piece>, Flow.Publisher<Piece>, AutoCloseable {
  /** Seconds that a loop waits in the library before it looks for Thread.interrupt (and System.exit
   * for it). Steps are cut to the time that is left, so it waits longer if pieces take longer. */
  private static final double FIRST_SECONDS = 0.05;
  private static final double LONGEST_SECONDS = 1;

  private final Session session;
  private final Engine engine;
  private final Handle handle;
  private final long key;
  private final GenerateOptions options;
  private final boolean ownsSession;
  private final long seed;
  private double waitSeconds = FIRST_SECONDS;
  private volatile boolean isFinished;
  private PartsSubscription<Piece> subscription;
  private Runnable wake;

  Generation(Session session, Engine engine, Handle handle, long key, GenerateOptions options, boolean ownsSession) {
    this.session = session;
    this.engine = engine;
    this.handle = handle;
    this.key = key;
    this.options = options;
    this.ownsSession = ownsSession;
    this.seed = Calls.requestSeed(handle);
  }

  /** The session whose text it continues. */
  public Session session() {
    return session;
  }

  /** True until the last piece, or until it is closed. */
  @Override
  public boolean hasNext() {
    return !isFinished;
  }

  /** Waits for the next piece. An interrupt of the thread ends it with {@link
   * TenonException.Cancelled}. */
  @Override
  public Piece next() {
    if (isFinished) throw new NoSuchElementException("the generation has ended");
    synchronized (this) {
      if (subscription != null) throw new IllegalStateException("its pieces go to a subscriber");
    }
    try {
      checkInterrupt(); // fast pieces leave no wait long enough to check
      return taken(Library.use().isVirtualThread() ? waitVirtually() : waitInLibrary());
    } catch (TenonException.State error) {
      if (isFinished || !handle.isLive()) throw new TenonException.Cancelled("the generation has been closed");
      throw error;
    } catch (Throwable error) {
      close();
      throw error;
    }
  }

  @Override
  public Iterator<Piece> iterator() {
    return this;
  }

  /** All pieces; closing the stream closes the generation. */
  public Stream<Piece> stream() {
    int traits = Spliterator.ORDERED | Spliterator.NONNULL | Spliterator.IMMUTABLE;
    return StreamSupport.stream(Spliterators.spliteratorUnknownSize(this, traits), false).onClose(this::close);
  }

  /** The rest of the text, joined. */
  public String text() {
    StringBuilder text = new StringBuilder();
    while (hasNext()) text.append(next().text());
    return text.toString();
  }

  /** As text(), without a waiting thread. A future that is cancelled, or completed otherwise,
   * cancels the generation. */
  public CompletableFuture<String> textAsync() {
    CompletableFuture<String> future = new CompletableFuture<>();
    StringBuilder text = new StringBuilder();
    subscribe(new Flow.Subscriber<>() {
      @Override
      public void onSubscribe(Flow.Subscription subscription) {
        subscription.request(Long.MAX_VALUE);
      }

      @Override
      public void onNext(Piece piece) {
        text.append(piece.text());
      }

      @Override
      public void onError(Throwable error) {
        future.completeExceptionally(error);
      }

      @Override
      public void onComplete() {
        future.complete(text.toString());
      }
    });
    future.whenComplete((done, error) -> close());
    return future;
  }

  /** Passes the pieces to one subscriber as it requests them. Its methods are called on the
   * executor of the options, one at a time. */
  @Override
  public void subscribe(Flow.Subscriber<? super Piece> subscriber) {
    PartsSubscription<Piece> made = new PartsSubscription<>(new Parts(), subscriber, options.executor);
    boolean isFirst;
    synchronized (this) {
      isFirst = subscription == null;
      if (isFirst) subscription = made;
    }
    if (!isFirst) {
      made.refuse(new IllegalStateException("a generation has one subscriber"));
      return;
    }
    try {
      awaitNotices(made::signal);
    } catch (TenonException error) {
      made.refuse(error);
      close();
      return;
    }
    subscriber.onSubscribe(made);
  }

  private void awaitNotices(Runnable then) {
    synchronized (this) {
      wake = then;
    }
    Dispatcher.await(key, then);
    engine.drive(this);
  }

  private Runnable awaitNoMore() {
    Dispatcher.forget(key);
    engine.release(this);
    synchronized (this) {
      Runnable had = wake;
      wake = null;
      return had;
    }
  }

  /** The pieces, without waiting. */
  private final class Parts implements PartsSubscription.Source<Piece> {
    @Override
    public boolean isEnded() {
      return isFinished;
    }

    @Override
    public PartsSubscription.Taken<Piece> poll() {
      if (isFinished || !handle.isLive()) throw new TenonException.Cancelled("the generation has been closed");
      RawPiece raw = Calls.requestWait(handle, 0);
      if (!Piece.isThere(raw)) return null;
      Piece piece = taken(raw);
      return new PartsSubscription.Taken<>(piece, piece.finish() != null);
    }

    @Override
    public void close() {
      Generation.this.close();
    }
  }

  private RawPiece waitInLibrary() {
    while (true) {
      RawPiece raw = Calls.requestWait(handle, waitSeconds);
      if (Piece.isThere(raw)) return raw;
      checkInterrupt();
      waitSeconds = Math.min(2 * waitSeconds, LONGEST_SECONDS);
    }
  }

  /** Waiting in the library would hold a carrier thread, so a virtual one parks until it is
   * notified. */
  private RawPiece waitVirtually() {
    Thread waiter = Thread.currentThread();
    awaitNotices(() -> LockSupport.unpark(waiter));
    try {
      while (true) {
        RawPiece raw = Calls.requestWait(handle, 0);
        if (Piece.isThere(raw)) return raw;
        LockSupport.park(this);
        checkInterrupt();
      }
    } finally {
      awaitNoMore();
    }
  }

  private static void checkInterrupt() {
    if (Thread.currentThread().isInterrupted()) throw new TenonException.Cancelled("the thread was interrupted");
  }

  private Piece taken(RawPiece raw) {
    Piece piece = Piece.of(raw);
    if (options.logprobs >= 0 && piece.hasToken()) {
      Calls.RequestLogprobs with = Calls.requestLogprobs(handle, options.logprobs);
      piece = new Piece(piece.text(), piece.token(), piece.finish(), with.logprob(),
          TokenLogprob.list(with.topTokens(), with.topLogprobs()));
    }
    if (piece.finish() != null) close();
    return piece;
  }

  /** How much of the prompt was reused. */
  public RequestStats stats() {
    return Calls.requestGetStats(handle);
  }

  /** Seed of the answer; as the option seed it gives the same answer again. */
  public long seed() {
    return seed;
  }

  /** Ends it with {@link TenonException.Cancelled} for its readers. Any thread. */
  public void cancel() {
    try {
      Calls.requestCancel(handle);
    } catch (TenonException.State closed) {
      return; // it has ended
    }
  }

  /** Cancels it and releases the session. Any thread. */
  @Override
  public void close() {
    isFinished = true;
    handle.close();
    Runnable waiting = awaitNoMore();
    if (waiting != null) waiting.run();
    if (ownsSession) session.close();
  }
}
