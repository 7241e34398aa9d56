import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.ExecutorService;
import tenon.*;

/** The same from Java: java -cp tenon.jar Many.java MODEL COUNT TOKENS */
public final class Many {
  private Many() {}

  private static long generate(ExecutorService threads, Engine engine, int count, long maxTokens) {
    List<CompletableFuture<Long>> all = new ArrayList<>();
    for (int i = 0; i < count; ++i) {
      long seed = i;
      all.add(CompletableFuture.supplyAsync(() -> {
        try (Session session = engine.session(new SessionOptions().context(256))) {
          return session.generate("Once upon a time", new GenerateOptions().maxTokens(maxTokens).ignoreEnd(true)
              .sampling(new SamplerOptions().seed(seed))).stream().filter(Piece::hasToken).count();
        }
      }, threads));
    }
    return all.stream().mapToLong(CompletableFuture::join).sum();
  }

  public static void main(String[] arguments) {
    if (System.getenv("MANY_LIBRARY") != null) Library.use(java.nio.file.Path.of(System.getenv("MANY_LIBRARY")));
    int count = Integer.parseInt(arguments[1]);
    ExecutorService threads = Executors.newFixedThreadPool(count);
    Engine engine = new Engine(Model.open(arguments[0]), new EngineOptions().running(count));
    generate(threads, engine, count, 2);
    long begin = System.nanoTime();
    long tokens = generate(threads, engine, count, Long.parseLong(arguments[2]));
    System.out.println(tokens / ((System.nanoTime() - begin) / 1e9));
    System.exit(0);
  }
}
