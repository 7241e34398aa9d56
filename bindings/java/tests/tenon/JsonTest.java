package tenon;

import static org.junit.jupiter.api.Assertions.*;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The JSON of conversations and descriptions. */
class JsonTest {
  @Test
  void whatIsWrittenIsReadAgain() {
    String text = "{\"a\":[1,-2.5,1.0E300,true,false,null,\"\\\"\\\\\\u0000\\u001fü🦊\"],\"b\":{},\"c\":[]}";
    assertEquals(text, Json.text(Json.parse(text)));
    assertEquals(18446744073709551615.0, ((Number) Json.parse("18446744073709551615")).doubleValue());
    assertEquals(Long.MIN_VALUE, Json.parse("-9223372036854775808"));
    assertEquals("\n\t/é\ud83e\udd8a", Json.parse("\"\\n\\t\\/\\u00e9\\ud83e\\udd8a\""));
    assertEquals("[1,\"x\",null]", Json.text(Arrays.asList(1, "x", null)));
  }

  @Test
  void whatIsNoJsonIsRefusedWithItsPlace() {
    for (String wrong : List.of("", "{", "[1,]", "{\"a\"}", "01", "1.", "+1", "nul", "\"\\x\"", "\"\\u12\"", "\"a",
        "1 2", "\"\n\"", "{\"a\":1,}", "NaN", "[".repeat(10000))) {
      assertTrue(assertThrows(IllegalArgumentException.class, () -> Json.parse(wrong), wrong).getMessage()
          .contains("character"));
    }
    assertThrows(IllegalArgumentException.class, () -> Json.parseObject("[]"));
    assertThrows(IllegalArgumentException.class, () -> Json.text(Double.NaN));
    assertThrows(IllegalArgumentException.class, () -> Json.text(Map.of("a", new Object())));
  }
}
