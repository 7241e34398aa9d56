package tenon;

import java.nio.FloatBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoublePredicate;

/** A text of tokens and what a model computed for it. One thread at a time (else {@link
 * TenonException.State}), except {@link #cancel} and {@link #close}, from any.
 *
 * <pre>{@code
 *  for (Piece piece : model.session().generate("Once upon a time")) System.out.print(piece);
 *  }</pre> */
public final class Session extends NativeObject {
  private final Model model;
  private final Engine engine;

  public Session(Model model) {
    this(model, null);
  }

  public Session(Model model, SessionOptions options) {
    this(model, model.engine(), options);
  }

  Session(Model model, Engine engine, SessionOptions options) {
    this(model, engine, open(engine, options));
  }

  private Session(Model model, Engine engine, Handle handle) {
    super(handle);
    this.model = model;
    this.engine = engine;
  }

  private static Handle open(Engine engine, SessionOptions options) {
    try (Handle set = Options.handle(options)) {
      return Calls.engineOpenSession(engine.handle, set);
    }
  }

  /** The model of the text. */
  public Model model() {
    return model;
  }

  /** Appends text, with the begin token if the session is empty. */
  public void append(String text) {
    append(text, position() == 0, false);
  }

  /** parseSpecial: finds control tokens in the text; not for user input. */
  public void append(String text, boolean addSpecial, boolean parseSpecial) {
    Calls.sessionAppendText(handle, text, Tokenizer.flags(addSpecial, parseSpecial));
  }

  /** Adds tokens. */
  public void append(int... tokens) {
    Calls.sessionAppendTokens(handle, tokens);
  }

  /** Encoder-decoders only (T5): sets the source text that the encoder reads. */
  public void setSource(String text) {
    Calls.sessionSetSourceText(handle, text, Constants.ADD_SPECIAL);
  }

  public void setSource(int... tokens) {
    Calls.sessionSetSourceTokens(handle, tokens);
  }

  /** Appends a text and continues it: a loop over pieces, a Stream, a Flow.Publisher or a future.
   * Until it has ended or is closed, the session refuses other calls except cancel and close. */
  public Generation generate(String text) {
    return start(text, null, null, false);
  }

  public Generation generate(String text, GenerateOptions options) {
    return start(text, null, options, false);
  }

  /** Appends tokens and continues them. */
  public Generation generate(int[] tokens, GenerateOptions options) {
    return start(null, tokens, options, false);
  }

  public Generation generate(int[] tokens) {
    return generate(tokens, null);
  }

  /** Continues the text as it is. */
  public Generation generate(GenerateOptions options) {
    return start(null, null, options, false);
  }

  Generation start(String text, int[] tokens, GenerateOptions given, boolean ownsSession) {
    GenerateOptions options = given == null ? GenerateOptions.NONE : given;
    Sampler own = ownSampler(options);
    try {
      Sampler sampler = own != null ? own : options.sampler;
      long key = Dispatcher.newKey();
      Handle request = submit(text, tokens, options, sampler == null ? null : sampler.handle, key);
      return new Generation(this, engine, request, key, options, ownsSession);
    } finally {
      if (own != null) own.close();
    }
  }

  /** Continues the text as it is, with a sampler instead of that of the options. */
  Generation continued(GenerateOptions options, Sampler sampler) {
    long key = Dispatcher.newKey();
    return new Generation(this, engine, submit(null, null, options, sampler.handle, key), key, options, false);
  }

  /** A sampler made for one generation; null: one was given, or the defaults suffice. */
  private Sampler ownSampler(GenerateOptions options) {
    if (options.grammar == null && (options.sampler != null || options.sampling == null)) return null;
    if (options.sampler != null) {
      throw new IllegalArgumentException("a grammar for a sampler is set by Sampler.setGrammar");
    }
    Sampler made = new Sampler(options.sampling);
    try {
      if (options.grammar != null) made.setGrammar(options.grammar, model.tokenizer());
    } catch (RuntimeException error) {
      made.close();
      throw error;
    }
    return made;
  }

  private Handle submit(String text, int[] tokens, GenerateOptions options, Handle sampler, long key) {
    boolean addSpecial = text != null && (options.addSpecial != null ? options.addSpecial : position() == 0);
    int flags = Tokenizer.flags(addSpecial, options.parseSpecial)
        | (options.ignoreEnd ? Constants.IGNORE_END : 0) | (options.logprobs >= 0 ? Constants.LOGPROBS : 0);
    try (Call call = new Call()) {
      long session = call.handle(handle, false);
      Block at = call.struct(Layouts.Submission.SIZE);
      at.int32(Layouts.Submission.FLAGS, flags);
      Block textAt = call.text(text);
      at.int64(Layouts.Submission.TEXT, textAt.address);
      at.int64(Layouts.Submission.TEXT_LENGTH, textAt.count);
      Block tokensAt = call.tokens(tokens);
      at.int64(Layouts.Submission.TOKENS, tokensAt.address);
      at.int64(Layouts.Submission.NUM_TOKENS, tokensAt.count);
      at.int64(Layouts.Submission.SAMPLER, call.handle(sampler, false));
      at.int64(Layouts.Submission.MAX_TOKENS, options.maxTokens);
      at.float64(Layouts.Submission.TIMEOUT_SECONDS, options.timeoutSeconds);
      if (options.priority != null) {
        at.int32(Layouts.Submission.PRIORITY, options.priority);
        at.int32(Layouts.Submission.HAS_PRIORITY, 1);
      }
      Block client = call.text(options.client);
      at.int64(Layouts.Submission.CLIENT, client.address);
      at.int64(Layouts.Submission.CLIENT_LENGTH, client.count);
      at.float64(Layouts.Submission.WEIGHT, options.weight);
      at.int64(Layouts.Submission.NOTIFY, call.library.upcall(Upcalls.NOTIFY_CALLBACK));
      at.int64(Layouts.Submission.USER, key);
      at.int32(Layouts.Submission.NUM_TOP, Math.max(options.logprobs, 0));
      Block made = call.block(8);
      call.check(call.library.sessionSubmit(session, at.address, made.address));
      return Handle.within(Kind.REQUEST, made.int64(0), handle);
    }
  }

  /** Seed of the latest answer; as the option seed it gives that answer again. */
  public long seed() {
    return Calls.sessionSeed(handle);
  }

  /** Generates one token: a step of generate, for loops of your own. sampler: null for the
   * defaults. */
  public Piece next(Sampler sampler) {
    return Piece.of(Calls.sessionNext(handle, sampler == null ? null : sampler.handle));
  }

  /** Continuations of one text.
   *
   * @param best index of the likeliest, with which the text continues */
  public record Candidates(List<Candidate> all, int best) {}

  /** `count` continuations. sampler: null for the defaults; maxTokens 0: as many as the context
   * holds. */
  public Candidates bestOf(int count, Sampler sampler, long maxTokens) {
    List<Candidate> all = new ArrayList<>();
    long limit = GenerateOptions.counted(maxTokens);
    int best = Calls.sessionBestOf(handle, sampler == null ? null : sampler.handle, count, limit, candidate -> {
      all.add(candidate);
      return false;
    });
    return new Candidates(List.copyOf(all), best);
  }

  /** Computes queued tokens now. */
  public void prefill() {
    Calls.sessionPrefill(handle, null);
  }

  /** progress is called with 0 .. 1; true cancels with {@link TenonException.Cancelled}, and its
   * exception is thrown here. */
  public void prefill(DoublePredicate progress) {
    Calls.sessionPrefill(handle, progress::test);
  }

  /** Logits of the next token, in the library's memory; computes queued tokens. The session refuses
   * calls until they are closed. */
  public Logits logits() {
    prefill();
    return Calls.sessionLogits(handle);
  }

  /** Logits that the last token of next was drawn from. */
  public Logits drawnLogits() {
    return Calls.sessionDrawnLogits(handle);
  }

  /** A listener for logits. */
  @FunctionalInterface
  public interface LogitsListener {
    /** logits [vocabulary] f32 are valid until it returns; true ends the call with Cancelled. */
    boolean row(long row, FloatBuffer logits) throws Exception;
  }

  /** Appends tokens and hands out the logits after each one. The listener's exception is thrown
   * here. */
  public void evaluate(int[] tokens, LogitsListener listener) {
    Calls.sessionEvaluate(handle, tokens, listener::row);
  }

  /** Scores texts as continuations of the session's text: for each the log-probabilities of its
   * tokens, whose sum is that of the whole. The session's text does not change. */
  public List<float[]> score(List<String> texts) {
    return score(texts, false, Duration.ZERO);
  }

  /** parseSpecial: finds control tokens; timeout: Duration.ZERO for none; {@link
   * TenonException.Deadline} after it. */
  public List<float[]> score(List<String> texts, boolean parseSpecial, Duration timeout) {
    return score(texts, null, parseSpecial ? Constants.PARSE_SPECIAL : 0, timeout);
  }

  /** Scores texts given as tokens. */
  public List<float[]> scoreTokens(List<int[]> tokens, Duration timeout) {
    return score(null, tokens, 0, timeout);
  }

  private List<float[]> score(List<String> texts, List<int[]> tokens, int flags, Duration timeout) {
    try (Call call = new Call()) {
      long session = call.handle(handle, false);
      Items items = Items.of(call, texts, tokens);
      Block counts = call.array(items.count(), 8);
      Block at = call.struct(Layouts.Continuations.SIZE);
      at.int32(Layouts.Continuations.FLAGS, flags);
      at.int64(Layouts.Continuations.COUNT, items.count());
      items.write(at, Layouts.Continuations.TEXTS, Layouts.Continuations.LENGTHS, Layouts.Continuations.TOKENS,
          Layouts.Continuations.NUM_TOKENS);
      at.int64(Layouts.Continuations.NUM_LOGPROBS, counts.address);
      at.float64(Layouts.Continuations.TIMEOUT_SECONDS, timeout.toNanos() / 1e9);
      float[] logprobs = call.fill(4, (buffer, capacity, needed) ->
          call.library.sessionScore(session, at.address, buffer, capacity, needed)).float32s();
      List<float[]> rows = new ArrayList<>();
      int end = 0;
      for (long count : counts.int64s()) rows.add(Arrays.copyOfRange(logprobs, end, end += (int) count));
      return rows;
    }
  }

  /** A second session with this text, sharing what was computed. */
  public Session fork() {
    return new Session(model, engine, Calls.sessionFork(handle));
  }

  /** Forgets everything from a position on. */
  public void rewind(long position) {
    Calls.sessionRewind(handle, position);
  }

  /** Saves text and cache to bytes. */
  public byte[] save() {
    return Calls.sessionSaveBuffer(handle);
  }

  /** Saves text and cache to a file. */
  public void save(Path path) {
    Calls.sessionSave(handle, path.toString());
  }

  /** Replaces the text by a saved session. */
  public void restore(byte[] saved) {
    restore(saved, false);
  }

  /** textOnly: recomputes the text if the cache differs. */
  public void restore(byte[] saved, boolean textOnly) {
    Calls.sessionRestoreBuffer(handle, saved, textOnly ? Constants.RESTORE_TEXT : 0);
  }

  public void restore(Path saved) {
    restore(saved, false);
  }

  public void restore(Path saved, boolean textOnly) {
    Calls.sessionRestore(handle, saved.toString(), textOnly ? Constants.RESTORE_TEXT : 0);
  }

  /** Number of tokens in the text. */
  public long position() {
    return Calls.sessionPosition(handle);
  }

  /** Most tokens of the text. */
  public long context() {
    return Calls.sessionContext(handle);
  }

  /** Tokens of the text. */
  public int[] tokens() {
    return Calls.sessionTokens(handle);
  }

  /** Hands out text held back because it may begin a stop text. */
  public String takeHeld() {
    return Calls.sessionTakeHeld(handle);
  }

  /** Ends the running call, or the next one, with {@link TenonException.Cancelled}. Any thread. */
  public void cancel() {
    Calls.sessionCancel(handle);
  }

  /** Tokens and seconds so far. */
  public SessionStats stats() {
    return Calls.sessionGetStats(handle);
  }
}
