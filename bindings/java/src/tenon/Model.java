package tenon;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A model. Any thread, any number of sessions; it may be closed before they are.
 *
 * <pre>{@code
 * Model model = Model.open("model.gguf", new ModelOptions().threads(4));
 * }</pre> */
public final class Model extends NativeObject {
  private Engine engine;
  private Tokenizer tokenizer;

  private Model(Handle handle) {
    super(handle);
  }

  /** Opens a model file. For a split model name the first part; the others are found beside it. */
  public static Model open(String path) {
    return open(Path.of(path), null);
  }

  public static Model open(String path, ModelOptions options) {
    return open(Path.of(path), options);
  }

  public static Model open(Path path) {
    return open(path, null);
  }

  public static Model open(Path path, ModelOptions options) {
    return open(List.of(path), options);
  }

  /** Opens all parts of a split model, in any order. */
  public static Model open(List<Path> parts, ModelOptions options) {
    return load(parts, null, options);
  }

  /** Opens the bytes of a file. A direct buffer, such as a mapped file, is not copied: it must not
   * change while anything made from the model lives. */
  public static Model of(ByteBuffer file, ModelOptions options) {
    ByteBuffer memory = file.slice();
    if (!file.isDirect()) {
      memory = ByteBuffer.allocateDirect(file.remaining()).order(ByteOrder.nativeOrder());
      memory.put(file.duplicate()).flip();
    }
    return load(List.of(), memory, options);
  }

  private static Model load(List<Path> paths, ByteBuffer memory, ModelOptions options) {
    try (Handle set = Options.handle(options); Call call = new Call()) {
      int count = memory == null ? paths.size() : 1;
      Block pointers = call.array(count, 8);
      for (int i = 0; i < count; ++i) {
        Block source = call.struct(Layouts.Source.SIZE);
        pointers.int64(8 * i, source.address);
        if (memory == null) {
          source.int32(Layouts.Source.KIND, Constants.SOURCE_PATH);
          source.int64(Layouts.Source.NAME, call.name(paths.get(i).toString()));
          source.int64(Layouts.Source.NAME_LENGTH, Constants.NUL_TERMINATED);
        } else {
          source.int32(Layouts.Source.KIND, Constants.SOURCE_MEMORY);
          source.int64(Layouts.Source.DATA, call.library.address(memory));
          source.int64(Layouts.Source.SIZE_, memory.remaining());
        }
      }
      Block callbacks = call.struct(Layouts.Callbacks.SIZE);
      Callback callback = options == null ? null : options.fill(callbacks, call.library);
      Block made = call.block(8);
      boolean isLoaded = false;
      try {
        int status = call.library.modelLoad(pointers.address, count, call.handle(set, false),
            callbacks.address, made.address);
        isLoaded = status == Constants.OK;
        TenonException failure = isLoaded ? null : call.failure(status);
        if (!isLoaded && callback != null) callback.rethrow();
        if (!isLoaded) throw failure;
      } finally {
        // The log is used while the model or one of its sessions lives.
        if (callback != null && !(isLoaded && options.hasLog())) callback.end();
      }
      return new Model(Handle.withMemory(Kind.MODEL, made.int64(0), memory));
    }
  }

  /** Name, architecture, sizes. */
  public ModelInfo info() {
    return Calls.modelGetInfo(handle);
  }

  /** The model's tokenizer, which is closed with it. */
  public synchronized Tokenizer tokenizer() {
    if (tokenizer == null) tokenizer = new Tokenizer(Calls.modelTokenizer(handle));
    return tokenizer;
  }

  /** Metadata of the file, in file order: String, Long, Double, Boolean, or List of one of them. */
  public Map<String, Object> metadata() {
    Map<String, Object> all = new LinkedHashMap<>();
    long count = Calls.modelMetadataCount(handle);
    for (long i = 0; i < count; ++i) {
      MetadataEntry entry = Calls.modelMetadata(handle, i);
      all.put(entry.key(), value(i, entry));
    }
    return all;
  }

  /** One entry of the metadata; null if the file lacks it. */
  public Object metadata(String key) {
    long index;
    try {
      index = Calls.modelFindMetadata(handle, key);
    } catch (TenonException.Argument missing) {
      return null;
    }
    return value(index, Calls.modelMetadata(handle, index));
  }

  private Object value(long index, MetadataEntry entry) {
    if (entry.type() != Constants.VALUE_ARRAY) return element(index, 0);
    List<Object> list = new ArrayList<>();
    for (long i = 0; i < entry.numElements(); ++i) list.add(element(index, i));
    return list;
  }

  private Object element(long index, long element) {
    MetadataValue value = Calls.modelMetadataValue(handle, index, element);
    return switch (value.type()) {
      case Constants.VALUE_STRING -> value.text();
      case Constants.VALUE_BOOL -> value.integer() != 0;
      case Constants.VALUE_FLOAT32, Constants.VALUE_FLOAT64 -> value.number();
      default -> value.integer();
    };
  }

  /** Tensors of the file, in file order. */
  public List<Tensor> tensors() {
    List<Tensor> all = new ArrayList<>();
    long count = Calls.modelTensorCount(handle);
    for (long i = 0; i < count; ++i) all.add(Calls.modelTensor(handle, i));
    return all;
  }

  /** Memory of the model with one session; 0: the default context. */
  public Memory memory(long context) {
    return Calls.modelMemory(handle, context);
  }

  /** How the model runs on this machine. */
  public Execution execution() {
    return Calls.modelExecution(handle);
  }

  /** This machine, for planning. speed: runs some layers, for seconds. */
  public Hardware measure(boolean speed) {
    return Calls.measureHardware(handle, speed ? Constants.MEASURE_SPEED : 0);
  }

  /** Predicts memory and speed for that many sessions; 0: the default context, one session. */
  public Plan plan(Hardware hardware, long context, long sessions) {
    return Calls.modelPlan(handle, context, sessions, java.util.Objects.requireNonNull(hardware));
  }

  /** A new session with an empty text. */
  public Session session() {
    return new Session(this);
  }

  public Session session(SessionOptions options) {
    return new Session(this, options);
  }

  /** The engine of sessions that name no other; made at first use. */
  public synchronized Engine engine() {
    if (engine == null) engine = new Engine(this);
    return engine;
  }

  @Override
  public void close() {
    Engine made;
    synchronized (this) {
      made = engine;
      if (tokenizer != null) tokenizer.close();
    }
    if (made != null) made.close();
    super.close();
  }
}
