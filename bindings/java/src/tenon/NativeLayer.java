package tenon;

import java.nio.file.Path;

/** Picks the way to the library: JNI. The jar has another class of this name for Java 22 and later.
 */
final class NativeLayer {
  private NativeLayer() {}

  /** bundled: the folder of the jar's native libraries, or null. */
  static NativeCalls make(Path bundled) {
    return new JniNative(bundled);
  }

  static String title() {
    return "JNI";
  }
}
