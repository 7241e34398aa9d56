package tenon;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** Finds libtenon, and refuses one that does not fit. In this order: the path given to {@link
 * #use(Path)} before anything else, or in the system property tenon.library; the library inside the
 * jar; the one that the system's loader finds as libtenon.so.0.1. libtenon-server is searched when
 * the first {@link Server} is made: beside the libtenon in use, else by the system's loader. */
public final class Library {
  private static String wanted;
  private static String used;
  private static volatile NativeCalls calls;
  private static NativeCalls layer;
  private static Path bundled;
  private static Map<String, Object> madeFor;
  private static boolean hasServer;

  private Library() {}

  /** Names the libtenon.so to use. IllegalStateException if another one is in use. */
  public static synchronized void use(Path path) {
    if (used != null && !used.equals(path.toString())) throw new IllegalStateException(used + " is in use already");
    wanted = path.toString();
  }

  /** The library in use. */
  public static synchronized String path() {
    use();
    return used;
  }

  /** The library's version: "0.1.0". */
  public static String version() {
    return Calls.versionText();
  }

  /** The way it is called: "foreign functions" or "JNI". */
  public static String layer() {
    return NativeLayer.title();
  }

  /** Loads the library at the first call; later calls cost nothing. */
  static NativeCalls use() {
    NativeCalls ready = calls;
    return ready != null ? ready : load();
  }

  private static synchronized NativeCalls load() {
    if (calls != null) return calls;
    if (wanted == null) wanted = System.getProperty("tenon.library");
    NativeCalls made = makeLayer();
    String path = wanted;
    if (path == null) path = bundled == null ? soname() : bundled.resolve(soname()).toString();
    try {
      check(made, path);
      made.open(path);
    } catch (UnsatisfiedLinkError error) {
      throw new TenonException.Unsupported("no libtenon was found: " + error.getMessage());
    }
    used = path;
    calls = made;
    return made;
  }

  /** Loads libtenon-server at the first call. */
  static synchronized void useServer() {
    if (hasServer) return;
    NativeCalls library = use();
    String soname = soname().replace("libtenon", "libtenon-server");
    Path beside = Path.of(used).resolveSibling(soname);
    String path = used.contains("/") && Files.exists(beside) ? beside.toString() : soname;
    try {
      checkServer(path);
      library.openServer(path);
    } catch (UnsatisfiedLinkError error) {
      throw new TenonException.Unsupported(
          "no libtenon-server was found beside " + used + " or by the system's loader: " + error.getMessage());
    }
    hasServer = true;
  }

  /** Throws TenonException.Unsupported with a sentence if the libtenon-server at a path does not
   * fit. */
  static synchronized void checkServer(String path) {
    NativeMemory.ServerDescription said = use().describeServer(path);
    if (said.json() == null) {
      throw new TenonException.Unsupported(
          path + " does not describe its interface: it is no libtenon-server, or too old for this binding");
    }
    Map<String, Object> description = Json.parseObject(said.json());
    String found = path + " is libtenon-server " + description.get("version");
    refuse(found, readMadeFor("made_for_server.json"), description);
    if (!said.usesOurs()) {
      throw new TenonException.Unsupported(path + " calls another libtenon than the one in use, which is " + used);
    }
  }

  /** Throws TenonException.Unsupported with a sentence if the library at a path does not fit. */
  static synchronized void check(String path) {
    check(makeLayer(), path);
  }

  private static NativeCalls makeLayer() {
    if (layer == null) {
      // A program's own library needs only the shim of JNI among the jar's files.
      bundled = Bundle.unpack(wanted == null ? name -> true : JniNative.SHIM::equals);
      layer = NativeLayer.make(bundled);
    }
    return layer;
  }

  private static void check(NativeCalls layer, String path) {
    NativeMemory.Description said = layer.describe(path);
    String found = path + " is libtenon " + said.version();
    if (said.json() == null) {
      throw new TenonException.Unsupported(
          found + ", which does not describe its interface: it is too old for this binding");
    }
    refuse(found, madeFor(), Json.parseObject(said.json()));
  }

  private static void refuse(String found, Map<String, Object> ours, Map<String, Object> theirs) {
    List<String> reasons = Fit.misfits(ours, theirs);
    if (reasons.isEmpty()) return;
    String more = reasons.size() > 1 ? " (and " + (reasons.size() - 1) + " more)" : "";
    throw new TenonException.Unsupported(found + ", which does not fit this binding made for "
        + ours.get("version") + ": " + reasons.get(0) + more);
  }

  /** The interface that this binding was made for. */
  static synchronized Map<String, Object> madeFor() {
    if (madeFor == null) madeFor = readMadeFor("made_for.json");
    return madeFor;
  }

  static Map<String, Object> readMadeFor(String name) {
    try (InputStream file = Library.class.getResourceAsStream(name)) {
      return Json.parseObject(new String(file.readAllBytes(), StandardCharsets.UTF_8));
    } catch (IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
  }

  /** The name of the library for this major and minor version. */
  static String soname() {
    String[] version = ((String) madeFor().get("version")).split("\\.");
    return "libtenon.so." + version[0] + "." + version[1];
  }
}
