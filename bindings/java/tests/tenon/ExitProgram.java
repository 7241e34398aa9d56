package tenon;

/** A process that exits with requests under way, and prints when. The clock is that of all processes. */
final class ExitProgram {
  private ExitProgram() {}

  public static void main(String[] arguments) throws Exception {
    if (!arguments[0].equals("nothing")) {
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
