package tenon;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** Turns texts into rows of numbers, or ranks them. Any thread. */
public final class Embedder extends NativeObject {
  /** Role of texts: retrieval models want different words before a question and before a document.
   */
  public enum Role { PLAIN, QUERY, DOCUMENT }

  public Embedder(Model model) {
    this(model, null);
  }

  public Embedder(Model model, EmbedderOptions options) {
    super(make(model, options));
  }

  private static Handle make(Model model, EmbedderOptions options) {
    try (Handle set = Options.handle(options)) {
      return Calls.embedderCreate(model.handle, set);
    }
  }

  /** Pooling, dimensions, limits. */
  public EmbedderInfo info() {
    return Calls.embedderGetInfo(handle);
  }

  /** Numbers per row. */
  public int dimensions() {
    return (int) Calls.embedderDimensions(handle);
  }

  /** Names of the classifier's labels. */
  public List<String> labels() {
    List<String> all = new ArrayList<>();
    int count = info().numLabels();
    for (int i = 0; i < count; ++i) all.add(Calls.embedderLabel(handle, i));
    return all;
  }

  /** Rows of texts. */
  public Rows embed(List<String> texts) {
    return embed(texts, Role.PLAIN, Duration.ZERO);
  }

  /** timeout: Duration.ZERO for none; {@link TenonException.Deadline} after it. */
  public Rows embed(List<String> texts, Role role, Duration timeout) {
    return embed(texts, null, role, timeout);
  }

  /** Rows of lists of tokens. */
  public Rows embedTokens(List<int[]> tokens, Duration timeout) {
    return embed(null, tokens, Role.PLAIN, timeout);
  }

  private Rows embed(List<String> texts, List<int[]> tokens, Role role, Duration timeout) {
    try (Call call = new Call()) {
      long embedder = call.handle(handle, false);
      int count = texts != null ? texts.size() : tokens.size();
      Block counts = call.array(count, 8);
      Block batch = batch(call, texts, tokens, role, timeout);
      batch.int64(Layouts.EmbedderBatch.NUM_ROWS, counts.address);
      Block needed = call.block(8);
      call.check(call.library.embedderEmbed(embedder, batch.address, 0, 0, needed.address));
      while (true) {
        long values = needed.int64(0);
        if (values > Integer.MAX_VALUE / 4) {
          throw new TenonException.Limit("the rows have " + values + " numbers, a buffer of Java at most "
              + Integer.MAX_VALUE / 4 + ": embed fewer texts at a time");
        }
        ByteBuffer rows = ByteBuffer.allocateDirect((int) values * 4).order(ByteOrder.nativeOrder());
        if (values > 0) {
          call.check(call.library.embedderEmbed(embedder, batch.address, call.library.address(rows), values,
              needed.address));
        }
        if (needed.int64(0) <= values) return new Rows(rows, counts.int64s());
      }
    }
  }

  /** Scores how well each document answers the query; more is better. A classifier gives one score
   * per label. */
  public float[] rank(String query, List<String> documents) {
    return rank(query, documents, Duration.ZERO);
  }

  public float[] rank(String query, List<String> documents, Duration timeout) {
    try (Call call = new Call()) {
      long embedder = call.handle(handle, false);
      Block batch = batch(call, documents, null, Role.DOCUMENT, timeout);
      Block text = call.text(query);
      return call.fill(4, (scores, capacity, needed) -> call.library.embedderRank(embedder, text.address, text.count,
          batch.address, scores, capacity, needed)).float32s();
    }
  }

  private static Block batch(Call call, List<String> texts, List<int[]> tokens, Role role, Duration timeout) {
    Items items = Items.of(call, texts, tokens);
    Block batch = call.struct(Layouts.EmbedderBatch.SIZE);
    batch.int32(Layouts.EmbedderBatch.ROLE, role.ordinal());
    batch.int64(Layouts.EmbedderBatch.COUNT, items.count());
    items.write(batch, Layouts.EmbedderBatch.TEXTS, Layouts.EmbedderBatch.LENGTHS, Layouts.EmbedderBatch.TOKENS,
        Layouts.EmbedderBatch.NUM_TOKENS);
    batch.float64(Layouts.EmbedderBatch.TIMEOUT_SECONDS, timeout.toNanos() / 1e9);
    return batch;
  }

  /** Ends running calls with {@link TenonException.Cancelled}. Any thread. */
  public void cancel() {
    Calls.embedderCancel(handle);
  }
}
