package tenon;

/** Serves many sessions of a model: a queue, a scheduler, a KV cache with a budget. Any thread.
 *
 * <p>It computes in the calls that wait, so a loop over one generation needs no other thread. What waits without a
 * thread (a subscriber, a future, a virtual thread) has the engine's own, one for all, which the first of them
 * starts. */
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

  /** Whose engine it is. */
  public Model model() {
    return model;
  }

  /** An empty text in this engine. */
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

  /** What it has done, and does now. */
  public EngineStats stats() {
    return Calls.engineGetStats(handle);
  }

  /** The same as text for Prometheus. */
  public String statsText() {
    return Calls.engineStatsText(handle);
  }

  /** One step, if there is work; whether there was. */
  public boolean step() {
    return Calls.engineStep(handle) != 0;
  }

  /** Sees to it that a generation goes on while nothing waits for it in the library. */
  synchronized void drive(Generation generation) {
    if (isClosed()) throw new TenonException.State("the engine has been closed: only loops can still go on");
    runner.add(generation);
  }

  /** Its thread, which a server has compute what clients ask. */
  EngineRunner runner() {
    return runner;
  }

  void release(Generation generation) {
    runner.remove(generation);
  }

  /** Ends its thread, and with {@link TenonException.Cancelled} what waits without one. Sessions can still be used
   * by loops. */
  @Override
  public void close() {
    synchronized (this) {
      super.close();
    }
    for (Generation generation : runner.all()) generation.cancel();
  }
}
