package tenon;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Libraries of other versions: 200 changes of the interface, each harmless or refused. A fake library is the
 * description that it would answer, and memory laid out by it; what fits must be read rightly. */
class FitTest {
  /** Structures that Java reads, with numbers to check by. */
  private static final List<String> READ = List.of("tenon_piece", "tenon_model_info", "tenon_memory",
      "tenon_execution", "tenon_token_info", "tenon_session_stats", "tenon_engine_stats", "tenon_request_stats",
      "tenon_plan", "tenon_hardware", "tenon_embedder_info", "tenon_metadata", "tenon_candidate");
  private static final List<String> NUMBERS = List.of("double", "float", "int32_t", "int64_t", "size_t", "uint32_t",
      "uint64_t");

  private static Map<String, Object> real() {
    return described("interface.json");
  }

  static Map<String, Object> described(String file) {
    try {
      return Json.parseObject(Files.readString(Demo.ROOT.resolve("bindings").resolve(file)));
    } catch (java.io.IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
  }

  @SuppressWarnings("unchecked")
  static List<Map<String, Object>> list(Map<String, Object> from, String key) {
    return (List<Map<String, Object>>) from.get(key);
  }

  static Map<String, Object> struct(Map<String, Object> description, String name) {
    return list(description, "structs").stream().filter(item -> item.get("name").equals(name)).findFirst()
        .orElseThrow();
  }

  private static long sizeOf(String type) {
    return List.of("float", "int32_t", "uint32_t").contains(type) ? 4 : 8;
  }

  /** Gives the fields of a struct offsets and sizes as a compiler would. */
  static void layOut(Map<String, Object> struct) {
    long end = 0;
    for (Map<String, Object> field : list(struct, "fields")) {
      long element = sizeOf((String) field.get("type"));
      long offset = (end + element - 1) / element * element;
      long size = element * (field.get("count") instanceof Long count ? count : 1);
      field.put("offset", offset);
      field.put("size", size);
      end = offset + size;
    }
    struct.put("size", (end + 7) / 8 * 8);
  }

  @Test
  void theLayoutHereIsTheCompilers() {
    for (Map<String, Object> struct : list(real(), "structs")) {
      Map<String, Object> again = Json.parseObject(Json.text(struct));
      layOut(again);
      assertEquals(struct.get("fields"), again.get("fields"), (String) struct.get("name"));
    }
  }

  static IntStream seeds() {
    return IntStream.range(0, 200);
  }

  private static Map<String, Object> fresh(Random dice) {
    Map<String, Object> field = new LinkedHashMap<>();
    field.put("name", "fresh_" + dice.nextInt(1000));
    field.put("type", NUMBERS.get(dice.nextInt(NUMBERS.size())));
    field.put("role", "value");
    return field;
  }

  /** One change of a structure; says whether a later minor version may make it. */
  static boolean change(Random dice, Map<String, Object> struct) {
    List<Map<String, Object>> fields = list(struct, "fields");
    int index = 1 + dice.nextInt(fields.size() - 1);
    switch (dice.nextInt(7)) {
      case 0 -> fields.add(index, fresh(dice));
      case 1 -> Collections.swap(fields, index, 1 + dice.nextInt(fields.size() - 1));
      case 2 -> {
        String had = (String) fields.get(index).get("type");
        fields.get(index).put("type", NUMBERS.stream().filter(type -> !type.equals(had))
            .toList().get(dice.nextInt(NUMBERS.size() - 1)));
      }
      case 3 -> fields.get(index).put("name", "fresh");
      case 4 -> fields.remove(index);
      case 5 -> {
        for (Map<String, Object> field : fields) {
          if (!((String) field.get("name")).startsWith("reserved")) continue;
          field.putAll(Map.of("name", "fresh", "type", "uint32_t"));
          return true;
        }
        fields.add(fresh(dice));
        return true;
      }
      default -> {
        fields.add(fresh(dice));
        return true;
      }
    }
    return false;
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void aChangedLayoutIsHarmlessOrRefused(int seed) throws Exception {
    Random dice = new Random(seed);
    for (int i = 0; i < 10; ++i) dice.nextInt(); // first numbers of near seeds are alike
    Map<String, Object> description = real();
    String name = READ.get(dice.nextInt(READ.size()));
    Map<String, Object> struct = struct(description, name);
    final boolean isHarmless = change(dice, struct);
    layOut(struct);
    List<String> reasons = Fit.misfits(Library.madeFor(), description);
    if (isHarmless) assertEquals(List.of(), reasons, "a later minor version would be refused");
    if (!reasons.isEmpty()) {
      assertTrue(reasons.get(0).contains(name), reasons.get(0));
      return;
    }
    // It passed: what the fake library writes by its own layout, we read by ours.
    Map<String, Object> ours = struct(real(), name);
    int size = ((Long) ours.get("size")).intValue();
    ByteBuffer memory = ByteBuffer.allocate(Math.max(size, ((Long) struct.get("size")).intValue()))
        .order(ByteOrder.nativeOrder());
    Map<String, Number> written = new HashMap<>();
    for (Map<String, Object> field : list(struct, "fields")) {
      String type = (String) field.get("type");
      boolean isNumber = NUMBERS.contains(type) && !field.containsKey("count") && "value".equals(field.get("role"));
      if (!isNumber || List.of("struct_size", "reserved").contains(field.get("name"))) continue;
      int value = 1 + dice.nextInt(1000);
      int offset = ((Long) field.get("offset")).intValue();
      // The library writes no more than the struct_size that we give.
      if (offset + sizeOf(type) > size) continue;
      switch (type) {
        case "double" -> memory.putDouble(offset, value);
        case "float" -> memory.putFloat(offset, value);
        case "int32_t", "uint32_t" -> memory.putInt(offset, value);
        default -> memory.putLong(offset, value);
      }
      written.put((String) field.get("name"), value);
    }
    Record read = Structs.read(name, new Block(memory, 0, 0, 1));
    for (Map<String, Object> field : list(ours, "fields")) {
      if (!"value".equals(field.get("role")) || field.containsKey("count")) continue;
      for (var component : read.getClass().getRecordComponents()) {
        if (!component.getName().equals(camel((String) field.get("name")))) continue;
        Object value = component.getAccessor().invoke(read);
        int expected = written.getOrDefault(field.get("name"), 0).intValue();
        int came = value instanceof Boolean flag ? (flag ? expected == 0 ? 1 : expected : 0)
            : ((Number) value).intValue();
        assertEquals(expected, came, name + "." + field.get("name"));
      }
    }
  }

  static String camel(String name) {
    StringBuilder out = new StringBuilder();
    for (String part : name.split("_")) {
      out.append(out.isEmpty() ? part : Character.toUpperCase(part.charAt(0)) + part.substring(1));
    }
    return out.toString();
  }

  @Test
  void theRealDescriptionFits() {
    assertEquals(List.of(), Fit.misfits(Library.madeFor(), real()));
  }

  @Test
  void otherChangesAreRefused() {
    Map<Consumer<Map<String, Object>>, String> changes = Map.of(
        of -> list(of, "constants").get(2).put("value", 77L), "77",
        of -> list(list(of, "functions").get(0), "parameters").remove(0), "tenon_model_open",
        of -> list(of, "functions").get(0).put("returns", "void"), "tenon_model_open",
        of -> list(of, "callbacks").get(0).put("returns", "void"), "tenon_piece_callback",
        of -> of.put("version", "1.0.0"), "major");
    changes.forEach((change, reason) -> {
      Map<String, Object> description = real();
      change.accept(description);
      List<String> reasons = Fit.misfits(Library.madeFor(), description);
      assertTrue(!reasons.isEmpty() && reasons.get(0).contains(reason), reasons + " not " + reason);
    });
  }

  @Test
  void newFunctionsAndMissingOnesAreHarmless() {
    Map<String, Object> description = real();
    List<Map<String, Object>> functions = list(description, "functions");
    functions.remove(functions.size() - 1);
    functions.add(new HashMap<>(Map.of("name", "tenon_fresh", "returns", "void", "parameters", List.of())));
    assertEquals(List.of(), Fit.misfits(Library.madeFor(), description));
  }

  /** A shared library with nothing but what it says of itself; null: not even that. */
  private static String fakeLibrary(Path folder, Map<String, Object> description) throws Exception {
    return fakeLibrary(folder, description, "tenon_interface_description");
  }

  static String fakeLibrary(Path folder, Map<String, Object> description, String function) throws Exception {
    Path source = folder.resolve("fake.c");
    String text = description == null ? "" : "const char* " + function + "(void) { return "
        + Json.text(Json.text(description)) + "; }\n";
    Files.writeString(source, text + "const char* tenon_version_text(void) { return \"0.9.0\"; }\n");
    Path library = folder.resolve("libfake.so");
    Process compiler = new ProcessBuilder("cc", "-shared", "-fPIC", "-w", source.toString(), "-o", library.toString())
        .inheritIO().start();
    assertEquals(0, compiler.waitFor());
    return library.toString();
  }

  @Test
  void aLibraryThatDoesNotFitIsRefusedWithASentence(@TempDir Path folder) throws Exception {
    Map<String, Object> description = real();
    Map<String, Object> struct = struct(description, "tenon_piece");
    list(struct, "fields").add(1, new LinkedHashMap<>(Map.of("name", "fresh", "type", "uint64_t", "role", "value")));
    layOut(struct);
    for (String kind : List.of("functions", "structs", "constants", "callbacks")) {
      list(description, kind).forEach(item -> item.remove("doc"));
    }
    String path = fakeLibrary(folder, description);
    String message = assertThrows(TenonException.Unsupported.class, () -> Library.check(path)).getMessage();
    assertTrue(message.contains("libtenon 0.9.0, which does not fit this binding made for 0."), message);
    assertTrue(message.contains("tenon_piece.token lies at byte"), message);
  }

  /** Uses a library that has none of the functions which it describes. */
  static final class OlderLibraryProgram {
    private OlderLibraryProgram() {}

    public static void main(String[] arguments) {
      Library.use(Path.of(arguments[0]));
      try (Sampler sampler = new Sampler()) {
        System.out.println(sampler);
      } catch (TenonException.Unsupported missing) {
        System.out.println(Library.version() + " " + missing.getMessage());
      }
    }
  }

  @Test
  void aFunctionThatIsMissingIsAnErrorWhenItIsCalled(@TempDir Path folder) throws Exception {
    Process process = Demo.java(OlderLibraryProgram.class, fakeLibrary(folder, real()));
    assertEquals("0.9.0 this libtenon has no tenon_sampler_create: it is another version\n",
        new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8));
  }

  @Test
  void aLibraryWithoutADescriptionIsRefused(@TempDir Path folder) throws Exception {
    String path = fakeLibrary(folder, null);
    assertTrue(assertThrows(TenonException.Unsupported.class, () -> Library.check(path)).getMessage()
        .contains("too old"));
  }

  @Test
  void whatIsNoLibraryIsAnError(@TempDir Path folder) throws Exception {
    Path text = Files.writeString(folder.resolve("libtext.so"), "not a library");
    assertThrows(UnsatisfiedLinkError.class, () -> Library.check(text.toString()));
    assertThrows(UnsatisfiedLinkError.class, () -> Library.check("/nonexistent/libtenon.so"));
  }
}
