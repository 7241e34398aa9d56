package tenon;

import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** Between a generation and its subscriber: takes what is there, as much as was requested, whenever it is signalled,
 * and hands it on from one thread at a time. Rules of the Reactive Streams specification, by number in brackets. */
final class GenerationSubscription implements Flow.Subscription, Runnable {
  private final Generation generation;
  private final Flow.Subscriber<? super Piece> subscriber;
  private final Executor executor;
  private final AtomicLong demand = new AtomicLong();
  /** Signals not yet looked at; who raises it from 0 has it run. */
  private final AtomicInteger signals = new AtomicInteger();
  private volatile Throwable failure;
  private volatile boolean isDone;

  GenerationSubscription(Generation generation, Flow.Subscriber<? super Piece> subscriber, Executor executor) {
    this.generation = generation;
    this.subscriber = java.util.Objects.requireNonNull(subscriber); // [1.9]
    this.executor = executor;
  }

  /** [1.9]: also who gets nothing has first a subscription. */
  void refuse(Throwable reason) {
    isDone = true;
    subscriber.onSubscribe(this);
    subscriber.onError(reason);
  }

  @Override
  public void request(long pieces) {
    if (pieces <= 0) {
      failure = new IllegalArgumentException("a subscriber requests at least one piece, not " + pieces); // [3.9]
    } else {
      demand.accumulateAndGet(pieces, (had, more) -> had + more < 0 ? Long.MAX_VALUE : had + more); // [3.17]
    }
    signal();
  }

  @Override
  public void cancel() {
    if (isDone) return;
    isDone = true;
    generation.close();
  }

  /** There may be something. */
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
      if (demand.get() == 0 && generation.hasNext()) return;
      Piece piece;
      try {
        piece = generation.poll();
      } catch (RuntimeException | Error error) {
        end(error);
        return;
      }
      if (piece == null) return;
      demand.updateAndGet(had -> had == Long.MAX_VALUE ? had : had - 1);
      deliver(piece);
    }
  }

  private void deliver(Piece piece) {
    try {
      subscriber.onNext(piece);
    } catch (RuntimeException | Error error) {
      end(error); // [2.13] forbids it; whoever waits for the end hears of it
      return;
    }
    if (piece.finish() == null || isDone) return;
    isDone = true;
    subscriber.onComplete();
  }

  private void end(Throwable error) {
    if (isDone) return;
    isDone = true;
    generation.close();
    subscriber.onError(error);
  }
}
