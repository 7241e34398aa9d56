package tenon;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Turns of conversations in one call, seeds that are random unless given, errors of files. */
class ChatTest {
  private static final Map<String, String> NORWAY = Map.of("role", "user", "content", "What is the capital of Norway?");

  private static GenerateOptions greedy() {
    return new GenerateOptions().maxTokens(24).greedy();
  }

  @Test
  void oneCallIsATurn() {
    try (Chat chat = new Chat(Demo.MODEL); Session session = Demo.MODEL.session()) {
      StringBuilder streamed = new StringBuilder();
      Map<String, Object> message =
          chat.answer(session, Map.of("messages", List.of(NORWAY)), greedy(), delta -> streamed.append(delta.text()));
      assertTrue(streamed.toString().contains("Oslo"));
      assertEquals(streamed.toString(), message.get("content"));
      GenerateOptions stopping = new GenerateOptions().maxTokens(24)
          .sampling(new SamplerOptions().temperature(0).stop("slo"));
      Map<String, Object> cut = chat.answer(session, Map.of("messages", List.of(NORWAY)), stopping, null);
      assertFalse(cut.get("content").toString().contains("slo"));
    }
  }

  @Test
  void oldestTurnsAreDropped() {
    try (Chat chat = new Chat(Demo.MODEL);
        Session session = new Session(Demo.MODEL, new SessionOptions().context(128))) {
      List<Map<String, String>> messages = new ArrayList<>();
      for (int i = 0; i < 60; ++i) {
        messages.add(Map.of("role", "user", "content", "Question " + i));
        messages.add(Map.of("role", "assistant", "content", "Answer " + i));
      }
      messages.add(NORWAY);
      Map<String, ?> many = Map.of("messages", messages);
      assertThrows(TenonException.Limit.class, () -> chat.answer(session, many, greedy(), null));
      assertEquals("assistant", chat.answer(session, many, greedy().dropOldest(true), null).get("role"));
    }
  }

  @Test
  void seedsAreRandomAndTold() {
    Set<String> texts = new HashSet<>();
    for (int i = 0; i < 4; ++i) {
      try (Session session = Demo.MODEL.session(); Session other = Demo.MODEL.session()) {
        Generation generation = session.generate("Once upon a time", hot(-1));
        String text = generation.text();
        assertEquals(session.seed(), generation.seed());
        assertEquals(text, other.generate("Once upon a time", hot(generation.seed())).text());
        texts.add(text);
      }
    }
    assertEquals(4, texts.size());
  }

  private static GenerateOptions hot(long seed) {
    return new GenerateOptions().maxTokens(24).ignoreEnd(true)
        .sampling(new SamplerOptions().temperature(2).topK(0).topP(1).minP(0).seed(seed));
  }

  @Test
  void missingFilesAreKnownAsSuch() {
    TenonException missing = assertThrows(TenonException.InputOutput.class, () -> Model.open("/nowhere/none.gguf"));
    assertInstanceOf(NoSuchFileException.class, missing.getCause());
  }
}
