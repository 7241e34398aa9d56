package tenon;

import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Connects a source of parts (a generation, a server's answer) to its subscriber: takes parts, as
 * many as were requested, whenever it is signalled, and passes them on from one thread at a time.
 * Rules of the Reactive Streams specification, by number in brackets. */
final class PartsSubscription<T> implements Flow.Subscription, Runnable {
  /** A part; null if the end came without one. */
  record Taken<T>(T part, boolean isLast) {}

  /** A source of parts. */
  interface Source<T> {
    /** True if poll() would report an end, which needs no demand. */
    boolean isEnded();

    /** The next part; null: none yet. Throws the error that the subscriber gets. */
    Taken<T> poll();

    void close();
  }

  private final Source<T> source;
  private final Flow.Subscriber<? super T> subscriber;
  private final Executor executor;
  private final AtomicLong demand = new AtomicLong();
  /** Signals not yet handled; the thread that raises it from 0 runs it. */
  private final AtomicInteger signals = new AtomicInteger();
  private volatile Throwable failure;
  private volatile boolean isDone;

  PartsSubscription(Source<T> source, Flow.Subscriber<? super T> subscriber, Executor executor) {
    this.source = source;
    this.subscriber = java.util.Objects.requireNonNull(subscriber); // [1.9]
    this.executor = executor;
  }

  /** [1.9]: a subscriber that gets nothing still has a subscription first. */
  void refuse(Throwable reason) {
    isDone = true;
    subscriber.onSubscribe(this);
    subscriber.onError(reason);
  }

  @Override
  public void request(long parts) {
    if (parts <= 0) {
      failure = new IllegalArgumentException("a subscriber requests at least one part, not " + parts); // [3.9]
    } else {
      demand.accumulateAndGet(parts, (had, more) -> had + more < 0 ? Long.MAX_VALUE : had + more); // [3.17]
    }
    signal();
  }

  @Override
  public void cancel() {
    if (isDone) return;
    isDone = true;
    source.close();
  }

  /** A part may be ready. */
  void signal() {
    if (isDone || signals.getAndIncrement() != 0) return;
    try {
      executor.execute(this);
    } catch (RuntimeException rejected) {
      end(rejected);
    }
  }

  @Override
  public void run() {
    int seen = signals.get();
    do {
      drain();
      seen = signals.addAndGet(-seen);
    } while (seen != 0);
  }

  private void drain() {
    while (!isDone) {
      if (failure != null) {
        end(failure);
        return;
      }
      Taken<T> taken;
      try {
        if (demand.get() == 0 && !source.isEnded()) return;
        taken = source.poll();
      } catch (RuntimeException | Error error) {
        end(error);
        return;
      }
      if (taken == null) return;
      deliver(taken);
    }
  }

  private void deliver(Taken<T> taken) {
    if (taken.part != null) {
      demand.updateAndGet(had -> had == Long.MAX_VALUE ? had : had - 1);
      try {
        subscriber.onNext(taken.part);
      } catch (RuntimeException | Error error) {
        end(error); // forbidden by [2.13]; waiters for the end get it
        return;
      }
    }
    if (!taken.isLast || isDone) return;
    isDone = true;
    subscriber.onComplete();
  }

  private void end(Throwable error) {
    if (isDone) return;
    isDone = true;
    source.close();
    subscriber.onError(error);
  }
}
