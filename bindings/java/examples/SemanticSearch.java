import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import tenon.Embedder;
import tenon.Model;
import tenon.ModelOptions;
import tenon.Rows;

/** Finds the sentence nearest to a question: java -cp tenon.jar SemanticSearch.java model.gguf "Who bakes bread?" */
public final class SemanticSearch {
  private SemanticSearch() {}

  public static void main(String[] arguments) {
    List<String> documents = List.of("The sea was calm.", "A small fox lived in the forest.", "Bread is baked.");
    try (Model model = Model.open(arguments[0], new ModelOptions().embeddings("on"));
        Embedder embedder = new Embedder(model)) {
      Rows found = embedder.embed(documents, Embedder.Role.DOCUMENT, Duration.ZERO);
      Rows asked = embedder.embed(List.of(arguments[1]), Embedder.Role.QUERY, Duration.ZERO);
      int best = IntStream.range(0, documents.size()).boxed()
          .max(Comparator.comparingDouble(index -> cosine(found, index, asked))).orElseThrow();
      System.out.println(documents.get(best));
    }
  }

  /** Rows have length 1. */
  private static double cosine(Rows rows, int index, Rows asked) {
    double sum = 0;
    for (int i = 0; i < rows.dimensions(); ++i) sum += rows.row(index).get(i) * asked.row(0).get(i);
    return sum;
  }
}
