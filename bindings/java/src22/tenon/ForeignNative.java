package tenon;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** The library by foreign functions: no compiled code of the binding is needed. */
final class ForeignNative extends ForeignCalls {
  private final long[] upcalls = new long[UPCALLS.length];

  @Override
  Description describe(String path) {
    try (Arena arena = Arena.ofConfined()) {
      SymbolLookup library = Foreign.load(path, arena);
      String version = Foreign.text(library, "tenon_version_text");
      return new Description(Foreign.text(library, "tenon_interface_description"),
          version == null ? "?" : version);
    } catch (Throwable thrown) {
      throw Foreign.unexpected(thrown);
    }
  }

  @Override
  void open(String path) {
    Foreign.use(path);
    Method[] methods = Upcalls.class.getDeclaredMethods();
    for (Method method : methods) {
      int number = numberOf(method.getName());
      if (number < 0) continue;
      try {
        MethodHandle handle = MethodHandles.lookup().unreflect(method);
        upcalls[number] = Foreign.LINKER.upcallStub(handle, UPCALLS[number], Arena.global()).address();
      } catch (IllegalAccessException error) {
        throw new IllegalStateException(error);
      }
    }
  }

  @Override
  ServerDescription describeServer(String path) {
    try (Arena arena = Arena.ofConfined()) {
      SymbolLookup library = Foreign.load(path, arena);
      return new ServerDescription(Foreign.text(library, "tenon_server_interface_description"),
          Foreign.isOurs(library, "tenon_version"));
    } catch (Throwable thrown) {
      throw Foreign.unexpected(thrown);
    }
  }

  @Override
  void openServer(String path) {
    Foreign.useServer(path);
  }

  /** onPiece -> Upcalls.PIECE_CALLBACK; -1: another method. */
  private static int numberOf(String method) {
    if (!method.startsWith("on")) return -1;
    try {
      return Upcalls.class.getDeclaredField(method.substring(2).toUpperCase(java.util.Locale.ROOT) + "_CALLBACK")
          .getInt(null);
    } catch (ReflectiveOperationException error) {
      return -1;
    }
  }

  @Override
  long address(ByteBuffer direct) {
    return MemorySegment.ofBuffer(direct.duplicate().clear()).address();
  }

  @Override
  ByteBuffer view(long address, long size) {
    return MemorySegment.ofAddress(address).reinterpret(size).asByteBuffer().order(ByteOrder.nativeOrder());
  }

  @Override
  byte[] bytes(long address, int length) {
    byte[] copy = new byte[length];
    if (length > 0) {
      MemorySegment.copy(MemorySegment.ofAddress(address).reinterpret(length), ValueLayout.JAVA_BYTE, 0, copy, 0,
          length);
    }
    return copy;
  }

  @Override
  long nameLength(long address) {
    MemorySegment text = MemorySegment.ofAddress(address).reinterpret(Long.MAX_VALUE);
    long length = 0;
    while (text.get(ValueLayout.JAVA_BYTE, length) != 0) ++length;
    return length;
  }

  /** The memory itself; reading a buffer of it after the end throws IllegalStateException. */
  @Override
  Lent lend(long address, long size) {
    Arena arena = Arena.ofShared();
    MemorySegment memory = MemorySegment.ofAddress(address).reinterpret(size, arena, null).asReadOnly();
    return new Lent(memory.asByteBuffer().order(ByteOrder.nativeOrder()), address, arena::close);
  }

  @Override
  long upcall(int number) {
    return upcalls[number];
  }

  @Override
  boolean isVirtualThread() {
    return Thread.currentThread().isVirtual();
  }
}
