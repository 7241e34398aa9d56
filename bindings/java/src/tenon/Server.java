package tenon;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/** Serves models over HTTP (the interfaces of OpenAI and Anthropic), and to this program without a
 * socket. The library is libtenon-server, which the jar holds. Any thread. Add models and engines
 * before the start; they may be closed afterwards: the server keeps them.
 *
 * <pre>{@code
 * try (Server server = new Server()) {
 *   server.add("demo", model);
 *   int port = server.listen("127.0.0.1", 0);
 *   server.start();
 *   server.join();  // until another thread stops it
 * }
 * }</pre> */
public final class Server extends NativeObject {
  /** A running server is in use, even if unreferenced. */
  private static final Set<Server> RUNNING = ConcurrentHashMap.newKeySet();

  private final Set<ServerAnswer> answers = Collections.newSetFromMap(new WeakHashMap<>());
  private final CountDownLatch end = new CountDownLatch(1);
  private volatile boolean hasStarted;

  public Server() {
    this(null);
  }

  /** Throws {@link TenonException.Unsupported} if libtenon-server is missing or does not fit. */
  public Server(ServerOptions options) {
    super(make(options));
  }

  private static Handle make(ServerOptions options) {
    Library.useServer();
    Callback log = null;
    try (Call call = new Call()) {
      Block made = call.block(8);
      long given = call.struct(options);
      log = call.takeCallback();
      call.checkServer(call.library.serverCreate(given, made.address));
      Handle handle = Handle.of(Kind.SERVER, made.int64(0), null);
      if (log != null) handle.state.afterwards(log::end);
      log = null;
      return handle;
    } finally {
      if (log != null) log.end();
    }
  }

  /** Serves a model in an engine of the server's own. */
  public Server add(String name, Model model) {
    return add(name, model, null, 0);
  }

  /** context: most tokens of a request's prompt and answer; 0: a session's default. */
  public synchronized Server add(String name, Model model, EngineOptions options, long context) {
    GenerateOptions.counted(context);
    try (Handle set = Options.handle(options)) {
      keeping(model.handle, () -> Calls.serverAddModel(handle, name, model.handle, set, context));
    }
    return this;
  }

  /** Serves an engine of yours: its requests and yours are computed together. */
  public Server add(String name, Engine engine) {
    return add(name, engine, 0);
  }

  /** context: as above. */
  public synchronized Server add(String name, Engine engine, long context) {
    GenerateOptions.counted(context);
    Handle model = engine.model().handle;
    EngineRunner runner = engine.runner();
    keeping(model, () -> keeping(engine.handle, () -> {
      Calls.serverAddEngine(handle, name, model, engine.handle, context);
      runner.enterServer();
      if (!handle.state.afterwards(runner::leaveServer)) runner.leaveServer();
    }));
    return this;
  }

  /** Makes a served object live as long as the server. */
  private void keeping(Handle served, Runnable add) {
    served.state.holdOpen();
    Runnable letGo = served.state::release;
    boolean isKept = handle.state.afterwards(letGo);
    try {
      add.run();
    } catch (RuntimeException error) {
      if (!isKept || handle.state.withdraw(letGo)) letGo.run();
      throw error;
    }
  }

  /** Serves a model file that is loaded when a request first asks for it. */
  public Server addFile(String name, Path path) {
    return addFile(name, path, new ServerModelFile());
  }

  public synchronized Server addFile(String name, Path path, ServerModelFile options) {
    Calls.serverAddFile(handle, name, options.path(path.toString()));
    return this;
  }

  /** Accepts connections at an address once started; port 0: any free one. Returns the port. Any
   * number of times. */
  public synchronized int listen(String host, int port) {
    if (port < 0 || port > 0xffff) throw new TenonException.Argument("a port is 0 .. 65535, not " + port);
    return Calls.serverListenTcp(handle, Objects.requireNonNull(host), (char) port);
  }

  /** Accepts connections at a Unix socket. */
  public synchronized void listenUnix(Path path) {
    Calls.serverListenUnix(handle, path.toString());
  }

  /** Starts serving, on threads of the library's. They do not keep the process alive: {@link
   * #join}. */
  public synchronized Server start() {
    Calls.serverStart(handle, 0);
    hasStarted = true;
    RUNNING.add(this);
    if (isClosed()) RUNNING.remove(this); // meanwhile
    return this;
  }

  /** Takes no more requests, and returns when running ones have ended: by themselves within the
   * duration, else with {@link TenonException.Cancelled}. It cannot start again. */
  public void stop(Duration duration) {
    if (Callback.isInside()) throw new TenonException.State("a callback cannot wait for the end of a server");
    try {
      Calls.serverStop(handle, duration.toNanos() / 1e9);
    } finally {
      hasEnded();
    }
  }

  private void hasEnded() {
    RUNNING.remove(this);
    end.countDown();
  }

  /** Waits until it is stopped or closed. */
  public void join() throws InterruptedException {
    end.await();
  }

  /** Sends a request like a client, without a socket, and gets the same answer; body: JSON, or
   * null. {@link TenonException.State} before the start and after the end. */
  public ServerAnswer request(String method, String target, String body) {
    return request(method, target, body == null ? null : body.getBytes(StandardCharsets.UTF_8), null);
  }

  /** Sends a body of maps and lists: {@code server.request("POST", "/v1/chat/completions",
   * Map.of(...))}. */
  public ServerAnswer request(String method, String target, Map<String, ?> body) {
    return request(method, target, Json.text(body));
  }

  /** Sends a body of bytes; apiKey: if the server requires one, else null. */
  public ServerAnswer request(String method, String target, byte[] body, String apiKey) {
    if (!hasStarted && !isClosed()) {
      throw new TenonException.State("the server has not been started: nothing would answer");
    }
    ServerRequest request = new ServerRequest().method(method).target(target).body(body).apiKey(apiKey);
    ServerAnswer answer = new ServerAnswer(Calls.serverSubmit(handle, request));
    synchronized (answers) {
      answers.add(answer);
    }
    if (isClosed()) answer.close();
    return answer;
  }

  /** Stops it without waiting for answers: running ones end with {@link TenonException.Cancelled}.
   */
  @Override
  public void close() {
    List<ServerAnswer> under;
    synchronized (answers) {
      under = new ArrayList<>(answers);
    }
    for (ServerAnswer answer : under) answer.end(new TenonException.Cancelled("the server has been closed"));
    // Its addresses are free afterwards, even while an answer is being read.
    if (RUNNING.contains(this) && !Callback.isInside()) {
      try {
        Calls.serverStop(handle, 0);
      } catch (TenonException.State closed) {
        return; // by another thread
      }
    }
    super.close();
    for (ServerAnswer answer : under) answer.close();
    hasEnded();
  }
}
