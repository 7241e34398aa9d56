package tenon;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Flow;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/** A server's answer to this program: parts by a loop or a subscriber, or the whole by {@link
 * #text} and {@link #textAsync}; one of them. Virtual threads may loop: they park. Closing it
 * before its end cancels the request. The last part closes it. */
public final class ServerAnswer extends NativeObject implements Iterable<byte[]>, Iterator<byte[]>,
    Flow.Publisher<byte[]> {
  /** Seconds that a loop waits in the library before it looks for Thread.interrupt; System.exit
   * waits as long for it. */
  private static final double WAIT_SECONDS = 0.02;

  /** Held by the thread that looks for parts. */
  private final ReentrantLock reader = new ReentrantLock();
  private PartsSubscription<byte[]> subscription;
  private volatile Runnable wake;
  private Thread waiter;
  private volatile RuntimeException failure;
  private int status;
  private String contentType = "";
  private String headers = "";
  private byte[] next;
  private boolean isLast;

  ServerAnswer(Handle handle) {
    super(handle);
  }

  /** HTTP status: 200, 400, ...; waits for it. */
  public int status() {
    return waited(() -> status != 0, () -> status);
  }

  /** "application/json"; for a stream "text/event-stream". Waits for it. */
  public String contentType() {
    return waited(() -> status != 0, () -> contentType);
  }

  /** X-Request-Id, Tenon-Notes, Retry-After, by name. Waits for them. */
  public Map<String, String> headers() {
    return waited(() -> status != 0, () -> {
      Map<String, String> all = new LinkedHashMap<>();
      headers.lines().forEach(line -> {
        int colon = line.indexOf(':');
        if (colon > 0) all.put(line.substring(0, colon), line.substring(colon + 1).strip());
      });
      return all;
    });
  }

  /** True if another part comes; waits until that is known. */
  @Override
  public boolean hasNext() {
    return waited(() -> next != null || isLast, () -> next != null);
  }

  /** The next part of the body; for a stream, whole events. An interrupt of the thread ends it with
   * {@link TenonException.Cancelled}. */
  @Override
  public byte[] next() {
    return waited(() -> next != null || isLast, () -> {
      if (next == null) throw new NoSuchElementException("the answer has ended");
      return takeNext();
    });
  }

  @Override
  public Iterator<byte[]> iterator() {
    return this;
  }

  /** The whole body. */
  public byte[] body() {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    while (hasNext()) all.writeBytes(next());
    return all.toByteArray();
  }

  /** The whole body as text. */
  public String text() {
    return new String(body(), StandardCharsets.UTF_8);
  }

  /** As text(), without a waiting thread. A future that is cancelled, or completed otherwise,
   * cancels the request. */
  public CompletableFuture<String> textAsync() {
    CompletableFuture<String> future = new CompletableFuture<>();
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    subscribe(new Flow.Subscriber<>() {
      @Override
      public void onSubscribe(Flow.Subscription made) {
        made.request(Long.MAX_VALUE);
      }

      @Override
      public void onNext(byte[] part) {
        all.writeBytes(part);
      }

      @Override
      public void onError(Throwable error) {
        future.completeExceptionally(error);
      }

      @Override
      public void onComplete() {
        future.complete(all.toString(StandardCharsets.UTF_8));
      }
    });
    future.whenComplete((done, error) -> close());
    return future;
  }

  /** Hands the parts to one subscriber as it requests them, on the common pool. */
  @Override
  public void subscribe(Flow.Subscriber<? super byte[]> subscriber) {
    PartsSubscription<byte[]> made = new PartsSubscription<>(new Parts(), subscriber, ForkJoinPool.commonPool());
    boolean isFirst;
    synchronized (this) {
      isFirst = subscription == null;
      if (isFirst) subscription = made;
    }
    if (!isFirst) {
      made.refuse(new IllegalStateException("an answer has one subscriber"));
      return;
    }
    wake = made::signal;
    subscriber.onSubscribe(made);
    AnswerPoller.await(this, wake);
    if (isClosed()) AnswerPoller.forget(this);
    made.signal();
  }

  /** The parts, without waiting. */
  private final class Parts implements PartsSubscription.Source<byte[]> {
    @Override
    public boolean isEnded() {
      return failure != null || look(() -> next == null && isLast);
    }

    @Override
    public PartsSubscription.Taken<byte[]> poll() {
      return look(() -> {
        if (next == null && !isLast) return null;
        byte[] part = next == null ? null : takeNext();
        return new PartsSubscription.Taken<>(part, isLast);
      });
    }

    @Override
    public void close() {
      ServerAnswer.this.close();
    }
  }

  private byte[] takeNext() {
    byte[] part = next;
    next = null;
    return part;
  }

  /** Looks for parts, and answers. One thread at a time. */
  private <T> T look(Supplier<T> answer) {
    reader.lock();
    try {
      fetch(0);
      return answer.get();
    } finally {
      reader.unlock();
    }
  }

  /** For the poller: true if a part came since the last call. */
  boolean hasNews() {
    if (!reader.tryLock()) return false; // the current reader will see it
    try {
      if (next != null || isLast || failure != null) return false;
      fetch(0);
      return next != null || isLast;
    } catch (RuntimeException failed) {
      return true;
    } finally {
      reader.unlock();
    }
  }

  /** Under the lock: fetches the next part, unless the last one was not taken. */
  private void fetch(double seconds) {
    if (next != null || isLast) return;
    if (failure != null) throw failure;
    ServerPart part;
    try {
      part = Calls.serverCallWait(handle, seconds);
    } catch (TenonException error) {
      if (failure == null) failure = handle.isLive() ? error : closed();
      letGo();
      throw failure;
    }
    status = part.httpStatus();
    contentType = part.contentType();
    headers = part.headers();
    if (part.bytes().length > 0) next = part.bytes();
    if (!part.isLast()) return;
    isLast = true;
    letGo();
  }

  /** First closed, then forgotten: a new waiter checks whether it is closed. */
  private void letGo() {
    super.close();
    AnswerPoller.forget(this);
  }

  private static TenonException closed() {
    return new TenonException.Cancelled("the answer has been closed");
  }

  /** Waits for enough parts, and answers. */
  private <T> T waited(BooleanSupplier isEnough, Supplier<T> answer) {
    Thread current = Thread.currentThread();
    synchronized (this) {
      if (subscription != null) throw new IllegalStateException("its parts go to a subscriber");
      if (waiter != null) throw new TenonException.State("the answer is in use by another call");
      waiter = current;
    }
    try {
      boolean isVirtual = Library.use().isVirtualThread();
      if (isVirtual) awaitNews(() -> LockSupport.unpark(current));
      while (true) {
        if (current.isInterrupted()) { // also if parts come fast
          close();
          throw new TenonException.Cancelled("the thread was interrupted");
        }
        reader.lock();
        try {
          if (!isEnough.getAsBoolean()) fetch(isVirtual ? 0 : WAIT_SECONDS);
          if (isEnough.getAsBoolean()) return answer.get();
        } finally {
          reader.unlock();
        }
        if (isVirtual) LockSupport.park(this);
      }
    } finally {
      AnswerPoller.forget(this);
      wake = null;
      synchronized (this) {
        waiter = null;
      }
    }
  }

  private void awaitNews(Runnable then) {
    wake = then;
    AnswerPoller.await(this, then);
  }

  /** Makes it fail with the reason, for current and later waiters; parts that came stay readable.
   */
  void end(RuntimeException reason) {
    if (failure == null) failure = reason;
    Runnable waiting = wake;
    if (waiting != null) waiting.run();
  }

  /** Cancels the request unless it is complete. Any thread. */
  @Override
  public void close() {
    letGo();
    end(closed());
  }
}
