import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import tenon.Chat;
import tenon.ChatDelta;
import tenon.GenerateOptions;
import tenon.Model;
import tenon.Piece;
import tenon.Reply;
import tenon.Session;

/** A conversation on the terminal: java -cp tenon.jar ChatLoop.java model.gguf */
public final class ChatLoop {
  private ChatLoop() {}

  public static void main(String[] arguments) {
    List<Object> messages = new ArrayList<>();
    try (Model model = Model.open(arguments[0]); Chat chat = new Chat(model); Scanner lines = new Scanner(System.in)) {
      while (lines.hasNextLine()) {
        messages.add(Map.of("role", "user", "content", lines.nextLine()));
        messages.add(answer(model, chat, Map.of("messages", messages)));
      }
    }
  }

  /** Prints the answer as it comes, and returns it as a message. */
  private static Map<String, Object> answer(Model model, Chat chat, Map<String, ?> conversation) {
    // A session for each turn: the engine finds what it computed of the conversation before.
    try (Session session = model.session(); Reply reply = chat.reply(conversation)) {
      for (Piece piece : session.generate(chat.encode(conversation), new GenerateOptions().maxTokens(200))) {
        if (!piece.hasToken()) continue;
        for (ChatDelta delta : reply.push(piece.token())) System.out.print(delta.text());
      }
      for (ChatDelta delta : reply.finish()) System.out.print(delta.text());
      System.out.println();
      return reply.message();
    }
  }
}
