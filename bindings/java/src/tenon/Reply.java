package tenon;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** A parser of one answer: splits its text into content, reasoning and calls of tools. One thread
 * at a time. */
public final class Reply extends NativeObject {
  Reply(Handle handle) {
    super(handle);
  }

  /** Takes the next token; returns the parsed parts (ChatDelta.kind is Constants.CHAT_*). */
  public List<ChatDelta> push(int token) {
    List<ChatDelta> deltas = new ArrayList<>();
    Calls.chatReplyPushToken(handle, token, deltas::add);
    return deltas;
  }

  /** Takes text. */
  public List<ChatDelta> push(String text) {
    List<ChatDelta> deltas = new ArrayList<>();
    Calls.chatReplyPushText(handle, text, deltas::add);
    return deltas;
  }

  /** Takes a piece of a generation; text held back for a stop text waits. */
  public List<ChatDelta> push(Piece piece) {
    List<ChatDelta> deltas = new ArrayList<>();
    int token = piece.hasToken() ? piece.token() : Constants.NO_TOKEN;
    Calls.chatReplyPushPiece(handle, token, piece.text(), deltas::add);
    return deltas;
  }

  /** Ends the answer. */
  public List<ChatDelta> finish() {
    List<ChatDelta> deltas = new ArrayList<>();
    Calls.chatReplyFinish(handle, deltas::add);
    return deltas;
  }

  /** The answer so far as a message of a conversation. */
  public Map<String, Object> message() {
    return Json.parseObject(messageText());
  }

  /** The message as text. */
  public String messageText() {
    return Calls.chatReplyMessage(handle);
  }
}
