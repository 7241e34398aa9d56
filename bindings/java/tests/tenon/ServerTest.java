package tenon;

import static org.junit.jupiter.api.Assertions.*;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Models over HTTP, and without a socket. */
class ServerTest {
  private static final String CHAT = "/v1/chat/completions";
  private static final String OSLO = "The capital of Norway is Oslo.";

  @BeforeAll
  static void thereIsAServer() {
    assumeTrue(Demo.HAS_SERVER, "the build has no libtenon-server");
  }

  private static Map<String, Object> question(boolean stream) {
    return Map.of("messages", List.of(Demo.user("What is the capital of Norway?")), "temperature", 0, "stream", stream);
  }

  /** Goes on until it is ended. */
  private static Map<String, Object> endless() {
    return Map.of("prompt", Demo.LONG, "max_tokens", 15000, "ignore_eos", true, "stream", true);
  }

  private static Server serving() {
    return new Server().add("demo", Demo.MODEL, null, 16384).start();
  }

  private static HttpResponse<String> post(int port, String target, Map<String, ?> body) throws Exception {
    HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + target))
        .POST(HttpRequest.BodyPublishers.ofString(Json.text(body))).build();
    return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
  }

  /** The text of a stream's events. */
  private static String streamed(String events) {
    StringBuilder text = new StringBuilder();
    events.lines().filter(line -> line.startsWith("data: {")).forEach(line -> {
      Map<?, ?> choice = (Map<?, ?>) ((List<?>) Json.parseObject(line.substring(6)).get("choices")).get(0);
      Object content = ((Map<?, ?>) choice.get("delta")).get("content");
      if (content != null) text.append(content);
    });
    return text.toString();
  }

  @Test
  void itAnswersOverHttp() throws Exception {
    try (Server server = new Server().add("demo", Demo.MODEL)) {
      int port = server.listen("127.0.0.1", 0);
      server.start();
      HttpResponse<String> answer = post(port, CHAT, question(false));
      assertEquals(200, answer.statusCode());
      assertTrue(answer.body().contains(OSLO), answer.body());
      assertEquals(OSLO, streamed(post(port, CHAT, question(true)).body()));
      server.stop(Duration.ofSeconds(5));
      server.join();
      assertThrows(IOException.class, () -> post(port, CHAT, question(false)));
    }
  }

  @Test
  void itAnswersAtAUnixSocket(@TempDir Path folder) throws Exception {
    try (Server server = new Server().add("demo", Demo.MODEL)) {
      Path path = folder.resolve("socket");
      server.listenUnix(path);
      server.start();
      try (SocketChannel channel = SocketChannel.open(java.net.UnixDomainSocketAddress.of(path))) {
        channel.write(ByteBuffer.wrap("GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.UTF_8)));
        ByteBuffer said = ByteBuffer.allocate(100);
        channel.read(said);
        assertTrue(new String(said.array(), StandardCharsets.UTF_8).startsWith("HTTP/1.1 200"));
      }
    }
  }

  @Test
  void itAnswersWithoutASocket() throws Exception {
    try (Server server = serving()) {
      ServerAnswer whole = server.request("POST", CHAT, question(false));
      assertEquals(200, whole.status());
      assertEquals("application/json", whole.contentType());
      assertFalse(whole.headers().get("X-Request-Id").isEmpty());
      assertTrue(whole.text().contains(OSLO));
      assertTrue(whole.isClosed(), "the last part closes it");
      assertFalse(whole.hasNext());

      StringBuilder events = new StringBuilder();
      for (byte[] part : server.request("POST", CHAT, question(true))) {
        events.append(new String(part, StandardCharsets.UTF_8));
      }
      assertEquals(OSLO, streamed(events.toString()));
      try (ServerAnswer answer = server.request("POST", "/v1/completions", endless())) {
        for (int i = 0; i < 5; ++i) assertTrue(answer.next().length > 0, "it comes as it is generated");
      }
      assertEquals(OSLO, streamed(server.request("POST", CHAT, question(true)).textAsync().get(20, TimeUnit.SECONDS)));

      assertEquals(404, server.request("GET", "/nowhere", (String) null).status());
      assertEquals(400, server.request("POST", CHAT, "no JSON").status());
      assertThrows(TenonException.Argument.class, () -> server.request(null, CHAT, "{}"));
    }
  }

  @Test
  void aSubscriberGetsWhatItRequests() throws Exception {
    try (Server server = serving()) {
      CompletableFuture<String> done = new CompletableFuture<>();
      StringBuilder events = new StringBuilder();
      AtomicInteger parts = new AtomicInteger();
      ServerAnswer answer = server.request("POST", CHAT, question(true));
      answer.subscribe(new Flow.Subscriber<>() {
        private Flow.Subscription subscription;

        @Override
        public void onSubscribe(Flow.Subscription made) {
          subscription = made;
          made.request(1);
        }

        @Override
        public void onNext(byte[] part) {
          events.append(new String(part, StandardCharsets.UTF_8));
          parts.incrementAndGet();
          CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS).execute(() -> subscription.request(1));
        }

        @Override
        public void onError(Throwable error) {
          done.completeExceptionally(error);
        }

        @Override
        public void onComplete() {
          done.complete(events.toString());
        }
      });
      assertThrows(IllegalStateException.class, answer::next);
      assertEquals(OSLO, streamed(done.get(20, TimeUnit.SECONDS)));

      // One that cancels after its first part hears no more, and the request ends.
      CountDownLatch first = new CountDownLatch(1);
      AtomicInteger heard = new AtomicInteger();
      ServerAnswer cancelled = server.request("POST", "/v1/completions", endless());
      cancelled.subscribe(new Flow.Subscriber<>() {
        private Flow.Subscription subscription;

        @Override
        public void onSubscribe(Flow.Subscription made) {
          subscription = made;
          made.request(Long.MAX_VALUE);
        }

        @Override
        public void onNext(byte[] part) {
          heard.incrementAndGet();
          subscription.cancel();
          first.countDown();
        }

        @Override
        public void onError(Throwable error) {
          heard.set(1000);
        }

        @Override
        public void onComplete() {
          heard.set(1000);
        }
      });
      assertTrue(first.await(20, TimeUnit.SECONDS));
      assertTrue(cancelled.isClosed());
      Thread.sleep(50);
      assertEquals(1, heard.get());
    }
  }

  @Test
  void anEngineOfOnesOwnIsComputedForTheServer() throws Exception {
    Engine engine = new Engine(Demo.MODEL);
    for (int round = 0; round < 2; ++round) { // a second server of the same engine works, too
      try (Server server = new Server().add("mine", engine).start()) {
        assertTrue(server.request("POST", CHAT, question(false)).text().contains(OSLO));
        assertEquals(" there was", engine.generate(Demo.ONCE, Demo.greedy(2)).text());
        List<CompletableFuture<String>> all = new ArrayList<>();
        for (int i = 0; i < 8; ++i) {
          all.add(server.request("POST", CHAT, question(true)).textAsync());
          all.add(engine.generate(Demo.ONCE, Demo.greedy(2)).textAsync());
        }
        for (int i = 0; i < 16; ++i) {
          String text = all.get(i).get(20, TimeUnit.SECONDS);
          assertEquals(i % 2 == 0 ? OSLO : " there was", i % 2 == 0 ? streamed(text) : text);
        }
        assertTrue(engine.stats().generatedTokens() > 0);
      }
    }
    engine.close();
  }

  @Test
  void whatItServesMayBeClosedFirst() throws Exception {
    Model model = Model.open(Demo.FILE, new ModelOptions().threads(1));
    Engine engine = new Engine(model);
    Model other = Model.open(Demo.FILE, new ModelOptions().threads(1));
    Server server = new Server().add("engine", engine).add("model", other);
    model.close();
    engine.close();
    other.close();
    server.start();
    for (String name : List.of("engine", "model")) {
      Map<String, Object> asked = new java.util.HashMap<>(question(false));
      asked.put("model", name);
      assertTrue(server.request("POST", CHAT, asked).text().contains(OSLO), name);
    }
    server.close();
    assertThrows(TenonException.State.class, model::info);
  }

  @Test
  void everyOrderOfClosingIsFree() throws Exception {
    Random dice = new Random(5);
    for (int round = 0; round < 30; ++round) {
      Model model = Model.open(Demo.FILE, new ModelOptions().threads(1));
      Engine engine = new Engine(model);
      Server server = new Server().add("demo", engine, 16384).start();
      List<AutoCloseable> things = new ArrayList<>(List.of(model, engine, server));
      for (int i = 0; i < 3; ++i) things.add(server.request("POST", "/v1/completions", endless()));
      ServerAnswer read = server.request("POST", "/v1/completions", endless());
      CompletableFuture<Throwable> reader = CompletableFuture.supplyAsync(() -> {
        StringBuilder all = new StringBuilder();
        try {
          while (true) all.append(new String(read.next(), StandardCharsets.UTF_8));
        } catch (NoSuchElementException error) {
          // Where the request had not begun when the server was closed.
          return all.toString().contains("the server is shutting down") ? new TenonException.Cancelled("so it says")
              : new AssertionError(all.toString());
        } catch (Throwable error) {
          return error;
        }
      });
      if (round % 2 == 0) Thread.sleep(10);
      Collections.shuffle(things, dice);
      for (AutoCloseable thing : things) thing.close();
      Throwable ended = reader.get(20, TimeUnit.SECONDS);
      assertTrue(ended instanceof TenonException.Cancelled, ended.toString());
      assertThrows(TenonException.State.class, () -> server.request("GET", "/health", (String) null));
      assertThrows(TenonException.State.class, server::start);
    }
  }

  @Test
  void closingEndsAStopUnderWay() throws Exception {
    for (int round = 0; round < 10; ++round) {
      Server server = serving();
      ServerAnswer answer = server.request("POST", "/v1/completions", endless());
      answer.next();
      CompletableFuture<Void> stopping = CompletableFuture.runAsync(() -> {
        try {
          server.stop(Duration.ofSeconds(60));
        } catch (TenonException.State error) {
          assertTrue(error.getMessage().contains("closed"));
        }
      });
      Thread.sleep(round);
      server.close();
      stopping.get(20, TimeUnit.SECONDS);
      assertThrows(TenonException.Cancelled.class, () -> {
        while (true) answer.next();
      });
    }
  }

  @Test
  void stoppingLetsAnswersEndOrCancelsThem() throws Exception {
    Server server = serving();
    ServerAnswer whole = server.request("POST", CHAT, question(false));
    ServerAnswer cut = server.request("POST", "/v1/completions", endless());
    cut.next();
    server.stop(Duration.ofSeconds(2));
    server.join();
    assertTrue(whole.text().contains(OSLO));
    assertThrows(TenonException.Cancelled.class, () -> {
      while (true) cut.next();
    });
    assertThrows(TenonException.State.class, () -> server.request("GET", "/health", (String) null));
    assertThrows(TenonException.State.class, server::start);
    server.close();
  }

  @Test
  void anInterruptOrACancelledFutureCancelsTheRequest() throws Exception {
    Engine engine = new Engine(Demo.MODEL);
    try (Server server = new Server().add("demo", engine, 16384).start()) {
      ServerAnswer answer = server.request("POST", "/v1/completions", endless());
      answer.next();
      Thread.currentThread().interrupt();
      assertThrows(TenonException.Cancelled.class, () -> {
        while (true) answer.next();
      });
      assertTrue(Thread.interrupted());
      assertTrue(answer.isClosed());
      ServerAnswer other = server.request("POST", "/v1/completions", endless());
      CompletableFuture<String> future = other.textAsync();
      future.cancel(true);
      assertTrue(other.isClosed());
      for (int i = 0; i < 200 && engine.stats().running() > 0; ++i) Thread.sleep(10);
      assertEquals(0, engine.stats().running());
    }
  }

  @Test
  void beforeTheStartNothingIsAsked() {
    try (Server server = new Server().add("demo", Demo.MODEL)) {
      assertTrue(assertThrows(TenonException.State.class, () -> server.request("POST", CHAT, question(false)))
          .getMessage().contains("not been started"));
      server.start();
      assertTrue(server.request("POST", CHAT, question(false)).text().contains(OSLO));
    }
  }

  @Test
  void whoWaitsForNothingCanBeEnded() throws Exception {
    Map<String, Object> whole = new java.util.HashMap<>(endless());
    whole.put("stream", false); // so nothing comes for a long time
    try (Server server = serving()) {
      Thread waiter = Thread.currentThread();
      for (int round = 0; round < 2; ++round) {
        ServerAnswer answer = server.request("POST", "/v1/completions", whole);
        Runnable end = round == 0 ? waiter::interrupt : answer::close;
        CompletableFuture.delayedExecutor(50, TimeUnit.MILLISECONDS).execute(end);
        long start = System.nanoTime();
        assertThrows(TenonException.Cancelled.class, answer::next);
        assertTrue(System.nanoTime() - start < 2_000_000_000L);
        assertEquals(round == 0, Thread.interrupted());
      }
    }
  }

  @Test
  void wrongOptionsAreErrors(@TempDir Path folder) {
    String unknown = assertThrows(TenonException.Argument.class,
        () -> new Server(new ServerOptions().set("max_bodies", 3))).getMessage();
    assertTrue(unknown.contains("\"max_bodies\"") && unknown.contains("max_body_bytes"), unknown);
    for (ServerOptions wrong : List.of(new ServerOptions().set("max_body_bytes", "much"),
        new ServerOptions().maxBodyBytes(-1), new ServerOptions().logLevel(1L << 40),
        new ServerOptions().set("max_connections", 1.5), new ServerOptions().idleSeconds(-1),
        new ServerOptions().apiKeys("# none\n"), new ServerOptions().tlsKeyFile("key.pem"),
        new ServerOptions().corsOrigin("a\0b"))) {
      assertThrows(TenonException.Argument.class, () -> new Server(wrong));
    }
    try (Server server = new Server()) {
      assertThrows(TenonException.Argument.class, () -> server.add("", Demo.MODEL));
      assertThrows(TenonException.Argument.class, () -> server.listen("127.0.0.1", 65536));
      assertThrows(TenonException.Argument.class, () -> server.add("x", Demo.MODEL, null, -1));
      assertThrows(TenonException.InputOutput.class, () -> server.listen("203.0.113.1", 0));
      assertThrows(TenonException.InputOutput.class, () -> server.listenUnix(folder.resolve("no/socket")));
      assertThrows(TenonException.InputOutput.class, () -> server.addFile("x", folder.resolve("none.gguf")));
      assertThrows(TenonException.Argument.class,
          () -> server.addFile("x", Demo.FILE, new ServerModelFile().modelOptions(new ModelOptions().set("no", 1))));
      server.add("demo", Demo.MODEL);
      assertThrows(TenonException.Argument.class, () -> server.add("demo", Demo.MODEL));
      server.start();
      assertThrows(TenonException.State.class, () -> server.add("late", Demo.MODEL));
      assertThrows(TenonException.State.class, () -> server.listen("127.0.0.1", 0));
    }
  }

  @Test
  void theOptionsReachTheLibrary() throws Exception {
    List<String> lines = Collections.synchronizedList(new ArrayList<>());
    ServerOptions options = new ServerOptions().apiKeys("secret anna\n").maxBodyBytes(1000).modelControl(true)
        .logLevel(Constants.LOG_INFO).log((level, line) -> lines.add(line));
    try (Server server = new Server(options).addFile("lazy", Demo.FILE, new ServerModelFile().context(512)
        .modelOptions(new ModelOptions().threads(1)).engineOptions(new EngineOptions().running(2)))) {
      int port = server.listen("127.0.0.1", 0);
      server.start();
      assertEquals(401, post(port, CHAT, question(false)).statusCode());
      byte[] asked = Json.text(question(false)).getBytes(StandardCharsets.UTF_8);
      assertTrue(server.request("POST", CHAT, asked, "secret").text().contains(OSLO));
      byte[] large = Json.text(Map.of("prompt", "x".repeat(2000))).getBytes(StandardCharsets.UTF_8);
      HttpRequest tooLarge = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/v1/completions"))
          .header("Authorization", "Bearer secret").POST(HttpRequest.BodyPublishers.ofByteArray(large)).build();
      assertEquals(413, HttpClient.newHttpClient().send(tooLarge, HttpResponse.BodyHandlers.ofString()).statusCode());
    }
    assertTrue(lines.stream().anyMatch(line -> line.contains(CHAT)), lines.toString());
  }

  @Test
  void theLogMayCloseTheServer() throws Exception {
    CompletableFuture<Server> made = new CompletableFuture<>();
    CompletableFuture<Throwable> refused = new CompletableFuture<>();
    Server server = new Server(new ServerOptions().logLevel(Constants.LOG_INFO).log((level, line) -> {
      if (!line.contains(CHAT)) return;
      try {
        made.join().stop(Duration.ZERO);
      } catch (TenonException.State error) {
        refused.complete(error);
      }
      made.join().close();
    })).add("demo", Demo.MODEL).start();
    made.complete(server);
    server.request("POST", CHAT, question(false)).textAsync();
    assertTrue(refused.get(20, TimeUnit.SECONDS).getMessage().contains("callback"));
    assertDoesNotThrow(server::join);
    assertTrue(server.isClosed());
  }

  @Test
  void aServerThatRunsIsNotCollected() throws Exception {
    int port = listening();
    for (int i = 0; i < 5; ++i) {
      System.gc();
      Thread.sleep(20);
    }
    assertEquals(200, post(port, CHAT, question(false)).statusCode());
  }

  private static int listening() {
    Server forgotten = new Server().add("demo", Demo.MODEL);
    int port = forgotten.listen("127.0.0.1", 0);
    forgotten.start();
    return port;
  }

  @Test
  void oneThatNobodyClosedIsFreed() throws Exception {
    int before = Demo.descriptors();
    for (int i = 0; i < 20; ++i) new Server().listen("127.0.0.1", 0);
    for (int i = 0; i < 50 && Demo.descriptors() > before + 2; ++i) {
      System.gc();
      Thread.sleep(20);
    }
    assertTrue(Demo.descriptors() <= before + 2, before + " -> " + Demo.descriptors());
  }

  @Test
  void aHundredRequestsAtOnce() throws Exception {
    try (Server server = serving()) {
      List<CompletableFuture<String>> all = new ArrayList<>();
      for (int i = 0; i < 100; ++i) all.add(server.request("POST", CHAT, question(true)).textAsync());
      for (CompletableFuture<String> one : all) assertEquals(OSLO, streamed(one.get(60, TimeUnit.SECONDS)));
      // Some end before their subscriber is registered: nothing of them stays.
      for (int i = 0; i < 200; ++i) server.request("GET", "/health", (String) null).textAsync().get();
    }
    for (int i = 0; i < 100 && AnswerPoller.waiting() > 0; ++i) Thread.sleep(10);
    assertEquals(0, AnswerPoller.waiting());
  }

  @Test
  void anExitWithAServerUnderWayIsQuick() throws Exception {
    long serves = Long.MAX_VALUE, nothing = Long.MAX_VALUE, took = Long.MAX_VALUE;
    // Where others have the processors, a thread may leave native code late.
    for (int i = 0; i < 4 && took >= 100_000_000L; ++i) {
      serves = Math.min(serves, LifeTest.exitNanoseconds("serves"));
      nothing = Math.min(nothing, LifeTest.exitNanoseconds("nothing"));
      took = serves - nothing;
    }
    assertTrue(took < 100_000_000L, "took " + took / 1_000_000 + " ms longer");
  }

  /** As in application servers: each has the binding for itself, and both one library. */
  @Test
  void twoClassLoadersServe() throws Exception {
    String jar = Arrays.stream(System.getProperty("java.class.path").split(":"))
        .filter(path -> path.matches(".*/tenon-[0-9.]+\\.jar")).findFirst().orElseThrow();
    for (int i = 0; i < 2; ++i) {
      URLClassLoader loader =
          new URLClassLoader(new URL[] {Path.of(jar).toUri().toURL()}, ClassLoader.getPlatformClassLoader());
      Class<?> type = loader.loadClass("tenon.Server");
      assertNotSame(Server.class, type);
      Object model = loader.loadClass("tenon.Model").getMethod("open", Path.class).invoke(null, Demo.FILE);
      try (AutoCloseable server = (AutoCloseable) type.getConstructor().newInstance()) {
        type.getMethod("add", String.class, model.getClass()).invoke(server, "demo", model);
        type.getMethod("start").invoke(server);
        Object answer = type.getMethod("request", String.class, String.class, Map.class)
            .invoke(server, "POST", CHAT, question(false));
        assertTrue(((String) answer.getClass().getMethod("text").invoke(answer)).contains(OSLO));
      }
    }
  }

  @Test
  void twoThreadsAtOneAnswerAreRefused() throws Exception {
    try (Server server = serving(); ServerAnswer answer = server.request("POST", "/v1/completions", endless())) {
      Thread[] readers = new Thread[2];
      AtomicInteger refused = new AtomicInteger();
      for (int i = 0; i < 2; ++i) {
        readers[i] = new Thread(() -> {
          try {
            while (true) answer.next();
          } catch (TenonException.State error) {
            refused.incrementAndGet();
            answer.close();
          } catch (TenonException.Cancelled closed) {
            return;
          }
        });
      }
      Arrays.stream(readers).forEach(Thread::start);
      for (Thread reader : readers) reader.join(20_000);
      assertEquals(1, refused.get());
    }
  }
}
