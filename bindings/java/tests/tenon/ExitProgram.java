package tenon;

import java.util.List;
import java.util.Map;

/** A process that exits with requests under way, and prints when. The clock is that of all processes. */
final class ExitProgram {
  private ExitProgram() {}

  public static void main(String[] arguments) throws Exception {
    if (arguments[0].equals("serves")) {
      // By threads of the server's, and by one of Java's; to subscribers and to a loop.
      Server server = new Server().add("own", Demo.MODEL, null, 16384).add("java", new Engine(Demo.MODEL), 16384);
      server.listen("127.0.0.1", 0);
      server.start();
      for (String model : List.of("own", "java")) {
        Map<String, Object> asked = Map.of("model", model, "prompt", Demo.ONCE, "max_tokens", 15000, "ignore_eos", true,
            "stream", true);
        for (int i = 0; i < 3; ++i) server.request("POST", "/v1/completions", asked).textAsync();
        new Thread(() -> server.request("POST", "/v1/completions", asked).text()).start();
      }
      server.request("GET", "/v1/models", (String) null).text();
      Thread.sleep(50);
    } else if (!arguments[0].equals("nothing")) {
      Engine engine = new Engine(Demo.MODEL);
      for (int i = 0; i < 6; ++i) {
        Generation generation = engine.generate(Demo.LONG, new GenerateOptions());
        if (arguments[0].equals("async")) {
          generation.textAsync();
        } else {
          new Thread(generation::text).start();
        }
      }
      Thread.sleep(20);
    } else {
      Demo.MODEL.info();
    }
    System.out.println(System.nanoTime());
    System.out.flush();
    if (arguments[0].equals("stays")) System.in.read();
    System.exit(3);
  }
}
