package tenon;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;

/** The library by JNI, for Java before 22: native/tenon_jni.c. */
final class JniNative extends JniCalls {
  static final String SHIM = "libtenon-jni.so";

  JniNative(Path bundled) {
    if (bundled != null) {
      System.load(bundled.resolve(SHIM).toString());
    } else {
      System.loadLibrary("tenon-jni");
    }
    initialise(Upcalls.class, TenonException.Unsupported.class);
  }

  private static native void initialise(Class<?> upcalls, Class<?> unsupported);

  /** {description or null, version}, or {message}. */
  private static native String[] describeLibrary(String path);

  private static native String openLibrary(String path);

  /** {description or null, "ours" or "another's"}, or {message}. */
  private static native String[] describeServerLibrary(String path);

  private static native String openServerLibrary(String path);

  private native ByteBuffer viewOf(long address, long size);

  @Override
  native long address(ByteBuffer direct);

  @Override
  native byte[] bytes(long address, int length);

  @Override
  native long nameLength(long address);

  @Override
  native long upcall(int number);

  @Override
  Description describe(String path) {
    String[] said = describeLibrary(path);
    if (said.length == 1) throw new UnsatisfiedLinkError(said[0]);
    return new Description(said[0], said[1]);
  }

  @Override
  void open(String path) {
    String message = openLibrary(path);
    if (message != null) throw new UnsatisfiedLinkError(message);
  }

  @Override
  ServerDescription describeServer(String path) {
    String[] said = describeServerLibrary(path);
    if (said.length == 1) throw new UnsatisfiedLinkError(said[0]);
    return new ServerDescription(said[0], said[1].equals("ours"));
  }

  @Override
  void openServer(String path) {
    String message = openServerLibrary(path);
    if (message != null) throw new UnsatisfiedLinkError(message);
  }

  @Override
  ByteBuffer view(long address, long size) {
    return viewOf(address, size).order(ByteOrder.nativeOrder());
  }

  /** A copy: before Java 22 a buffer cannot be taken back, and would outlive its memory. */
  @Override
  Lent lend(long address, long size) {
    ByteBuffer copy = ByteBuffer.allocateDirect(Math.toIntExact(size)).order(ByteOrder.nativeOrder());
    copy.put(view(address, size)).flip();
    return new Lent(copy, address(copy), () -> {});
  }

  @Override
  boolean isVirtualThread() {
    return false;
  }
}
