package tenon;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;

/** Runs the steps of one scenario of bindings/scenarios.json; python/tests/run_scenarios.py is the reference. */
final class Scenarios implements AutoCloseable {
  /** What a callback throws. */
  private static final class Thrown extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  private final Path file;
  private final Map<String, Object> options;
  private final Map<String, Object> objects = new LinkedHashMap<>();
  private final Map<String, Object> results = new LinkedHashMap<>();

  Scenarios(Map<String, Object> setting) {
    file = Demo.ROOT.resolve((String) setting.get("file"));
    options = map(setting.get("options"));
    objects.put("model", Model.open(file, given(new ModelOptions(), options)));
  }

  /** What the scenario brings, by name. */
  Map<String, Object> run(List<?> steps) throws Exception {
    for (Object item : steps) {
      Map<String, Object> step = map(item);
      Object fails = step.get("fails");
      Object result;
      try {
        result = perform(step);
      } catch (TenonException | Thrown error) {
        String code = error instanceof TenonException known ? known.code() : "THROWN";
        String says = (String) step.getOrDefault("says", "");
        if (!code.equals(fails) || !says.isEmpty() && !error.getMessage().contains(says)) throw error;
        continue;
      }
      if (fails != null) throw new AssertionError(step + " did not fail");
      if (step.containsKey("as")) objects.put((String) step.get("as"), result);
      if (step.containsKey("into")) results.put((String) step.get("into"), result);
    }
    return results;
  }

  @Override
  public void close() throws Exception {
    List<Object> made = new ArrayList<>(objects.values());
    java.util.Collections.reverse(made);
    for (Object thing : made) if (thing instanceof AutoCloseable closeable) closeable.close();
  }

  private Object perform(Map<String, Object> step) throws Exception {
    return switch ((String) step.get("op")) {
      case "model" -> model(step);
      case "session" -> {
        SessionOptions given = given(new SessionOptions(), map(step.get("options")));
        yield step.containsKey("engine") ? object(Engine.class, step, "engine").session(given)
            : modelOf(step).session(given);
      }
      case "engine" -> new Engine(modelOf(step), given(new EngineOptions(), map(step.get("options"))));
      case "grammar" -> grammar((String) step.get("kind"), step.get("value"));
      case "chat" -> step.get("template") instanceof String template
          ? new Chat(null, new ChatOptions().template(template)) : new Chat(modelOf(step));
      case "embedder" -> new Embedder(modelOf(step), given(new EmbedderOptions(), map(step.get("options"))));
      case "sampler" -> new Sampler(given(new SamplerOptions(), map(step.get("options"))));
      case "close" -> {
        object(AutoCloseable.class, step, "object").close();
        yield null;
      }
      case "submit" -> submit(step);
      case "generate" -> pieces(submit(step).stream().toList(), step.containsKey("logprobs"));
      case "take" -> {
        List<String> texts = new ArrayList<>();
        Generation generation = object(Generation.class, step, "request");
        for (long i = 0; i < (Long) step.get("pieces"); ++i) texts.add(generation.next().text());
        yield texts;
      }
      case "drain" -> object(Generation.class, step, "request").text();
      case "cancel" -> {
        object(Generation.class, step, "request").cancel();
        yield null;
      }
      case "append" -> {
        long times = step.get("times") instanceof Long count ? count : 1;
        sessionOf(step).append(((String) step.get("text")).repeat((int) times));
        yield null;
      }
      case "prefill" -> {
        if (step.get("stop_at") instanceof Double stop) {
          sessionOf(step).prefill(fraction -> fraction >= stop);
        } else {
          sessionOf(step).prefill();
        }
        yield null;
      }
      case "logits" -> {
        try (Logits logits = sessionOf(step).logits()) {
          yield bits(logits.buffer());
        }
      }
      case "evaluate" -> {
        long throwsAt = step.get("throws_at") instanceof Long row ? row : -1;
        List<String> rows = new ArrayList<>();
        sessionOf(step).evaluate(tokens(step), (row, logits) -> {
          if (row == throwsAt) throw new Thrown();
          rows.add(bits(logits));
          return false;
        });
        yield rows;
      }
      case "score" -> score(step);
      case "next" -> {
        List<String> texts = new ArrayList<>();
        Sampler sampler = object(Sampler.class, step, "sampler");
        for (long i = 0; i < (Long) step.get("count"); ++i) texts.add(sessionOf(step).next(sampler).text());
        yield texts;
      }
      case "take_held" -> sessionOf(step).takeHeld();
      case "best_of" -> {
        Session.Candidates found = sessionOf(step).bestOf(((Long) step.get("count")).intValue(),
            object(Sampler.class, step, "sampler"), (Long) step.get("max_tokens"));
        yield Map.of("texts", found.all().stream().map(Candidate::text).toList(), "best", found.best());
      }
      case "set_source" -> {
        sessionOf(step).setSource((String) step.get("text"));
        yield null;
      }
      case "cancel_session" -> {
        sessionOf(step).cancel();
        yield null;
      }
      case "fork" -> sessionOf(step).fork();
      case "rewind" -> {
        sessionOf(step).rewind((Long) step.get("position"));
        yield null;
      }
      case "save" -> sessionOf(step).save();
      case "damage" -> {
        byte[] copy = object(byte[].class, step, "saved").clone();
        copy[copy.length / 2] ^= 1;
        yield copy;
      }
      case "restore" -> {
        sessionOf(step).restore(object(byte[].class, step, "from"));
        yield null;
      }
      case "position" -> sessionOf(step).position();
      case "tokens" -> list(sessionOf(step).tokens());
      case "encode" -> list(modelOf(step).tokenizer().encode((String) step.get("text"), false,
          Boolean.TRUE.equals(step.get("parse_special"))));
      case "decode" -> new String(modelOf(step).tokenizer().decodeBytes(tokens(step),
          Boolean.TRUE.equals(step.get("special"))), StandardCharsets.UTF_8);
      case "decode_bytes" -> HexFormat.of().formatHex(modelOf(step).tokenizer().decodeBytes(tokens(step), false));
      case "find" -> {
        OptionalInt token = modelOf(step).tokenizer().find((String) step.get("text"));
        yield token.isPresent() ? token.getAsInt() : null;
      }
      case "metadata" -> modelOf(step).metadata((String) step.get("key"));
      case "info" -> {
        ModelInfo info = modelOf(step).info();
        yield List.of(info.architecture(), info.vocabulary(), info.layers(), info.width(), info.heads(),
            info.trainedContext(), info.hasWeights());
      }
      case "version" -> Library.version();
      case "bias" -> {
        object(Sampler.class, step, "sampler").setBias(((Long) step.get("token")).intValue(), (Double) step.get("bias"));
        yield null;
      }
      case "stop_token" -> {
        object(Sampler.class, step, "sampler").addStopToken(((Long) step.get("token")).intValue());
        yield null;
      }
      case "sample" -> {
        List<Integer> drawn = new ArrayList<>();
        for (int length = 0; length < (Long) step.get("count"); ++length) {
          drawn.add(object(Sampler.class, step, "sampler").sample(floats(step.get("logits")), new int[length]));
        }
        yield drawn;
      }
      case "logprobs_of" -> {
        Sampler.Logprobs found = Sampler.logprobs(floats(step.get("logits")), tokens(step),
            ((Long) step.get("top")).intValue());
        FloatBuffer all = FloatBuffer.allocate(found.ofTokens().length + found.top().size()).put(found.ofTokens());
        found.top().forEach(one -> all.put(one.logprob()));
        yield Map.of("top", found.top().stream().map(TokenLogprob::token).toList(), "bits", bits(all.flip()));
      }
      case "accepts" -> object(Grammar.class, step, "grammar").accepts((String) step.get("text"));
      case "match" -> {
        Matcher matcher = object(Grammar.class, step, "grammar").matcher(modelOf(Map.of()).tokenizer());
        boolean isTaken = matcher.accept((String) step.get("text"));
        yield List.of(isTaken, matcher.forcedText(), matcher.isComplete());
      }
      case "render" -> object(Chat.class, step, "chat").render(map(step.get("conversation")));
      case "encode_chat" -> list(object(Chat.class, step, "chat").encode(map(step.get("conversation"))));
      case "chat_answer" -> chatAnswer(step);
      case "read_answer" -> readAnswer(step);
      case "embed" -> embed(step);
      case "threads" -> threads(step);
      case "stream_many" -> streamMany(step);
      case "exit_under_way" -> exitUnderWay(step);
      default -> throw new AssertionError("an unknown step: " + step);
    };
  }

  // ---- Objects ----

  private Model model(Map<String, Object> step) throws Exception {
    Map<String, Object> all = new LinkedHashMap<>(options);
    all.putAll(map(step.get("options")));
    ModelOptions given = given(new ModelOptions(), all);
    if (step.containsKey("throws")) {
      given.onProgress(fraction -> {
        throw new Thrown();
      });
    }
    if (step.get("stop_at") instanceof Double stop) given.onProgress(fraction -> fraction >= stop);
    if (step.get("bytes") instanceof String text) {
      return Model.of(ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)), given);
    }
    if ("bytes".equals(step.get("from"))) return Model.of(ByteBuffer.wrap(Files.readAllBytes(file)), given);
    return Model.open(step.get("path") instanceof String path ? Path.of(path) : file, given);
  }

  private static Grammar grammar(String kind, Object value) {
    return switch (kind) {
      case "json_schema" -> Grammar.jsonSchema(map(value));
      case "regex" -> Grammar.regex((String) value);
      case "gbnf" -> Grammar.gbnf((String) value);
      case "lark" -> Grammar.lark((String) value);
      default -> Grammar.choices(((List<?>) value).toArray(new String[0]));
    };
  }

  private Model modelOf(Map<String, Object> step) {
    return (Model) objects.get(step.getOrDefault("model", "model"));
  }

  private Session sessionOf(Map<String, Object> step) {
    return object(Session.class, step, "session");
  }

  private <T> T object(Class<T> kind, Map<String, Object> step, String key) {
    return kind.cast(objects.get(step.get(key)));
  }

  private static <T extends Options<T>> T given(T options, Map<String, Object> values) {
    values.forEach(options::set);
    return options;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(Object value) {
    return value == null ? Map.of() : (Map<String, Object>) value;
  }

  private static int[] tokens(Map<String, Object> step) {
    return ((List<?>) step.get("tokens")).stream().mapToInt(token -> ((Long) token).intValue()).toArray();
  }

  private static float[] floats(Object value) {
    List<?> numbers = (List<?>) value;
    float[] made = new float[numbers.size()];
    for (int i = 0; i < made.length; ++i) made[i] = ((Number) numbers.get(i)).floatValue();
    return made;
  }

  private static List<Integer> list(int[] tokens) {
    return java.util.Arrays.stream(tokens).boxed().toList();
  }

  // ---- Texts ----

  private GenerateOptions generateOptions(Map<String, Object> step) {
    GenerateOptions made = new GenerateOptions();
    if (step.get("max_tokens") instanceof Long count) made.maxTokens(count);
    if (step.containsKey("sampling")) made.sampling(given(new SamplerOptions(), map(step.get("sampling"))));
    if (step.containsKey("grammar")) made.grammar(object(Grammar.class, step, "grammar"));
    if (step.containsKey("sampler")) made.sampler(object(Sampler.class, step, "sampler"));
    if (step.get("priority") instanceof Long priority) made.priority(priority.intValue());
    if (step.get("client") instanceof String client) made.client(client);
    if (step.get("weight") instanceof Double weight) made.weight(weight);
    if (step.get("logprobs") instanceof Long top) made.logprobs(top.intValue());
    if (step.get("timeout") instanceof Double seconds) {
      made.timeout(java.time.Duration.ofNanos((long) (seconds * 1e9)));
    }
    return made.parseSpecial(Boolean.TRUE.equals(step.get("parse_special")))
        .ignoreEnd(Boolean.TRUE.equals(step.get("ignore_end")));
  }

  private Generation submit(Map<String, Object> step) {
    return sessionOf(step).generate((String) step.get("text"), generateOptions(step));
  }

  private static Map<String, Object> pieces(List<Piece> pieces, boolean withLogprobs) throws Exception {
    Map<String, Object> result = new LinkedHashMap<>();
    result.put("pieces", pieces.stream().map(Piece::text).toList());
    result.put("tokens", pieces.stream().map(Piece::token).toList());
    Finish finish = pieces.isEmpty() ? null : pieces.get(pieces.size() - 1).finish();
    result.put("finish", finish == null ? null : finish.name().toLowerCase(java.util.Locale.ROOT));
    if (withLogprobs) {
      result.put("top", pieces.stream().map(piece -> piece.top().stream().map(TokenLogprob::token).toList()).toList());
      List<Float> numbers = new ArrayList<>();
      for (Piece piece : pieces) {
        numbers.add(piece.logprob());
        piece.top().forEach(top -> numbers.add(top.logprob()));
      }
      FloatBuffer all = FloatBuffer.allocate(numbers.size());
      numbers.forEach(all::put);
      result.put("bits", bits(all.flip()));
    }
    return result;
  }

  /** What numbers are, bit by bit. */
  private static String bits(FloatBuffer numbers) throws Exception {
    ByteBuffer bytes = ByteBuffer.allocate(4 * numbers.remaining()).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(numbers.duplicate());
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes.array())).substring(0, 16);
  }

  private Map<String, Object> chatAnswer(Map<String, Object> step) {
    Chat chat = object(Chat.class, step, "chat");
    Map<String, Object> conversation = map(step.get("conversation"));
    Sampler sampler = new Sampler(new SamplerOptions().temperature(0));
    chat.constrain(conversation, sampler);
    Reply reply = chat.reply(conversation);
    GenerateOptions given = new GenerateOptions().sampler(sampler).maxTokens((Long) step.get("max_tokens"));
    for (Piece piece : sessionOf(step).generate(chat.encode(conversation), given)) {
      if (piece.hasToken()) reply.push(piece.token());
    }
    reply.finish();
    Map<String, Object> message = reply.message();
    // Made up anew each time.
    if (message.get("tool_calls") instanceof List<?> calls) calls.forEach(call -> map(call).remove("id"));
    return message;
  }

  private Map<String, Object> score(Map<String, Object> step) throws Exception {
    List<float[]> rows;
    if (step.get("texts") instanceof List<?> texts) {
      rows = sessionOf(step).score(texts.stream().map(String.class::cast).toList());
    } else {
      List<int[]> tokens = ((List<?>) step.get("tokens")).stream().map(item -> tokens(Map.of("tokens", item))).toList();
      rows = sessionOf(step).scoreTokens(tokens, java.time.Duration.ZERO);
    }
    List<String> all = new ArrayList<>();
    for (float[] row : rows) all.add(bits(FloatBuffer.wrap(row)));
    return Map.of("counts", rows.stream().map(row -> row.length).toList(), "bits", all);
  }

  private static final Map<Integer, String> DELTAS = Map.of(Constants.CHAT_CONTENT, "content",
      Constants.CHAT_REASONING, "reasoning", Constants.CHAT_CALL_BEGIN, "call_begin", Constants.CHAT_ARGUMENTS,
      "arguments", Constants.CHAT_CALL_END, "call_end", Constants.CHAT_CALL_RETRACT, "call_retract");

  private Map<String, Object> readAnswer(Map<String, Object> step) {
    Reply reply = object(Chat.class, step, "chat").reply(map(step.get("conversation")));
    List<ChatDelta> deltas = new ArrayList<>();
    for (Object part : (List<?>) step.get("parts")) deltas.addAll(reply.push((String) part));
    deltas.addAll(reply.finish());
    Map<String, Object> message = reply.message();
    if (message.get("tool_calls") instanceof List<?> calls) calls.forEach(call -> map(call).remove("id"));
    return Map.of("deltas", deltas.stream().map(delta -> List.of(DELTAS.get(delta.kind()), delta.text())).toList(),
        "message", message);
  }

  private Map<String, Object> embed(Map<String, Object> step) throws Exception {
    List<String> texts = ((List<?>) step.get("texts")).stream().map(String.class::cast).toList();
    Rows rows = object(Embedder.class, step, "embedder").embed(texts);
    List<String> all = new ArrayList<>();
    for (int i = 0; i < rows.size(); ++i) all.add(bits(rows.row(i)));
    return Map.of("counts", rows.counts(), "bits", all);
  }

  // ---- Several at a time ----

  private List<String> threads(Map<String, Object> step) throws Exception {
    String[] texts = new String[((Long) step.get("count")).intValue()];
    Thread[] workers = new Thread[texts.length];
    for (int i = 0; i < texts.length; ++i) {
      int index = i;
      workers[i] = new Thread(() -> texts[index] = modelOf(Map.of()).session()
          .generate((String) step.get("text"), generateOptions(step)).text());
      workers[i].start();
    }
    for (Thread worker : workers) worker.join();
    return List.of(texts);
  }

  private List<String> streamMany(Map<String, Object> step) throws Exception {
    try (Engine engine = new Engine(modelOf(step))) {
      List<CompletableFuture<String>> all = new ArrayList<>();
      for (long seed = 0; seed < (Long) step.get("count"); ++seed) {
        all.add(engine.generate((String) step.get("text"), new GenerateOptions()
            .maxTokens((Long) step.get("max_tokens"))
            .sampling(new SamplerOptions().temperature(1).seed(seed))).textAsync());
      }
      List<String> texts = new ArrayList<>();
      for (CompletableFuture<String> future : all) texts.add(future.get());
      return texts;
    }
  }

  private static Object exitUnderWay(Map<String, Object> step) throws Exception {
    double seconds = LifeTest.exitNanoseconds("async") / 1e9;
    // Java itself takes some time to end.
    if (seconds > (Double) step.get("within_seconds") + 0.1) {
      throw new AssertionError("the process ended " + seconds + " s after it exited");
    }
    return null;
  }
}
