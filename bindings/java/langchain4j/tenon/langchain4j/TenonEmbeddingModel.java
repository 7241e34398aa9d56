package tenon.langchain4j;

import dev.langchain4j.data.embedding.Embedding;
import dev.langchain4j.model.embedding.EmbeddingModel;
import dev.langchain4j.model.embedding.request.EmbeddingInput;
import dev.langchain4j.model.embedding.request.EmbeddingParameter;
import dev.langchain4j.model.embedding.request.EmbeddingRequest;
import dev.langchain4j.model.embedding.request.EmbeddingRequestParameters;
import dev.langchain4j.model.embedding.response.EmbeddingResponse;
import dev.langchain4j.model.embedding.response.EmbeddingResponseMetadata;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import tenon.Embedder;
import tenon.Model;
import tenon.Rows;

/** A model in this process as an embedding model of LangChain4j. Any thread.
 *
 * <pre>{@code
 * EmbeddingModel rows = new TenonEmbeddingModel(Model.open("model.gguf", new ModelOptions().embeddings("on")));
 * }</pre> */
public final class TenonEmbeddingModel implements EmbeddingModel {
  private final Embedder embedder;
  private final String name;

  /** With the default options of an embedder. The model stays the caller's. */
  public TenonEmbeddingModel(Model model) {
    this(new Embedder(model), model.info().name());
  }

  /** Uses the caller's embedder. */
  public TenonEmbeddingModel(Embedder embedder, String name) {
    this.embedder = embedder;
    this.name = name;
  }

  @Override
  public String modelName() {
    return name;
  }

  @Override
  public int dimension() {
    return embedder.dimensions();
  }

  /** Role of the texts: questions or documents. */
  @Override
  public Set<EmbeddingParameter<?>> supportedParameters() {
    return Set.of(EmbeddingRequestParameters.INPUT_TYPE);
  }

  /** On the common pool: rows are computed by the thread that asks for them. */
  @Override
  public CompletableFuture<EmbeddingResponse> doEmbedAsync(EmbeddingRequest request) {
    return CompletableFuture.supplyAsync(() -> doEmbed(request));
  }

  @Override
  public EmbeddingResponse doEmbed(EmbeddingRequest request) {
    Embedder.Role role = request.inputType() == null ? Embedder.Role.PLAIN : switch (request.inputType()) {
      case QUERY -> Embedder.Role.QUERY;
      case DOCUMENT -> Embedder.Role.DOCUMENT;
    };
    List<String> texts = request.inputs().stream().map(EmbeddingInput::text).toList();
    Rows rows = embedder.embed(texts, role, Duration.ZERO);
    List<Embedding> embeddings = new ArrayList<>();
    for (int i = 0; i < rows.size(); ++i) embeddings.add(Embedding.from(rows.toArray(i)));
    return EmbeddingResponse.builder().embeddings(embeddings)
        .metadata(EmbeddingResponseMetadata.builder().modelName(name).build()).build();
  }
}
