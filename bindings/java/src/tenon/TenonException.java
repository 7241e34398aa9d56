package tenon;

import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** An error of the library: a class per status of tenon.h, with the library's sentence. */
public abstract class TenonException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String code;

  private TenonException(String code, String message) {
    super(message);
    this.code = code;
  }

  /** Its name in tenon.h: "FORMAT", "BUSY", ... */
  public String code() {
    return code;
  }

  /** systemError: a number of errno.h, or 0. */
  static TenonException of(int status, String message, int systemError) {
    TenonException made = of(status, message);
    if (systemError != 0) made.initCause(causeOf(systemError, message));
    return made;
  }

  private static FileSystemException causeOf(int systemError, String message) {
    return switch (systemError) {
      case 2 -> new NoSuchFileException(message);
      case 1, 13 -> new AccessDeniedException(message);
      case 17 -> new FileAlreadyExistsException(message);
      case 20 -> new NotDirectoryException(message);
      default -> new FileSystemException(message);
    };
  }

  static TenonException of(int status, String message) {
    return switch (status) {
      case Constants.ERROR_FORMAT -> new Format(message);
      case Constants.ERROR_UNSUPPORTED -> new Unsupported(message);
      case Constants.ERROR_LIMIT -> new Limit(message);
      case Constants.ERROR_IO -> new InputOutput(message);
      case Constants.ERROR_NO_MEMORY -> new NoMemory(message);
      case Constants.ERROR_ARGUMENT -> new Argument(message);
      case Constants.ERROR_GRAMMAR -> new GrammarRefused(message);
      case Constants.ERROR_TEMPLATE -> new Template(message);
      case Constants.ERROR_BUSY -> new Busy(message);
      case Constants.ERROR_CANCELLED -> new Cancelled(message);
      case Constants.ERROR_DEADLINE -> new Deadline(message);
      case Constants.ERROR_PLUGIN -> new Plugin(message);
      case Constants.ERROR_STATE -> new State(message);
      default -> new Internal(message);
    };
  }

  /** A file or a text is malformed. */
  public static final class Format extends TenonException {
    private static final long serialVersionUID = 1;

    Format(String message) {
      super("FORMAT", message);
    }
  }

  /** Well formed, but not supported by this library. */
  public static final class Unsupported extends TenonException {
    private static final long serialVersionUID = 1;

    Unsupported(String message) {
      super("UNSUPPORTED", message);
    }
  }

  /** Larger than a stated limit. */
  public static final class Limit extends TenonException {
    private static final long serialVersionUID = 1;

    Limit(String message) {
      super("LIMIT", message);
    }
  }

  /** The operating system failed. The cause is its error, if it gave one: {@link
   * NoSuchFileException}, ... */
  public static final class InputOutput extends TenonException {
    private static final long serialVersionUID = 1;

    InputOutput(String message) {
      super("IO", message);
    }
  }

  /** An allocation failed, or a budget is used up. */
  public static final class NoMemory extends TenonException {
    private static final long serialVersionUID = 1;

    NoMemory(String message) {
      super("NO_MEMORY", message);
    }
  }

  /** An argument is invalid. */
  public static final class Argument extends TenonException {
    private static final long serialVersionUID = 1;

    Argument(String message) {
      super("ARGUMENT", message);
    }
  }

  /** A grammar, schema or pattern is refused. */
  public static final class GrammarRefused extends TenonException {
    private static final long serialVersionUID = 1;

    GrammarRefused(String message) {
      super("GRAMMAR", message);
    }
  }

  /** A chat template is refused or failed. */
  public static final class Template extends TenonException {
    private static final long serialVersionUID = 1;

    Template(String message) {
      super("TEMPLATE", message);
    }
  }

  /** The engine's queue is full: try again later. */
  public static final class Busy extends TenonException {
    private static final long serialVersionUID = 1;

    Busy(String message) {
      super("BUSY", message);
    }
  }

  /** The call was cancelled. */
  public static final class Cancelled extends TenonException {
    private static final long serialVersionUID = 1;

    Cancelled(String message) {
      super("CANCELLED", message);
    }
  }

  /** A deadline passed. */
  public static final class Deadline extends TenonException {
    private static final long serialVersionUID = 1;

    Deadline(String message) {
      super("DEADLINE", message);
    }
  }

  /** A backend plugin was refused or failed. */
  public static final class Plugin extends TenonException {
    private static final long serialVersionUID = 1;

    Plugin(String message) {
      super("PLUGIN", message);
    }
  }

  /** The object cannot do this now: it is closed, or in use by another call. */
  public static final class State extends TenonException {
    private static final long serialVersionUID = 1;

    State(String message) {
      super("STATE", message);
    }
  }

  /** A defect of the library: please report it. */
  public static final class Internal extends TenonException {
    private static final long serialVersionUID = 1;

    Internal(String message) {
      super("INTERNAL", message);
    }
  }
}
