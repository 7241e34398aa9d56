package tenon;

import java.nio.ByteBuffer;

/** What the two ways to the library (JniNative; ForeignNative from Java 22 on) do besides calling its
 * functions: finding it, and memory. Addresses are long. */
abstract class NativeMemory {
  /** What a library says of itself; json is null where it is too old for that. */
  record Description(String json, String version) {}

  /** What a libtenon-server says of itself, and whether the libtenon that it calls is the one in use. */
  record ServerDescription(String json, boolean usesOurs) {}

  /** Opens a library without using it. UnsatisfiedLinkError when there is none. */
  abstract Description describe(String path);

  /** From now on all functions are those of this library. Once. */
  abstract void open(String path);

  /** The same of a libtenon-server, when a libtenon is in use. */
  abstract ServerDescription describeServer(String path);

  /** From now on the server's functions are those of this library. Once. */
  abstract void openServer(String path);

  /** Of a direct buffer's first byte. */
  abstract long address(ByteBuffer direct);

  /** Memory of the library as a buffer in native order. The caller knows how long it lives. */
  abstract ByteBuffer view(long address, long size);

  /** A copy of memory of the library. */
  abstract byte[] bytes(long address, int length);

  /** The length of a text that ends in a NUL. */
  abstract long nameLength(long address);

  /** Memory of the library for programs to look at until it is closed. */
  abstract Lent lend(long address, long size);

  /** The function that the library calls for a number of Upcalls. */
  abstract long upcall(int number);

  /** Whether waiting in the library would hold a carrier of virtual threads. */
  abstract boolean isVirtualThread();

  static TenonException missing(String function) {
    String library = function.startsWith("tenon_server_") ? "libtenon-server" : "libtenon";
    return new TenonException.Unsupported("this " + library + " has no " + function + ": it is another version");
  }
}
