package tenon.langchain4j;

import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.StreamingChatModel;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import java.util.Set;
import tenon.Chat;
import tenon.Engine;
import tenon.Model;

/** The same as {@link TenonChatModel}, as it comes. No thread waits for a request; handlers are called on the common
 * pool, one call at a time. */
public final class TenonStreamingChatModel implements StreamingChatModel {
  private final Engine engine;
  private final Chat chat;
  private final String name;
  private final ChatRequestParameters defaults;

  /** The model stays the caller's. */
  public TenonStreamingChatModel(Model model) {
    this(model.engine(), ChatRequestParameters.builder().build());
  }

  /** In an engine of the caller's. defaults: for what a request leaves open. */
  public TenonStreamingChatModel(Engine engine, ChatRequestParameters defaults) {
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
  public void doChat(ChatRequest request, StreamingChatResponseHandler handler) {
    Exchange exchange;
    try {
      exchange = new Exchange(engine, chat, name, request);
    } catch (RuntimeException error) {
      handler.onError(error);
      return;
    }
    exchange.generation.subscribe(new AnswerSubscriber(exchange, handler));
  }
}
