package tenon.langchain4j;

import static org.junit.jupiter.api.Assertions.*;

import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.exception.UnsupportedFeatureException;
import dev.langchain4j.model.embedding.EmbeddingModel;
import dev.langchain4j.model.embedding.request.EmbeddingInput;
import dev.langchain4j.model.embedding.request.EmbeddingInputType;
import dev.langchain4j.model.embedding.request.EmbeddingRequest;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import tenon.Embedder;
import tenon.Model;
import tenon.ModelOptions;

/** Rows of a model in this process by LangChain4j's interface. */
class EmbeddingModelTest {
  private static final Path FILE = Path.of(System.getProperty("tenon.root"), "examples/models/demo-q8_0.gguf");

  @Test
  void rowsAreThoseOfTheEmbedder() throws Exception {
    try (Model model = Model.open(FILE, new ModelOptions().embeddings("on")); Embedder embedder = new Embedder(model)) {
      EmbeddingModel rows = new TenonEmbeddingModel(model);
      float[] fox = embedder.embed(List.of("a fox")).toArray(0);
      assertArrayEquals(fox, rows.embed("a fox").content().vector());
      var all = rows.embedAll(List.of(TextSegment.from("the sea"), TextSegment.from("a fox"))).content();
      assertEquals(2, all.size());
      assertArrayEquals(fox, all.get(1).vector());
      assertEquals(fox.length, rows.dimension());
      assertEquals(model.info().name(), rows.modelName());
      assertEquals(List.of(), rows.embedAll(List.of()).content());

      EmbeddingRequest question = EmbeddingRequest.builder().input("a fox").inputType(EmbeddingInputType.QUERY).build();
      assertArrayEquals(embedder.embed(List.of("a fox"), Embedder.Role.QUERY, java.time.Duration.ZERO).toArray(0),
          rows.embed(question).embeddings().get(0).vector());
      assertArrayEquals(fox, rows.embedAsync(EmbeddingRequest.builder().input("a fox").build())
          .get(20, TimeUnit.SECONDS).embeddings().get(0).vector());

      // What it cannot do is no silence.
      assertThrows(UnsupportedFeatureException.class,
          () -> rows.embed(EmbeddingRequest.builder().input("a fox").dimensions(3).build()));
      EmbeddingInput picture = EmbeddingInput.from(ImageContent.from("http://127.0.0.1/x.png"));
      assertThrows(UnsupportedFeatureException.class, () -> rows.embed(EmbeddingRequest.builder().input(picture).build()));
    }
  }
}
