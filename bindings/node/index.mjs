// The module for `import`: one copy of the classes for both ways of loading.
import tenon from './index.js'

export const {
  Model, Tokenizer, Session, Engine, Generation, Piece, Sampler, Grammar, Matcher, Chat, ChatAnswer, Reply, Embedder, Rows,
  Server, Answer,
  TenonError, FormatError, UnsupportedError, LimitError, InputOutputError, NoMemoryError, ArgumentError,
  GrammarError, TemplateError, BusyError, CancelledError, DeadlineError, PluginError, StateError, InternalError,
  constants, libraryPath, logprobs, useLibrary, version,
} = tenon
export default tenon
