package tenon;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.function.Predicate;

/** The native libraries inside the jar: /native/SYSTEM/, with their names in its file `list`. */
final class Bundle {
  private Bundle() {}

  /** Where those that are wanted can be loaded from: a new folder that only this user can write, gone when the process
   * ends. Null: the jar has none for this system. */
  static Path unpack(Predicate<String> isWanted) {
    String folder = "/native/" + system() + "/";
    try (InputStream list = Bundle.class.getResourceAsStream(folder + "list")) {
      if (list == null) return null;
      Path into = Files.createTempDirectory("tenon-",
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
      into.toFile().deleteOnExit();
      for (String name : new String(list.readAllBytes(), StandardCharsets.UTF_8).lines().toList()) {
        if (!isWanted.test(name)) continue;
        Path target = into.resolve(name);
        if (!Files.exists(target.getParent())) {
          Files.createDirectory(target.getParent()).toFile().deleteOnExit();
        }
        try (InputStream file = Bundle.class.getResourceAsStream(folder + name)) {
          Files.copy(file, target);
        }
        target.toFile().deleteOnExit();
      }
      return into;
    } catch (IOException error) {
      throw new UncheckedIOException("the native libraries cannot be unpacked; the property tenon.library names "
          + "one that is there", error);
    }
  }

  /** "linux-x86_64" */
  static String system() {
    String machine = System.getProperty("os.arch");
    return System.getProperty("os.name").toLowerCase(java.util.Locale.ROOT) + "-"
        + (machine.equals("amd64") ? "x86_64" : machine);
  }
}
