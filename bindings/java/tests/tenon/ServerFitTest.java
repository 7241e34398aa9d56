package tenon;

import static org.junit.jupiter.api.Assertions.*;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Servers of other versions: as FitTest, for server.h. What fits is read, and written, rightly. */
class ServerFitTest {
  private static final List<String> STRUCTS =
      List.of("tenon_server_options", "tenon_server_model_file", "tenon_server_request", "tenon_server_part");

  @BeforeAll
  static void thereIsAServer() {
    assumeTrue(Demo.HAS_SERVER, "the build has no libtenon-server");
  }

  private static Map<String, Object> real() {
    return FitTest.described("server_interface.json");
  }

  private static Map<String, Object> madeFor() {
    return Library.readMadeFor("made_for_server.json");
  }

  static IntStream seeds() {
    return IntStream.range(0, 200);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aChangedLayoutIsHarmlessOrRefused(int seed) {
    Random dice = new Random(seed);
    for (int i = 0; i < 10; ++i) dice.nextInt(); // first numbers of near seeds are alike
    Map<String, Object> description = real();
    String name = STRUCTS.get(dice.nextInt(STRUCTS.size()));
    Map<String, Object> struct = FitTest.struct(description, name);
    final boolean isHarmless = FitTest.change(dice, struct);
    FitTest.layOut(struct);
    List<String> reasons = Fit.misfits(madeFor(), description);
    if (isHarmless) assertEquals(List.of(), reasons, "a later minor version would be refused");
    if (!reasons.isEmpty()) {
      assertTrue(reasons.get(0).contains(name), reasons.get(0));
    } else if (name.equals("tenon_server_part")) {
      isReadRightly(struct);
    } else {
      isWrittenRightly(struct, dice);
    }
  }

  private static int offset(Map<String, Object> struct, String field) {
    return FitTest.list(struct, "fields").stream().filter(one -> one.get("name").equals(field)).findFirst()
        .map(one -> ((Long) one.get("offset")).intValue()).orElse(-1);
  }

  /** What the fake library writes by its layout. */
  private static void isReadRightly(Map<String, Object> struct) {
    ByteBuffer memory = ByteBuffer.allocate(256).order(ByteOrder.nativeOrder());
    Map<String, Integer> numbers = Map.of("http_status", 207, "is_last", 1);
    numbers.forEach((field, value) -> {
      if (offset(struct, field) >= 0) memory.putInt(offset(struct, field), value);
    });
    ServerPart part = (ServerPart) Structs.read("tenon_server_part", new Block(memory, 0, 0, 1));
    assertEquals(offset(struct, "http_status") < 0 ? 0 : 207, part.httpStatus());
    assertEquals(offset(struct, "is_last") >= 0, part.isLast());
  }

  /** What we write, by the fake library's layout. */
  private static void isWrittenRightly(Map<String, Object> struct, Random dice) {
    StructOptions<?> options = switch ((String) struct.get("name")) {
      case "tenon_server_options" -> new ServerOptions();
      case "tenon_server_model_file" -> new ServerModelFile();
      default -> new ServerRequest();
    };
    Map<String, Object> written = new HashMap<>();
    for (Map<String, Object> field : FitTest.list(FitTest.struct(real(), (String) struct.get("name")), "fields")) {
      String name = (String) field.get("name");
      if (!field.get("role").equals("value") || name.equals("struct_size") || name.startsWith("reserved")) continue;
      boolean isFlag = List.of("without_page", "model_control", "no_echo_repair").contains(name);
      Object value = isFlag ? (Object) true : field.get("type").equals("double") ? 1 + dice.nextInt(1000) / 8.0
          : (Object) (1L + dice.nextInt(1000));
      written.put(name, value);
      options.set(name, value);
    }
    try (Call call = new Call()) {
      Block at = options.write(call);
      written.forEach((name, value) -> {
        int offset = offset(struct, name);
        if (offset < 0) return;
        assertEquals(value, value instanceof Boolean ? (Object) (at.int32(offset) == 1)
            : value instanceof Double ? (Object) at.float64(offset)
            : (Object) (name.equals("log_level") ? (long) at.int32(offset) : at.int64(offset)), name);
      });
    }
  }

  @Test
  void otherChangesAreRefused() {
    Map<String, Object> description = real();
    FitTest.list(FitTest.list(description, "functions").get(0), "parameters").remove(0);
    assertTrue(Fit.misfits(madeFor(), description).get(0).contains("tenon_server_create"));
    assertEquals(List.of(), Fit.misfits(madeFor(), real()));
  }

  @Test
  void aServerThatDoesNotFitIsRefusedWithASentence(@TempDir Path folder) throws Exception {
    Library.useServer(); // the real one
    Map<String, Object> description = real();
    Map<String, Object> struct = FitTest.struct(description, "tenon_server_part");
    FitTest.list(struct, "fields").add(1,
        new LinkedHashMap<>(Map.of("name", "fresh", "type", "uint64_t", "role", "value")));
    FitTest.layOut(struct);
    description.put("version", "0.9.0");
    String path = FitTest.fakeLibrary(folder, description, "tenon_server_interface_description");
    String message = assertThrows(TenonException.Unsupported.class, () -> Library.checkServer(path)).getMessage();
    assertTrue(message.contains("libtenon-server 0.9.0, which does not fit this binding made for 0."), message);
    assertTrue(message.contains("tenon_server_part.http_status lies at byte"), message);

    String silent = FitTest.fakeLibrary(Files.createDirectory(folder.resolve("silent")), null, "none");
    assertTrue(assertThrows(TenonException.Unsupported.class, () -> Library.checkServer(silent)).getMessage()
        .contains("does not describe its interface"));
    // It fits, but calls no libtenon, or another one.
    String alone = FitTest.fakeLibrary(Files.createDirectory(folder.resolve("alone")), real(),
        "tenon_server_interface_description");
    assertTrue(assertThrows(TenonException.Unsupported.class, () -> Library.checkServer(alone)).getMessage()
        .contains("calls another libtenon than the one in use"));
    assertThrows(UnsatisfiedLinkError.class, () -> Library.checkServer("/nonexistent/libtenon-server.so"));
  }

  /** Makes a server with the library that it is told to use, which has none beside it. */
  static final class NoServerProgram {
    private NoServerProgram() {}

    public static void main(String[] arguments) {
      Library.use(Path.of(arguments[0]));
      try (Server server = new Server()) {
        System.out.println(server);
      } catch (TenonException.Unsupported missing) {
        System.out.println(missing.getMessage());
      }
    }
  }

  @Test
  void withoutALibraryThereIsAnErrorThatSaysSo(@TempDir Path folder) throws Exception {
    Path copy = Files.copy(Path.of(Library.path()), folder.resolve("libtenon.so.0.1"));
    Process process = Demo.java(List.of(), NoServerProgram.class, copy.toString());
    String said = new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
    assertTrue(said.startsWith("no libtenon-server was found beside " + copy + " or by the system's loader: "), said);
  }
}
