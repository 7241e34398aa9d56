package tenon;

import java.util.Map;
import java.util.Optional;

/** Turns conversations into prompts, by the template of a model or one of yours. A conversation is JSON, as text or as
 * maps and lists: {"messages": [{"role": "user", "content": "Hi"}], "tools": [...]}. Any thread. */
public final class Chat extends NativeObject {
  public Chat(Model model) {
    this(model, null);
  }

  /** model: null with the option template, for text only. */
  public Chat(Model model, ChatOptions options) {
    super(make(model, options));
  }

  private static Handle make(Model model, ChatOptions options) {
    try (Handle set = Options.handle(options)) {
      return Calls.chatCreate(model == null ? null : model.handle, set);
    }
  }

  /** The family by which answers are read. */
  public String format() {
    return Calls.chatFormat(handle);
  }

  /** The prompt as text. */
  public String render(String conversation) {
    return Calls.chatRender(handle, conversation);
  }

  public String render(Map<String, ?> conversation) {
    return render(Json.text(conversation));
  }

  /** The prompt as tokens, for Session.generate. */
  public int[] encode(String conversation) {
    return Calls.chatEncode(handle, conversation);
  }

  public int[] encode(Map<String, ?> conversation) {
    return encode(Json.text(conversation));
  }

  /** What the answer may be; empty: anything. */
  public Optional<Grammar> grammar(String conversation) {
    return Optional.ofNullable(Calls.chatGrammar(handle, conversation)).map(Grammar::new);
  }

  public Optional<Grammar> grammar(Map<String, ?> conversation) {
    return grammar(Json.text(conversation));
  }

  /** Sets that grammar for a sampler; whether there is one. */
  public boolean constrain(String conversation, Sampler sampler) {
    return Calls.chatConstrain(handle, conversation, sampler.handle) != 0;
  }

  public boolean constrain(Map<String, ?> conversation, Sampler sampler) {
    return constrain(Json.text(conversation), sampler);
  }

  /** Begins to read the answer. */
  public Reply reply(String conversation) {
    return new Reply(Calls.chatReplyCreate(handle, conversation));
  }

  public Reply reply(Map<String, ?> conversation) {
    return reply(Json.text(conversation));
  }
}
