package tenon.langchain4j;

import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import java.util.Set;
import tenon.Engine;
import tenon.Model;
import tenon.Piece;

/** A model in this process as a chat model of LangChain4j. Any number of threads; their requests
 * share the steps of one engine.
 *
 * <pre>{@code
 * ChatModel chat = new TenonChatModel(Model.open("model.gguf"));
 * }</pre> */
public final class TenonChatModel implements ChatModel {
  private final ServedModel served;

  /** The model stays the caller's. */
  public TenonChatModel(Model model) {
    served = ServedModel.of(model);
  }

  /** Uses the caller's engine. defaults: for parameters that a request leaves out. */
  public TenonChatModel(Engine engine, ChatRequestParameters defaults) {
    served = ServedModel.of(engine, defaults);
  }

  @Override
  public ChatRequestParameters defaultRequestParameters() {
    return served.defaults();
  }

  @Override
  public Set<Capability> supportedCapabilities() {
    return ServedModel.CAPABILITIES;
  }

  @Override
  public ChatResponse doChat(ChatRequest request) {
    try (Exchange exchange = served.begin(request)) {
      for (Piece piece : exchange.generation) exchange.push(piece);
      return exchange.response();
    }
  }
}
