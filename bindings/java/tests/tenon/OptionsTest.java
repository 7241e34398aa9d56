package tenon;

import static org.junit.jupiter.api.Assertions.*;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every option comes to the library as it was given: name, kind and value. */
class OptionsTest {
  private static String run(ProcessBuilder builder) throws Exception {
    Process process = builder.redirectErrorStream(true).start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), printed);
    return printed;
  }

  private static boolean hasPython() {
    try {
      return new ProcessBuilder("python3", "--version").start().waitFor() == 0;
    } catch (java.io.IOException | InterruptedException missing) {
      return false;
    }
  }

  @Test
  void everyOptionComesToTheLibraryAsItWasGiven(@TempDir Path folder) throws Exception {
    assumeTrue(hasPython(), "no python3");
    String recording = Demo.ROOT.resolve("bindings/recording.py").toString();
    Demo.MODEL.info();
    run(new ProcessBuilder("python3", "-B", recording, Path.of(Library.path()).toRealPath().toString(), folder.toString()));
    Path samples = Files.writeString(folder.resolve("samples"),
        run(new ProcessBuilder("python3", "-B", recording, "--samples")));
    List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin/java").toString(),
        "-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-Dtenon.root=" + Demo.ROOT,
        "-Dtenon.library=" + folder.resolve("libtenon.so")));
    if (Runtime.version().feature() >= 22) command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), "tenon.OptionsProgram", samples.toString()));
    ProcessBuilder builder = new ProcessBuilder(command);
    builder.environment().put("TENON_RECORD", folder.resolve("record").toString());
    String printed = run(builder);
    assertTrue(printed.matches("\\d+ options\n"), printed);
    assertTrue(Integer.parseInt(printed.split(" ")[0]) >= 79, printed);
  }
}
