package tenon;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** What tests share. The system property tenon.root is the tree. */
final class Demo {
  static final Path ROOT = Path.of(System.getProperty("tenon.root"));
  static final Path FILE = ROOT.resolve("examples/models/demo-q8_0.gguf");
  static final String ONCE = "Once upon a time";
  /** Takes long enough to compute that a test can end it. */
  static final String LONG = "word ".repeat(450);
  static final Model MODEL = Model.open(FILE, new ModelOptions().threads(2));

  /** False where the build has no libtenon-server: what needs it is skipped. */
  static final boolean HAS_SERVER = hasServer();

  private Demo() {}

  private static boolean hasServer() {
    try {
      Library.useServer();
      return true;
    } catch (TenonException.Unsupported missing) {
      return false;
    }
  }

  static GenerateOptions greedy(long maxTokens) {
    return new GenerateOptions().greedy().maxTokens(maxTokens);
  }

  /** Runs for a very long time unless it is ended. */
  static Generation endless() {
    SessionOptions options = new SessionOptions().context(16384);
    return MODEL.session(options).generate(LONG, new GenerateOptions().ignoreEnd(true));
  }

  static Map<String, Object> user(String content) {
    return Map.of("role", "user", "content", content);
  }

  static int threads() {
    return java.util.Objects.requireNonNull(new java.io.File("/proc/self/task").list()).length;
  }

  static int descriptors() {
    return java.util.Objects.requireNonNull(new java.io.File("/proc/self/fd").list()).length;
  }

  /** Another process of this Java that runs the main method of a class of the tests. */
  static Process java(Class<?> main, String... arguments) throws java.io.IOException {
    return java(List.of("-Dtenon.library=" + Library.path()), main, arguments);
  }

  /** The same with options of Java; which library is up to it. */
  static Process java(List<String> options, Class<?> main, String... arguments) throws java.io.IOException {
    List<String> command = new java.util.ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    if (Runtime.version().feature() >= 22) command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(options);
    command.addAll(List.of("-Dtenon.root=" + ROOT, "-cp", System.getProperty("java.class.path"), main.getName()));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
  }
}
