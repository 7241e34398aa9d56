package tenon;

import java.nio.file.Path;

/** Picks the way to the library: foreign functions, which Java has from 22 on. */
final class NativeLayer {
  private NativeLayer() {}

  static NativeCalls make(Path bundled) {
    return new ForeignNative();
  }

  static String title() {
    return "foreign functions";
  }
}
