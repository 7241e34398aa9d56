package tenon;

import static org.junit.jupiter.api.Assertions.*;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Random orders of making, using and closing, on two threads: what may come is a result or an exception of the
 * library, and nothing is left. TENON_ORDERS tells how many, 1000 unless given. With TENON_REPORT_LEAKS nothing of the
 * library is open at the end, so that a sanitizer can tell what leaked. */
class OrdersTest {
  /** What a call in a wrong order may be. */
  private static final Set<String> ALLOWED = Set.of("STATE", "CANCELLED", "LIMIT", "ARGUMENT", "BUSY", "DEADLINE");
  private static final Map<String, Object> ASKED = Map.of("messages", List.of(Demo.user("Hi")));

  private static final Map<String, Object> STREAMED =
      Map.of("messages", List.of(Demo.user("Hi")), "max_tokens", 4, "stream", true);

  /** One order: things made so far, closed or not. */
  private static final class World {
    final Random dice;
    final List<AutoCloseable> things = new ArrayList<>();

    World(long seed, Model shared, Model encoder) {
      dice = new Random(seed);
      things.add(dice.nextInt(20) == 0 ? Model.open(Demo.FILE, new ModelOptions().threads(1)) : new Borrowed(shared));
      things.add(new Borrowed(encoder));
    }

    <T> T any(Class<T> kind) {
      List<T> fitting = new ArrayList<>();
      synchronized (things) {
        for (AutoCloseable thing : things) {
          Object real = thing instanceof Borrowed borrowed ? borrowed.model : thing;
          if (kind.isInstance(real)) fitting.add(kind.cast(real));
        }
      }
      return fitting.isEmpty() ? null : fitting.get(roll(fitting.size()));
    }

    synchronized int roll(int sides) {
      return dice.nextInt(sides);
    }

    <T extends AutoCloseable> T keep(T thing) {
      synchronized (things) {
        things.add(thing);
      }
      return thing;
    }

    AutoCloseable anything() {
      synchronized (things) {
        return things.get(roll(things.size()));
      }
    }
  }

  /** A model of several orders, which none of them closes. */
  private record Borrowed(Model model) implements AutoCloseable {
    @Override
    public void close() {}
  }

  private static void step(World world) throws Exception {
    Model model = world.any(Model.class);
    Session session = world.any(Session.class);
    Generation generation = world.any(Generation.class);
    switch (world.roll(18)) {
      case 0 -> world.keep(new Engine(model, new EngineOptions().running(1 + world.roll(3))));
      case 1, 2, 3 -> {
        Engine engine = world.any(Engine.class);
        world.keep(engine == null ? model.session() : engine.session());
      }
      case 4 -> {
        if (session != null) world.keep(session.fork());
      }
      case 5, 6 -> {
        if (session != null) {
          GenerateOptions options = Demo.greedy(1 + world.roll(4));
          if (world.roll(4) == 0) options.timeout(Duration.ofMillis(1));
          if (world.roll(4) == 0) options.logprobs(1);
          if (world.roll(4) == 0) options.grammar(world.keep(Grammar.choices("a", "b")));
          world.keep(session.generate(Demo.ONCE, options));
        }
      }
      case 7 -> {
        if (generation != null && generation.hasNext()) generation.next();
      }
      case 8 -> {
        if (generation != null) generation.textAsync();
      }
      case 9 -> {
        if (generation != null) generation.cancel();
      }
      case 10 -> {
        if (session != null) session.rewind(world.roll(3));
      }
      case 11 -> {
        if (session != null) {
          session.append("x");
          Logits logits = world.keep(session.logits());
          logits.get(3);
          world.keep(new Sampler()).sample(logits);
        }
      }
      case 12 -> {
        Logits logits = world.any(Logits.class);
        if (logits != null) logits.buffer().get(5);
      }
      case 13 -> {
        Chat chat = world.keep(new Chat(model));
        Reply reply = world.keep(chat.reply(ASKED));
        chat.close();
        reply.push("Hello");
        reply.finish();
        reply.message();
      }
      case 14 -> {
        Matcher matcher = world.keep(world.keep(Grammar.regex("[a-c]{3}")).matcher(model.tokenizer()));
        matcher.accept("ab");
        world.keep(matcher.fork()).accept("c");
      }
      case 15 -> {
        if (!Demo.HAS_SERVER || world.roll(4) > 0) return; // it has threads to start
        Engine engine = world.any(Engine.class);
        Server server = world.keep(new Server());
        if (engine == null) server.add("demo", model); else server.add("demo", engine);
        if (world.roll(2) == 0) server.listen("127.0.0.1", 0);
        server.start();
      }
      case 16 -> {
        Server server = world.any(Server.class);
        if (server == null) return;
        if (world.roll(6) == 0) server.stop(Duration.ofMillis(world.roll(3)));
        ServerAnswer answer = world.keep(server.request("POST", "/v1/chat/completions", STREAMED));
        switch (world.roll(4)) {
          case 0 -> answer.status();
          case 1 -> answer.text();
          case 2 -> answer.textAsync();
          default -> answer.next();
        }
      }
      default -> world.anything().close();
    }
  }

  private static void run(World world, int steps) {
    for (int i = 0; i < steps; ++i) {
      try {
        step(world);
      } catch (TenonException error) {
        assertTrue(ALLOWED.contains(error.code()), error.toString());
      } catch (java.util.NoSuchElementException | IllegalStateException expected) {
        // A generation that ended or has a subscriber; a buffer after the end of its Logits.
        assertNotNull(expected.getMessage());
      } catch (Exception error) {
        throw new AssertionError(error);
      }
    }
  }

  @Test
  void anyOrderIsFree() throws Exception {
    int orders = Integer.parseInt(System.getenv().getOrDefault("TENON_ORDERS", "1000"));
    ExecutorService other = Executors.newSingleThreadExecutor();
    Model encoder = Model.open(Demo.FILE, new ModelOptions().threads(1));
    long middle = 0;
    for (int seed = 0; seed < orders; ++seed) {
      World world = new World(seed, Demo.MODEL, encoder);
      Future<?> second = other.submit(() -> run(world, 6));
      run(world, 6);
      second.get(60, TimeUnit.SECONDS);
      List<AutoCloseable> things = world.things;
      java.util.Collections.shuffle(things, world.dice);
      for (AutoCloseable thing : things) thing.close();
      if (seed == orders / 2) middle = settledBytes();
    }
    other.shutdown();
    encoder.close();
    long grown = settledBytes() - middle;
    assertTrue(grown < 48 << 20, "the second half left " + (grown >> 20) + " MiB");
    try (Session session = Demo.MODEL.session()) {
      assertEquals(" there was", session.generate(Demo.ONCE, Demo.greedy(2)).text());
    }
    if (System.getenv("TENON_REPORT_LEAKS") != null) Demo.MODEL.close();
  }

  private static long settledBytes() throws Exception {
    for (int i = 0; i < 5; ++i) {
      System.gc();
      Thread.sleep(20);
    }
    String pages = java.nio.file.Files.readString(java.nio.file.Path.of("/proc/self/statm")).split(" ")[1];
    return Long.parseLong(pages) * 4096;
  }
}
