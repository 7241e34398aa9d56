package tenon;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Objects: errors, options, buffers, tokenizers, samplers, chats, what is in a model. */
class ObjectsTest {
  private final Model model = Demo.MODEL;

  @Test
  void theLayerIsThatOfThisJava() {
    assertEquals(Runtime.version().feature() >= 22 ? "foreign functions" : "JNI", Library.layer());
    assertTrue(Library.version().startsWith("0."));
    assertThrows(IllegalStateException.class, () -> Library.use(Path.of("/elsewhere")));
  }

  @Test
  void tokensAreContinuedWithoutOptions() {
    try (Session session = model.session(); Engine engine = new Engine(model)) {
      session.append(Demo.ONCE);
      int[] tokens = session.tokens();
      try (Generation generation = session.generate(tokens)) {
        generation.next();
      }
      assertTrue(session.position() >= 2L * tokens.length);
      try (Generation generation = engine.generate(tokens)) {
        generation.next();
        assertEquals(tokens.length, generation.stats().promptTokens());
      }
    }
  }

  @Test
  void errorsHaveACodeAClassAndTheSentence() {
    TenonException io = assertThrows(TenonException.InputOutput.class, () -> Model.open("/nonexistent.gguf"));
    assertEquals("IO", io.code());
    assertTrue(io.getMessage().contains("no such file"), io.getMessage());
    TenonException option = assertThrows(TenonException.Argument.class,
        () -> Model.open(Demo.FILE, new ModelOptions().set("thraeds", 2)));
    assertTrue(option.getMessage().contains("nearest name is \"threads\""), option.getMessage());
    assertThrows(IllegalArgumentException.class, () -> new Sampler(new SamplerOptions().set("seed", new Object())));
    assertThrows(TenonException.Argument.class, () -> new Sampler(new SamplerOptions().set("a\u0000b", 1)));
    TenonException negative = assertThrows(TenonException.Argument.class, () -> new GenerateOptions().maxTokens(-1));
    assertTrue(negative.getMessage().contains("-1"), negative.getMessage());
  }

  @Test
  void aModelTellsWhatIsInIt() {
    assertEquals("llama", model.info().architecture());
    assertEquals(1024, model.info().vocabulary());
    assertTrue(model.info().hasWeights());
    assertEquals("llama", model.metadata("general.architecture"));
    assertEquals(1024, ((List<?>) model.metadata("tokenizer.ggml.tokens")).size());
    assertNull(model.metadata("no.such.key"));
    assertTrue(model.metadata().containsKey("general.name"));
    assertEquals(List.of(1024L, 256L, 1L, 1L), model.tensors().get(0).shape());
    assertEquals(64, model.memory(64).context());
    assertEquals(2, model.execution().threads());
    Plan plan = model.plan(model.measure(false), 128, 2);
    assertEquals(2, plan.sessions());
    assertTrue(plan.fits());
  }

  @Test
  void whatIsPassedAsHardwareArrives() {
    Hardware measured = model.measure(false);
    List<Double> speeds = List.of(1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9, 1e9);
    Plan fast = model.plan(new Hardware(2, measured.memoryBytes(), 0, speeds, 1e12, 1e9, 1e12), 128, 1);
    Plan none = model.plan(new Hardware(2, 1000, 0, speeds, 1e12, 1e9, 1e12), 128, 1);
    assertTrue(fast.decodeTokensPerSecond() > 0 && fast.fits());
    assertFalse(none.fits());
  }

  @Test
  void modelsWithoutAnEncoderTakeNoSource() {
    try (Session session = model.session()) {
      assertThrows(TenonException.State.class, () -> session.setSource("Once"));
      assertThrows(TenonException.State.class, () -> session.setSource(1, 2));
    }
  }

  @Test
  void progressEndsLoadingAndThrows() {
    List<Double> seen = new ArrayList<>();
    Model.open(Demo.FILE, new ModelOptions().onProgress(fraction -> !seen.add(fraction))).close();
    assertEquals(1, seen.get(seen.size() - 1));
    assertEquals(seen.stream().sorted().toList(), seen);
    assertThrows(TenonException.Cancelled.class,
        () -> Model.open(Demo.FILE, new ModelOptions().onProgress(fraction -> true)));
    ArithmeticException thrown = new ArithmeticException("mine");
    assertSame(thrown, assertThrows(ArithmeticException.class,
        () -> Model.open(Demo.FILE, new ModelOptions().onProgress(fraction -> { throw thrown; }))));
  }

  @Test
  void theLogGoesToAFunction() {
    List<String> lines = new java.util.concurrent.CopyOnWriteArrayList<>();
    try (Model logged = Model.open(Demo.FILE,
        new ModelOptions().onLog(Constants.LOG_DEBUG, (level, line) -> lines.add(level + line)))) {
      logged.session().generate(Demo.ONCE, Demo.greedy(1)).text();
    }
    assertTrue(lines.stream().noneMatch(line -> line.contains("\n")), lines.toString());
  }

  @Test
  void aModelComesFromBytesAndMappedFiles() throws Exception {
    try (Model bytes = Model.of(ByteBuffer.wrap(Files.readAllBytes(Demo.FILE)), null);
        FileChannel channel = FileChannel.open(Demo.FILE);
        Model mapped = Model.of(channel.map(FileChannel.MapMode.READ_ONLY, 0, channel.size()), null)) {
      assertEquals(model.info().parameters(), bytes.info().parameters());
      for (int i = 0; i < 3; ++i) System.gc(); // the mapping is kept
      assertEquals(" there was", mapped.session().generate(Demo.ONCE, Demo.greedy(2)).text());
      assertEquals(" there was", bytes.session().generate(Demo.ONCE, Demo.greedy(2)).text());
    }
  }

  @Test
  void tokenizersGoThereAndBack() throws Exception {
    Tokenizer tokenizer = model.tokenizer();
    String text = "Grüße, 世界 🦊";
    int[] tokens = tokenizer.encode(text);
    assertEquals(text, tokenizer.decode(tokens));
    assertEquals(1024, tokenizer.size());
    assertArrayEquals(java.util.Arrays.copyOf(text.getBytes(StandardCharsets.UTF_8), 3),
        tokenizer.decodeBytes(java.util.Arrays.copyOf(tokens, 3), false));
    assertEquals(tokenizer.encode("<|im_end|>", false, true)[0], tokenizer.find("<|im_end|>").orElseThrow());
    assertTrue(tokenizer.find("no such token").isEmpty());
    assertArrayEquals(tokens, Tokenizer.open(Demo.FILE).encode(text));
    assertArrayEquals(tokens, Tokenizer.of(Files.readAllBytes(Demo.FILE)).encode(text));
    assertTrue(tokenizer.info(tokens[1]).text().length > 0);
    assertEquals(0, tokenizer.encode("").length);
    assertEquals(20000, tokenizer.decode(tokenizer.encode("x".repeat(20000))).length(), "larger than a scratch");
  }

  @Test
  void thePositionIsTheKeyOfADraw() {
    // Without filters, which by default leave few tokens, and before the temperature.
    SamplerOptions all = new SamplerOptions().temperature(5).topK(0).topP(1).minP(0).seed(1);
    float[] equal = new float[1024];
    IntFunction<Integer> drawn = position -> new Sampler(all).sampleAt(equal, position);
    // What tenon_sampler_sample of the C interface draws.
    assertEquals(List.of(916, 895, 569, 37, 679, 302), IntStream.range(0, 6).mapToObj(drawn).toList());
    assertEquals(drawn.apply(3), new Sampler(all).sample(equal, 1, 2, 3));
    assertEquals(drawn.apply(4), new Sampler(all).sampleAt(FloatBuffer.wrap(equal), 4, 1, 2, 3));
    try (Session session = model.session()) {
      session.append(Demo.ONCE);
      Logits logits = session.logits();
      assertEquals(new Sampler(all).sampleAt(logits.toArray(), 5), new Sampler(all).sampleAt(logits, 5));
    }
  }

  @Test
  void logitsAreABufferUntilTheyAreClosed() {
    try (Session session = model.session()) {
      session.append(Demo.ONCE);
      Logits logits = session.logits();
      FloatBuffer buffer = logits.buffer();
      assertEquals(1024, logits.size());
      assertTrue(buffer.isDirect() && Float.isFinite(buffer.get(0)));
      assertThrows(ReadOnlyBufferException.class, () -> buffer.put(0, 1));
      float[] copy = logits.toArray();
      int largest = 0;
      for (int i = 0; i < copy.length; ++i) if (copy[i] > copy[largest]) largest = i;
      Sampler greedy = new Sampler(new SamplerOptions().temperature(0));
      assertEquals(largest, greedy.sample(logits));
      assertEquals(largest, greedy.sample(copy));
      assertEquals(largest, greedy.sample(buffer));
      Sampler.Logprobs logprobs = Sampler.logprobs(logits, new int[] {largest}, 2);
      assertEquals(new TokenLogprob(largest, logprobs.ofTokens()[0]), logprobs.top().get(0));

      String message = assertThrows(TenonException.State.class, () -> session.append("more")).getMessage();
      assertTrue(message.contains("still in use"), message);
      float first = buffer.get(0);
      logits.close();
      session.append("more");
      session.prefill();
      assertThrows(TenonException.State.class, () -> logits.get(0));
      assertThrows(TenonException.State.class, () -> greedy.sample(logits));
      if (Library.layer().equals("JNI")) {
        assertEquals(first, buffer.get(0), "a copy");
      } else {
        assertThrows(IllegalStateException.class, () -> buffer.get(0), "the memory itself, taken back");
      }
    }
  }

  @Test
  void forgottenLogitsLetTheSessionGo() throws Exception {
    try (Session session = model.session()) {
      session.append(Demo.ONCE);
      session.logits();
      for (int i = 0; i < 200; ++i) {
        System.gc();
        Thread.sleep(10);
        try {
          session.append("more");
          return;
        } catch (TenonException.State stillHeld) {
          continue;
        }
      }
      fail("the Cleaner is a net");
    }
  }

  @Test
  void evaluateHandsOutLogitsAndExceptions() {
    try (Session session = model.session()) {
      int[] tokens = model.tokenizer().encode(Demo.ONCE);
      List<Long> rows = new ArrayList<>();
      List<FloatBuffer> kept = new ArrayList<>();
      session.evaluate(tokens, (row, logits) -> {
        assertEquals(1024, logits.remaining());
        kept.add(logits);
        rows.add(row);
        return false;
      });
      assertEquals(List.of(0L, 1L, 2L, 3L), rows);
      if (!Library.layer().equals("JNI")) {
        assertThrows(IllegalStateException.class, () -> kept.get(0).get(0));
      }
      assertThrows(TenonException.Cancelled.class, () -> session.evaluate(tokens, (row, logits) -> true));
      java.io.IOException thrown = new java.io.IOException("mine");
      assertSame(thrown, assertThrows(java.io.IOException.class, () -> session.evaluate(tokens, (row, logits) -> {
        throw thrown;
      })));
    }
  }

  @Test
  void piecesAreTextWithAToken() {
    try (Session session = model.session()) {
      List<Piece> pieces = session.generate(Demo.ONCE, Demo.greedy(3).logprobs(2)).stream().toList();
      int[] tokens = pieces.stream().mapToInt(Piece::token).toArray();
      assertEquals(model.tokenizer().decode(tokens), pieces.stream().map(Piece::text).reduce("", String::concat));
      assertEquals(Finish.MAX_TOKENS, pieces.get(2).finish());
      assertNull(pieces.get(0).finish());
      assertEquals(new TokenLogprob(pieces.get(0).token(), pieces.get(0).logprob()), pieces.get(0).top().get(0));
      assertEquals(2, pieces.get(0).top().size());
    }
  }

  @Test
  void samplersGrammarsAndMatchers() {
    try (Session session = model.session(); Grammar grammar = Grammar.choices("yes", "no")) {
      assertTrue(grammar.accepts("no") && !grammar.accepts("maybe"));
      String answer = session.generate("Is it? ", new GenerateOptions().grammar(grammar)).text();
      assertTrue(List.of("yes", "no").contains(answer), answer);
      Matcher matcher = grammar.matcher(model.tokenizer());
      assertTrue(matcher.accept("ye") && !matcher.isComplete());
      assertEquals("s", matcher.forcedText());
      Matcher fork = matcher.fork();
      assertTrue(matcher.accept("s") && matcher.isComplete() && matcher.hasEnded());
      assertFalse(fork.isComplete());
      int s = model.tokenizer().encode("s")[0];
      assertTrue(fork.allows(s) && fork.mask().get(s));
      fork.accept(s);
      fork.rollBack(1);
      assertThrows(TenonException.GrammarRefused.class, () -> Grammar.regex("a("));
      assertThrows(TenonException.GrammarRefused.class, () -> Grammar.jsonSchema(Map.of("type", "nonsense")));
    }
    Sampler sampler = new Sampler(new SamplerOptions().temperature(0));
    sampler.set("top_k", 5);
    sampler.set("top_p", 0.5);
    sampler.setBias(7, Double.NEGATIVE_INFINITY);
    assertThrows(TenonException.Argument.class, () -> sampler.set("top_kk", 5));
    assertThrows(IllegalArgumentException.class, () -> model.session().generate("x",
        new GenerateOptions().sampler(sampler).grammar(Grammar.choices("a"))));
  }

  @Test
  void bestOfAndNext() {
    try (Session session = model.session()) {
      session.append(Demo.ONCE);
      Session.Candidates candidates = session.bestOf(3, new Sampler(new SamplerOptions().seed(1)), 4);
      assertEquals(3, candidates.all().size());
      int[] best = candidates.all().get(candidates.best()).tokens();
      int[] tokens = session.tokens();
      assertArrayEquals(best, java.util.Arrays.copyOfRange(tokens, tokens.length - best.length, tokens.length));
      assertTrue(session.next(null).hasToken());
      try (Logits drawn = session.drawnLogits()) {
        assertEquals(1024, drawn.size());
      }
    }
  }

  @Test
  void filesOfSessions(@TempDir Path folder) {
    try (Session session = model.session(); Session other = model.session()) {
      session.append(Demo.ONCE);
      session.prefill();
      session.save(folder.resolve("saved"));
      other.restore(folder.resolve("saved"));
      assertArrayEquals(session.tokens(), other.tokens());
      byte[] bytes = session.save();
      other.rewind(0);
      other.restore(bytes);
      assertArrayEquals(session.tokens(), other.tokens());
      assertThrows(TenonException.Format.class, () -> other.restore("nothing that was saved".getBytes()));
      assertEquals(4, session.stats().prefillTokens());
      assertTrue(session.context() >= 1024);
    }
  }

  @Test
  void rowsOfEmbedders() {
    try (Model encoder = Model.open(Demo.FILE, new ModelOptions().embeddings("on"));
        Embedder embedder = new Embedder(encoder)) {
      Rows rows = embedder.embed(List.of("a fox", "the sea", "a fox"));
      assertEquals(3, rows.size());
      assertEquals(256, embedder.dimensions());
      assertEquals(256, rows.dimensions());
      assertEquals(rows.row(0), rows.row(2));
      assertNotEquals(rows.row(0), rows.row(1));
      assertEquals(1, rows.dot(0, 0), 1e-5);
      assertTrue(rows.buffer().isDirect() && rows.buffer().isReadOnly());
      assertEquals(0, embedder.embed(List.of()).size());
      assertNotEquals(rows.row(0), embedder.embedTokens(List.of(new int[] {593, 591}), Duration.ZERO).row(0));
      float[] scores = embedder.rank("a fox", List.of("the sea", "a fox"));
      assertTrue(scores[1] > scores[0]);
      assertThrows(TenonException.Deadline.class,
          () -> embedder.embed(List.of(Demo.LONG), Embedder.Role.PLAIN, Duration.ofNanos(100)));
      assertEquals(0, embedder.labels().size());
      assertTrue(embedder.info().normalizes());
    }
  }

  @Test
  void chatsReadAnswers() {
    Chat chat = new Chat(model);
    Map<String, Object> conversation = Map.of("messages", List.of(Demo.user("What is the capital of Norway?")));
    StringBuilder text = new StringBuilder();
    try (Session session = model.session(); Reply reply = chat.reply(conversation)) {
      for (Piece piece : session.generate(chat.encode(conversation), Demo.greedy(0))) {
        if (piece.hasToken()) reply.push(piece.token()).forEach(delta -> text.append(delta.text()));
      }
      reply.finish();
      assertEquals("The capital of Norway is Oslo.", reply.message().get("content"));
    }
    assertEquals("The capital of Norway is Oslo.", text.toString());
    assertEquals("hermes", chat.format());
    assertTrue(chat.grammar(conversation).isEmpty());
    Chat own = new Chat(null, new ChatOptions().template("{{ messages[0].content }}!"));
    assertEquals("Hi!", own.render(Map.of("messages", List.of(Demo.user("Hi")))));
    assertThrows(TenonException.Template.class, () -> new Chat(null, new ChatOptions().template("{{")));
  }

  @Test
  void enginesTellWhatTheyDo() {
    try (Engine engine = new Engine(model, new EngineOptions().running(2))) {
      engine.generate(Demo.ONCE, Demo.greedy(4)).text();
      assertEquals(1, engine.stats().finished());
      assertEquals(17, engine.stats().requestCounts().size());
      assertTrue(engine.statsText().contains("# TYPE"));
      assertFalse(engine.step());
      Generation generation = engine.generate(model.tokenizer().encode(Demo.ONCE), Demo.greedy(2));
      assertEquals(4, generation.stats().promptTokens());
      generation.close();
      assertThrows(TenonException.Argument.class,
          () -> engine.generate(Demo.ONCE, new GenerateOptions().weight(1e9).client("me")));
    }
  }
}
