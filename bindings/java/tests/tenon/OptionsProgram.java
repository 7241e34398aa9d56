package tenon;

import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/** A process whose library writes down what is set (bindings/recording.py): sets each option by its method, and prints
 * where something else came. SAMPLES is a file of them. */
final class OptionsProgram {
  private OptionsProgram() {}

  private static Options<?> fresh(String scope) {
    return switch (scope) {
      case "model" -> new ModelOptions();
      case "session" -> new SessionOptions();
      case "engine" -> new EngineOptions();
      case "sampler" -> new SamplerOptions();
      case "chat" -> new ChatOptions();
      case "embedder" -> new EmbedderOptions();
      default -> throw new IllegalArgumentException(scope);
    };
  }

  private static Object as(Class<?> type, Object value) {
    if (type == double.class) return ((Number) value).doubleValue();
    if (type == long.class) return ((Number) value).longValue();
    if (type == int.class) return ((Number) value).intValue();
    return value instanceof List<?> texts ? texts.toArray(String[]::new) : value;
  }

  private static void set(Options<?> options, String name, Object value) throws Exception {
    if (name.contains(".")) {
      options.set(name, value);
      return;
    }
    String wanted = name.replace("_", "");
    Method method = Stream.of(options.getClass().getMethods())
        .filter(one -> one.getName().equalsIgnoreCase(wanted) && one.getParameterCount() == 1).findFirst().orElseThrow();
    method.invoke(options, as(method.getParameterTypes()[0], value));
  }

  public static void main(String[] arguments) throws Exception {
    Path record = Path.of(System.getenv("TENON_RECORD"));
    List<?> samples = (List<?>) Json.parseObject("{\"all\": " + Files.readString(Path.of(arguments[0])) + "}").get("all");
    for (Object item : samples) {
      Map<?, ?> sample = (Map<?, ?>) item;
      Options<?> options = fresh((String) sample.get("scope"));
      set(options, (String) sample.get("name"), sample.get("value"));
      Files.writeString(record, "");
      try (Handle made = Options.handle(options)) {
        if (made == null) System.out.println(sample + " makes no options");
      } catch (TenonException refused) {
        // It was handed over.
      }
      List<String> lines = Files.readAllLines(record);
      if (!lines.equals(sample.get("lines"))) System.out.println(lines + " came, not " + sample);
    }
    System.out.println(samples.size() + " options");
  }
}
