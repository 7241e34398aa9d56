package tenon;

import static org.junit.jupiter.api.Assertions.*;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What comes when a thread of the binding's cannot be had, or has ended by an Error. */
class BackgroundTest {
  @AfterEach
  void again() {
    Background.factory = Thread::new;
  }

  /** A process that is refused its first thread, as when it has too many. */
  static final class RefusedProgram {
    private RefusedProgram() {}

    public static void main(String[] arguments) throws Exception {
      Engine engine = new Engine(Demo.MODEL);
      refuse(() -> engine.generate(Demo.ONCE, Demo.greedy(2)).textAsync());
      System.out.println(engine.generate(Demo.ONCE, Demo.greedy(2)).textAsync().get(20, TimeUnit.SECONDS));
      try (Server server = new Server().add("demo", Demo.MODEL).start()) {
        // Long enough that it is waited for.
        Map<String, Object> asked = Map.of("prompt", Demo.ONCE, "max_tokens", 200, "ignore_eos", true);
        refuse(() -> server.request("POST", "/v1/completions", asked).textAsync());
        System.out.println(server.request("POST", "/v1/completions", asked).textAsync().get(20, TimeUnit.SECONDS));
      }
      System.out.println("served");
      System.exit(0);
    }

    private static void refuse(Runnable request) {
      Background.factory = run -> {
        throw new OutOfMemoryError("unable to create native thread");
      };
      try {
        request.run();
        System.out.println("no error");
      } catch (OutOfMemoryError error) {
        System.out.println("refused");
      }
      Background.factory = Thread::new;
    }
  }

  @Test
  void aThreadThatIsRefusedIsAskedForAgain() throws Exception {
    assumeTrue(Demo.HAS_SERVER, "the build has no libtenon-server");
    Process process = Demo.java(RefusedProgram.class);
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(2, said.lines().filter("refused"::equals).count(), said);
    assertTrue(said.contains(" there was") && said.endsWith("served\n"), said);
  }

  @Test
  void aRunnerThatEndedByAnErrorHasASuccessor() throws Exception {
    List<Thread> made = new ArrayList<>();
    Background.factory = run -> {
      Thread thread = new Thread(run);
      thread.setUncaughtExceptionHandler((ended, error) -> {});
      made.add(thread);
      return thread;
    };
    EngineRunner runner = new EngineRunner(null); // so its loop throws
    for (int i = 1; i <= 2; ++i) {
      runner.enterServer();
      assertEquals(i, made.size());
      made.get(i - 1).join(20_000);
      assertFalse(made.get(i - 1).isAlive());
    }
  }
}
