package tenon;

import static org.junit.jupiter.api.Assertions.*;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the README shows, from top to bottom as one program beside the demo model, and the examples. */
class ReadmeTest {
  @Test
  void whatTheReadmeShowsRuns(@TempDir Path folder) throws Exception {
    assumeTrue(Demo.HAS_SERVER, "the build has no libtenon-server");
    String readme = Files.readString(Demo.ROOT.resolve("bindings/java/README.md"));
    List<String> blocks = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL).matcher(readme).results()
        .map(MatchResult::group).map(block -> block.substring(8, block.length() - 3)).toList();
    assertEquals(8, blocks.size());
    assertTrue(blocks.get(0).strip().lines().count() <= 5);
    List<String> imports = new ArrayList<>();
    StringBuilder body = new StringBuilder();
    String.join("", blocks).lines().forEach(line -> {
      if (line.startsWith("import ")) {
        imports.add(line);
      } else {
        body.append(line).append('\n');
      }
    });
    Path program = Files.writeString(folder.resolve("Readme.java"), String.join("\n", imports)
        + "\npublic class Readme {\n  public static void main(String[] arguments) throws Exception {\n" + body
        + "  }\n}\n");
    List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin/java").toString()));
    if (Runtime.version().feature() >= 22) command.add("--enable-native-access=ALL-UNNAMED");
    command.addAll(List.of("-cp", System.getProperty("java.class.path"), program.toString()));
    Process process = new ProcessBuilder(command).directory(Demo.FILE.getParent().toFile())
        .redirectErrorStream(true).start();
    String printed = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    assertEquals(0, process.exitValue(), printed);
    assertTrue(printed.startsWith("The capital of Norway is Oslo."), printed);
    assertTrue(printed.contains(" there was a"), printed);
    assertTrue(printed.contains("{role=assistant, content=The capital of Norway is Oslo.}"), printed);
    assertTrue(printed.contains("arguments={\"city\": \"Oslo\"}"), printed);
    assertTrue(printed.contains("\ntrue\n"), printed);
    assertTrue(printed.contains("200\n") && printed.contains("data: [DONE]"), printed);
  }

  /** What the main method of an example prints. */
  private static String run(String example, String input, String... more) throws Exception {
    List<String> arguments = new ArrayList<>(List.of(Demo.FILE.toString()));
    arguments.addAll(List.of(more));
    PrintStream out = System.out;
    InputStream in = System.in;
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
    System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
    try {
      Class.forName(example).getMethod("main", String[].class).invoke(null, (Object) arguments.toArray(new String[0]));
    } finally {
      System.setOut(out);
      System.setIn(in);
    }
    return printed.toString(StandardCharsets.UTF_8);
  }

  @Test
  void theExamplesDoWhatTheySay() throws Exception {
    assertTrue(run("ChatLoop", "What is the capital of Norway?\nAnd again?\n").strip().lines().count() >= 2);
    assertEquals("Mia is 41\n", run("JsonBySchema", "", "Mia is 41 years old."));
    assertTrue(run("ToolCalls", "").startsWith("get_weather of Oslo\n"));
    assertEquals("A small fox lived in the forest.\n", run("SemanticSearch", "", "A small fox lived in the wood."));
    assertTrue(run("ManyRequests", "", "8").contains("192 tokens in "));
  }
}
