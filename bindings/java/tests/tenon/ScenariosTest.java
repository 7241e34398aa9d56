package tenon;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Files;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** bindings/scenarios.json: the behaviour that all bindings have in common. */
class ScenariosTest {
  @TestFactory
  @SuppressWarnings("unchecked")
  Stream<DynamicTest> scenarios() throws Exception {
    Map<String, Object> data = Json.parseObject(Files.readString(Demo.ROOT.resolve("bindings/scenarios.json")));
    return ((List<Map<String, Object>>) data.get("scenarios")).stream().map(scenario ->
        DynamicTest.dynamicTest((String) scenario.get("name"), () -> {
          try (Scenarios runner = new Scenarios((Map<String, Object>) data.get("model"))) {
            Object came = Json.parse(Json.text(runner.run((List<?>) scenario.get("steps"))));
            assertEquals(scenario.get("expect"), came);
          }
        }));
  }
}
