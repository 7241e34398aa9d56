package tenon;

import static org.junit.jupiter.api.Assertions.*;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Flow;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Waiting without a thread: one dispatcher for the process, one thread for each engine, none for a request. */
@Timeout(60)
class AsyncTest {
  private final Model model = Demo.MODEL;

  /** Keeps all it gets, and requests what it is told to. */
  private static final class Recorder implements Flow.Subscriber<Piece> {
    final List<Piece> pieces = Collections.synchronizedList(new ArrayList<>());
    final CompletableFuture<Throwable> ended = new CompletableFuture<>();
    final long first;
    volatile Flow.Subscription subscription;

    Recorder(long first) {
      this.first = first;
    }

    @Override
    public void onSubscribe(Flow.Subscription given) {
      subscription = given;
      if (first != 0) given.request(first);
    }

    @Override
    public void onNext(Piece piece) {
      pieces.add(piece);
    }

    @Override
    public void onError(Throwable error) {
      assertTrue(ended.complete(error), "it ends once");
    }

    @Override
    public void onComplete() {
      assertTrue(ended.complete(null), "it ends once");
    }

    Throwable end() throws Exception {
      return ended.get(30, TimeUnit.SECONDS);
    }
  }

  @Test
  void allWaysGiveTheSame() throws Exception {
    String expected = " there was a lonely owl named";
    assertEquals(expected, model.session().generate(Demo.ONCE, Demo.greedy(6)).text());
    assertEquals(expected, model.session().generate(Demo.ONCE, Demo.greedy(6)).textAsync().get());
    assertEquals(expected, model.session().generate(Demo.ONCE, Demo.greedy(6)).stream().map(Piece::text)
        .reduce("", String::concat));
    Recorder recorder = new Recorder(Long.MAX_VALUE);
    model.session().generate(Demo.ONCE, Demo.greedy(6)).subscribe(recorder);
    assertNull(recorder.end());
    assertEquals(expected, recorder.pieces.stream().map(Piece::text).reduce("", String::concat));
  }

  @Test
  void aSubscriberGetsNoMoreThanItRequested() throws Exception {
    Recorder recorder = new Recorder(0);
    model.session().generate(Demo.ONCE, Demo.greedy(6)).subscribe(recorder);
    Thread.sleep(100);
    assertEquals(0, recorder.pieces.size());
    for (int more = 1; more <= 2; ++more) {
      recorder.subscription.request(more);
      for (int i = 0; i < 200 && recorder.pieces.size() < 3 * more - 2 - (more - 1); ++i) Thread.sleep(5);
      Thread.sleep(50);
      assertEquals(more == 1 ? 1 : 3, recorder.pieces.size());
    }
    assertFalse(recorder.ended.isDone());
    recorder.subscription.request(3);
    assertNull(recorder.end());
    assertEquals(6, recorder.pieces.size());
  }

  @Test
  void rulesOfReactiveStreams() throws Exception {
    Recorder wrong = new Recorder(-1);
    model.session().generate(Demo.ONCE, Demo.greedy(6)).subscribe(wrong);
    assertTrue(wrong.end() instanceof IllegalArgumentException);
    Generation generation = model.session().generate(Demo.ONCE, Demo.greedy(6));
    Recorder first = new Recorder(Long.MAX_VALUE);
    Recorder second = new Recorder(Long.MAX_VALUE);
    generation.subscribe(first);
    generation.subscribe(second);
    assertTrue(second.end() instanceof IllegalStateException);
    assertNull(first.end());
    assertEquals(6, first.pieces.size());
    assertThrows(NullPointerException.class, () -> generation.subscribe(null));
    assertThrows(java.util.NoSuchElementException.class, generation::next);
  }

  @Test
  void aCancelledSubscriptionLetsTheSessionGo() throws Exception {
    Generation generation = Demo.endless();
    Recorder recorder = new Recorder(Long.MAX_VALUE);
    generation.subscribe(recorder);
    while (recorder.pieces.isEmpty()) Thread.sleep(1);
    recorder.subscription.cancel();
    Session session = generation.session();
    session.rewind(1);
    int had = recorder.pieces.size();
    Thread.sleep(50);
    assertTrue(recorder.pieces.size() <= had + 1, "at most one was under way");
    assertFalse(recorder.ended.isDone());
    session.close();
  }

  @Test
  void aCancelledFutureCancelsTheRequest() throws Exception {
    try (Engine engine = new Engine(model)) {
      Session session = engine.session(new SessionOptions().context(16384));
      CompletableFuture<String> future = session.generate(Demo.LONG, new GenerateOptions().ignoreEnd(true)).textAsync();
      assertTrue(future.cancel(true));
      assertThrows(CancellationException.class, future::join);
      session.rewind(1);
      assertEquals(1, engine.stats().cancelled());
      CompletableFuture<String> timed = session.generate(new GenerateOptions().ignoreEnd(true)).textAsync()
          .orTimeout(30, TimeUnit.MILLISECONDS);
      assertThrows(ExecutionException.class, timed::get);
      for (int i = 0; engine.stats().cancelled() < 2 && i < 400; ++i) Thread.sleep(5);
      assertEquals(2, engine.stats().cancelled());
      session.close();
    }
  }

  @Test
  void twoHundredRequestsNeedNoFurtherThread() throws Exception {
    // Subscribers run on one thread here, so that those of the common pool do not count.
    java.util.concurrent.ExecutorService one = java.util.concurrent.Executors.newSingleThreadExecutor();
    try (Engine engine = new Engine(model, new EngineOptions().running(200))) {
      GenerateOptions options = Demo.greedy(8).executor(one);
      String first = engine.generate(Demo.ONCE, options).textAsync().get();
      int before = Demo.threads();
      List<CompletableFuture<String>> all = new ArrayList<>();
      for (int i = 0; i < 200; ++i) all.add(engine.generate(Demo.ONCE, options).textAsync());
      int most = Demo.threads();
      HashSet<String> texts = new HashSet<>();
      for (CompletableFuture<String> future : all) {
        texts.add(future.get());
        most = Math.max(most, Demo.threads());
      }
      assertEquals(java.util.Set.of(first), texts);
      assertTrue(most <= before + 3, before + " threads became " + most + "; Java's compiler starts some of its own");
    } finally {
      one.shutdown();
    }
  }

  @Test
  void errorsComeOutOfFuturesAndSubscribers() throws Exception {
    try (Engine engine = new Engine(model)) {
      GenerateOptions options = new GenerateOptions().timeout(Duration.ofNanos(1000));
      ExecutionException error = assertThrows(ExecutionException.class,
          () -> engine.generate(Demo.LONG, options).textAsync().get());
      assertTrue(error.getCause() instanceof TenonException.Deadline);
    }
  }

  @Test
  void closingAnEngineEndsWhatWaitsForIt() throws Exception {
    Engine engine = new Engine(model);
    List<CompletableFuture<String>> all = new ArrayList<>();
    for (int i = 0; i < 3; ++i) {
      all.add(engine.generate(Demo.LONG, new GenerateOptions().ignoreEnd(true)).textAsync());
    }
    engine.close();
    for (CompletableFuture<String> future : all) {
      ExecutionException error = assertThrows(ExecutionException.class, () -> future.get(10, TimeUnit.SECONDS));
      assertTrue(error.getCause() instanceof TenonException.Cancelled, error.toString());
    }
  }

  @Test
  void aClosedEngineSaysSo() throws Exception {
    Engine engine = new Engine(model);
    Session session = engine.session();
    engine.close();
    ExecutionException error = assertThrows(ExecutionException.class,
        () -> session.generate(Demo.ONCE, Demo.greedy(2)).textAsync().get());
    assertTrue(error.getCause() instanceof TenonException.State);
    assertFalse(session.generate(Demo.greedy(2)).text().isEmpty(), "loops can still go on");
  }

  @Test
  void closingAGenerationEndsItsSubscriber() throws Exception {
    Generation generation = Demo.endless();
    Recorder recorder = new Recorder(0);
    generation.subscribe(recorder);
    generation.close();
    assertTrue(recorder.end() instanceof TenonException.Cancelled);
    generation.session().close();
  }

  @Test
  void aSubscriberThatThrowsEndsTheGeneration() throws Exception {
    Generation generation = Demo.endless();
    CompletableFuture<Throwable> told = new CompletableFuture<>();
    generation.subscribe(new Flow.Subscriber<>() {
      @Override
      public void onSubscribe(Flow.Subscription subscription) {
        subscription.request(1);
      }

      @Override
      public void onNext(Piece piece) {
        throw new ArithmeticException("mine");
      }

      @Override
      public void onError(Throwable error) {
        told.complete(error);
      }

      @Override
      public void onComplete() {}
    });
    assertTrue(told.get(10, TimeUnit.SECONDS) instanceof ArithmeticException);
    generation.session().rewind(1);
    generation.session().close();
  }

  @Test
  void anExecutorThatRefusesEndsTheGeneration() throws Exception {
    Executor refusing = task -> {
      throw new RejectedExecutionException("full");
    };
    ExecutionException error = assertThrows(ExecutionException.class,
        () -> model.session().generate(Demo.ONCE, Demo.greedy(2).executor(refusing)).textAsync().get());
    assertTrue(error.getCause() instanceof RejectedExecutionException);
  }

  @Test
  void aGenerationMovesFromALoopToAFuture() throws Exception {
    Generation generation = model.session().generate(Demo.ONCE, Demo.greedy(4));
    String first = generation.next().text();
    CompletableFuture<String> rest = generation.textAsync();
    assertThrows(RuntimeException.class, generation::next);
    assertEquals(" there was a lonely", first + rest.get());
  }

  @Test
  void virtualThreadsWaitWithoutCarriers() throws Exception {
    assumeTrue(Runtime.version().feature() >= 22, "virtual threads wait by the dispatcher from 22 on");
    var start = Thread.class.getMethod("startVirtualThread", Runnable.class);
    int count = 40;
    CountDownLatch done = new CountDownLatch(count);
    AtomicInteger right = new AtomicInteger();
    try (Engine engine = new Engine(model, new EngineOptions().running(count))) {
      engine.generate(Demo.ONCE, Demo.greedy(1)).textAsync().get();
      int before = Demo.threads();
      for (int i = 0; i < count; ++i) {
        start.invoke(null, (Runnable) () -> {
          if (engine.generate(Demo.ONCE, Demo.greedy(4)).text().equals(" there was a lonely")) right.incrementAndGet();
          done.countDown();
        });
      }
      assertTrue(done.await(30, TimeUnit.SECONDS));
      assertEquals(count, right.get());
      assertTrue(Demo.threads() < before + count / 2, "not a carrier for each");
    }
  }
}
