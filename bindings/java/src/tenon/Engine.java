package tenon;

/** Serves many sessions of a model: a queue, a scheduler, a KV cache with a budget. Any thread.
 *
 * <p>It computes in waiting calls, so a loop over one generation needs no other thread. Waiters
 * without a thread (a subscriber, a future, a virtual thread) use the engine's own, one for all,
 * which the first of them starts. */
public final class Engine extends NativeObject {
  private final Model model;
  private final EngineRunner runner;

  public Engine(Model model) {
    this(model, null);
  }

  public Engine(Model model, EngineOptions options) {
    super(make(model, options));
    this.model = model;
    runner = new EngineRunner(handle.state);
  }

  private static Handle make(Model model, EngineOptions options) {
    try (Handle set = Options.handle(options)) {
      return Calls.engineCreate(model.handle, set);
    }
  }

  /** The model that the engine serves. */
  public Model model() {
    return model;
  }

  /** A new session in this engine, with an empty text. */
  public Session session() {
    return session(null);
  }

  public Session session(SessionOptions options) {
    return new Session(model, this, options);
  }

  /** Continues a text in a session of its own. */
  public Generation generate(String prompt, GenerateOptions options) {
    return generate(options, session -> session.start(prompt, null, options, true));
  }

  public Generation generate(String prompt) {
    return generate(prompt, null);
  }

  public Generation generate(int[] prompt) {
    return generate(prompt, null);
  }

  /** Continues tokens in a session of its own. */
  public Generation generate(int[] prompt, GenerateOptions options) {
    return generate(options, session -> session.start(null, prompt, options, true));
  }

  private Generation generate(GenerateOptions options, java.util.function.Function<Session, Generation> begin) {
    Session session = session();
    try {
      return begin.apply(session);
    } catch (RuntimeException error) {
      session.close();
      throw error;
    }
  }

  /** Counters and current values. */
  public EngineStats stats() {
    return Calls.engineGetStats(handle);
  }

  /** The statistics as Prometheus text. */
  public String statsText() {
    return Calls.engineStatsText(handle);
  }

  /** Computes one step if work is waiting; true if it did. */
  public boolean step() {
    return Calls.engineStep(handle) != 0;
  }

  /** Makes a generation continue while nothing waits for it in the library. */
  synchronized void drive(Generation generation) {
    if (isClosed()) throw new TenonException.State("the engine has been closed: only loops can still go on");
    runner.add(generation);
  }

  /** Its thread, which computes a server's requests. */
  EngineRunner runner() {
    return runner;
  }

  void release(Generation generation) {
    runner.remove(generation);
  }

  /** Ends its thread, and waiters without a thread with {@link TenonException.Cancelled}. Loops can
   * still use sessions. */
  @Override
  public void close() {
    synchronized (this) {
      super.close();
    }
    for (Generation generation : runner.all()) generation.cancel();
  }
}
