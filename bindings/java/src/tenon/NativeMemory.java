package tenon;

import java.nio.ByteBuffer;

/** Base of the two ways to the library (JniNative; ForeignNative from Java 22 on), besides calling
 * its functions: finding it, and memory. Addresses are long. */
abstract class NativeMemory {
  /** A library's description of itself; json is null if it is too old for that. */
  record Description(String json, String version) {}

  /** A libtenon-server's description of itself, and whether the libtenon that it calls is the one
   * in use. */
  record ServerDescription(String json, boolean usesOurs) {}

  /** Opens a library without using it. UnsatisfiedLinkError if there is none. */
  abstract Description describe(String path);

  /** Makes this library the one whose functions are called. Once. */
  abstract void open(String path);

  /** As describe, for a libtenon-server when a libtenon is in use. */
  abstract ServerDescription describeServer(String path);

  /** Makes this library the one whose server functions are called. Once. */
  abstract void openServer(String path);

  /** Address of a direct buffer's first byte. */
  abstract long address(ByteBuffer direct);

  /** Memory of the library as a buffer in native order. The caller knows how long it lives. */
  abstract ByteBuffer view(long address, long size);

  /** A copy of memory of the library. */
  abstract byte[] bytes(long address, int length);

  /** Length of a text that ends in a NUL. */
  abstract long nameLength(long address);

  /** Lends memory of the library to programs until it is closed. */
  abstract Lent lend(long address, long size);

  /** Address of the native function of a number of Upcalls. */
  abstract long upcall(int number);

  /** True if waiting in the library would hold a carrier of virtual threads. */
  abstract boolean isVirtualThread();

  static TenonException missing(String function) {
    String library = function.startsWith("tenon_server_") ? "libtenon-server" : "libtenon";
    return new TenonException.Unsupported("this " + library + " has no " + function + ": it is another version");
  }
}
