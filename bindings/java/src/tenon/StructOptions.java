package tenon;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Collectors;

/** Options that are the fields of a structure. A name that it lacks, or a value of another type, is
 * {@link TenonException.Argument} when something is made with them; the rest the library checks.
 *
 * @param <S> the class of the options itself */
public abstract class StructOptions<S extends StructOptions<S>> extends Options<S> {
  /** A program's value for a field, and its form in memory. */
  enum FieldKind {
    FLAG, INT32, INT64, FLOAT64,
    /** Ends in a NUL. */
    NAME,
    /** With its length at `second`. */
    TEXT, BYTES,
    /** Options of another scope, "name=value" a line. */
    LINES,
    /** A function, with its `user` at `second`. */
    LOG
  }

  /** second: the offset of its other field. */
  record Field(String name, FieldKind kind, int offset, int second) {}

  private final int size;
  private final List<Field> fields;

  StructOptions(int size, List<Field> fields) {
    this.size = size;
    this.fields = fields;
  }

  /** The structure, which lives as long as the call. */
  Block write(Call call) {
    Block at = call.struct(size);
    values().forEach((name, value) -> {
      if (value == null) return;
      Field field = fields.stream().filter(one -> one.name.equals(name)).findFirst().orElseThrow(() -> unknown(name));
      try {
        write(call, at, field, value);
      } catch (ClassCastException error) {
        throw new TenonException.Argument(name + " cannot be a " + value.getClass().getSimpleName());
      }
    });
    return at;
  }

  private static void write(Call call, Block at, Field field, Object value) {
    switch (field.kind) {
      case FLAG -> at.int32(field.offset, (Boolean) value ? 1 : 0);
      case INT32 -> at.int32(field.offset, (int) counted(field, value, 0xffff_ffffL));
      case INT64 -> at.int64(field.offset, counted(field, value, Long.MAX_VALUE));
      case FLOAT64 -> at.float64(field.offset, ((Number) value).doubleValue());
      case NAME -> at.int64(field.offset, call.name((String) value));
      case LINES -> at.int64(field.offset, call.name(value instanceof Options<?> set ? set.lines() : (String) value));
      case TEXT -> bytes(call, at, field, ((String) value).getBytes(StandardCharsets.UTF_8));
      case BYTES -> bytes(call, at, field, (byte[]) value);
      case LOG -> {
        ModelCallbacks.Log log = (ModelCallbacks.Log) value;
        Upcalls.OnLog function = (level, text) -> ModelCallbacks.pass(log, level, text);
        at.int64(field.second, call.keep(function));
        at.int64(field.offset, call.library.upcall(Upcalls.LOG_CALLBACK));
      }
    }
  }

  private static void bytes(Call call, Block at, Field field, byte[] value) {
    Block made = call.bytes(value);
    at.int64(field.offset, made.address);
    at.int64(field.second, made.count);
  }

  /** C would take a negative number for a very large one. */
  private static long counted(Field field, Object value, long most) {
    if (value instanceof Double || value instanceof Float) throw new ClassCastException();
    long number = ((Number) value).longValue();
    if (number < 0 || number > most) {
      throw new TenonException.Argument(field.name + " is 0 .. " + most + ", not " + number);
    }
    return number;
  }

  private TenonException unknown(String name) {
    return new TenonException.Argument("there is no option \"" + name + "\": they are "
        + fields.stream().map(Field::name).collect(Collectors.joining(", ")));
  }
}
