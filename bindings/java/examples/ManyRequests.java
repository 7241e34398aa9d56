import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import tenon.Engine;
import tenon.EngineOptions;
import tenon.GenerateOptions;
import tenon.Model;
import tenon.SamplerOptions;

/** Many texts at once, without a thread for each: java -cp tenon.jar ManyRequests.java model.gguf 32 */
public final class ManyRequests {
  private ManyRequests() {}

  public static void main(String[] arguments) {
    int count = Integer.parseInt(arguments[1]);
    try (Model model = Model.open(arguments[0]);
        Engine engine = new Engine(model, new EngineOptions().running(count))) {
      List<CompletableFuture<String>> texts = IntStream.range(0, count)
          .mapToObj(seed -> engine.generate("Once upon a time", new GenerateOptions().maxTokens(24)
              .sampling(new SamplerOptions().temperature(1).seed(seed))).textAsync()).toList();
      texts.forEach(text -> System.out.println(text.join()));
      System.out.println(engine.stats().generatedTokens() + " tokens in " + engine.stats().steps() + " steps");
    }
  }
}
