package tenon.langchain4j;

import dev.langchain4j.model.chat.Capability;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ChatRequestParameters;
import java.util.Set;
import tenon.Chat;
import tenon.Engine;
import tenon.Model;

/** Common parts of the two chat models: the engine that answers, and the defaults. */
record ServedModel(Engine engine, Chat chat, String name, ChatRequestParameters defaults) {
  static final Set<Capability> CAPABILITIES = Set.of(Capability.RESPONSE_FORMAT_JSON_SCHEMA);

  static ServedModel of(Model model) {
    return of(model.engine(), ChatRequestParameters.builder().build());
  }

  static ServedModel of(Engine engine, ChatRequestParameters defaults) {
    return new ServedModel(engine, new Chat(engine.model()), engine.model().info().name(), defaults);
  }

  Exchange begin(ChatRequest request) {
    return new Exchange(engine, chat, name, request);
  }
}
