package tenon.langchain4j;

import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.ChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.ChatResponse;
import java.util.Set;
import tenon.Chat;
import tenon.Engine;
import tenon.Model;
import tenon.Piece;

/** A model in this process as a chat model of LangChain4j. Any number of threads; their requests share the steps of one
 * engine.
 *
 * <pre>{@code
 * ChatModel chat = new TenonChatModel(Model.open("model.gguf"));
 * }</pre> */
public final class TenonChatModel implements ChatModel {
  private final Engine engine;
  private final Chat chat;
  private final String name;
  private final ChatRequestParameters defaults;

  /** The model stays the caller's. */
  public TenonChatModel(Model model) {
    this(model.engine(), ChatRequestParameters.builder().build());
  }

  /** In an engine of the caller's. defaults: for what a request leaves open. */
  public TenonChatModel(Engine engine, ChatRequestParameters defaults) {
    this.engine = engine;
    this.defaults = defaults;
    chat = new Chat(engine.model());
    name = engine.model().info().name();
  }

  @Override
  public ChatRequestParameters defaultRequestParameters() {
    return defaults;
  }

  @Override
  public Set<Capability> supportedCapabilities() {
    return Set.of(Capability.RESPONSE_FORMAT_JSON_SCHEMA);
  }

  @Override
  public ChatResponse doChat(ChatRequest request) {
    try (Exchange exchange = new Exchange(engine, chat, name, request)) {
      for (Piece piece : exchange.generation) exchange.push(piece);
      return exchange.response();
    }
  }
}
