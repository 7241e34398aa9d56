// Tenon: run language models inside your program. See README.md.
/// <reference lib="es2022" />
/// <reference lib="esnext.disposable" />

import type {
  Candidate, ChatDelta as RawChatDelta, EmbedderInfo, EngineStats, Execution, Hardware, Memory, ModelInfo, Plan,
  RequestStats, SessionStats, Tensor, TokenInfo,
} from './structs'
import type {
  ChatOptions, EmbedderOptions, EngineOptions, ModelOptions, SamplerOptions, ServerFields, ServerFileFields, SessionOptions,
} from './options'

export * from './options'
export {
  constants, Candidate, EmbedderInfo, EngineStats, Execution, Hardware, Memory, ModelInfo, Plan, RequestStats,
  SessionStats, Tensor, TokenInfo,
} from './structs'

/** Token ids. */
export type Tokens = Int32Array | readonly number[]
/** A value of a model's metadata. */
export type MetadataValue = string | number | bigint | boolean
/** Path of a file: a text, or a file: URL. */
export type FilePath = string | { readonly href: string }

/** An object of the library. `close` frees it, at any time and in any order; so does `using`, and
 * the garbage collector. Later calls are StateError. */
declare abstract class TenonObject {
  protected constructor()
  /** True if it was closed. */
  get closed(): boolean
  /** Ends running calls on the object and frees it when they return. The promise resolves then, and
   * need not be awaited. */
  close(): Promise<void>
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
}

export interface LoadOptions extends ModelOptions {
  /** Gets the progress, 0 to 1. True cancels with CancelledError; its exception is thrown by the
   * call. */
  progress?: (fraction: number) => boolean | void
  /** Gets lines of constants.LOG_* up to logLevel while the model or one of its sessions lives. */
  log?: (level: number, line: string) => void
  logLevel?: number
  /** Cancels the load. */
  signal?: AbortSignal
}

/** A model. Any number of sessions; `close` may come before they end. */
export class Model extends TenonObject {
  /** Opens a file, or all parts of a split model. */
  static open(path: FilePath | readonly FilePath[], options?: LoadOptions): Promise<Model>
  /** Opens the bytes of a file, which are copied. */
  static fromBytes(bytes: Uint8Array | ArrayBuffer, options?: LoadOptions): Promise<Model>
  /** Opens part of an open file; size 0: to its end. The descriptor may be closed afterwards. */
  static fromDescriptor(fd: number, options?: LoadOptions & { offset?: number, size?: number }): Promise<Model>
  /** Name, architecture, sizes. */
  get info(): ModelInfo
  /** The model's tokenizer, which closes with it. */
  get tokenizer(): Tokenizer
  /** Keys of the file's metadata, in file order. */
  get metadataKeys(): string[]
  /** Value of a key; undefined if there is none. */
  metadata(key: string): Promise<MetadataValue | MetadataValue[] | undefined>
  /** Tensors of the file, in file order. */
  tensors(): Promise<Tensor[]>
  /** Memory of the model with one session; 0: the default context. */
  memory(context?: number): Promise<Memory>
  /** How the model runs on this machine. */
  execution(): Promise<Execution>
  /** This machine, for planning. speed: runs some layers, for seconds. */
  measure(options?: { speed?: boolean }): Promise<Hardware>
  /** Predicts memory and speed for that many sessions. */
  plan(hardware: Hardware, options?: { context?: number, sessions?: number }): Promise<Plan>
  /** The engine of sessions that name no other; made at first use. */
  engine(): Promise<Engine>
  /** A new session with an empty text. */
  session(options?: OpenOptions): Promise<Session>
  /** Continues a text in a session of its own, in the model's engine. */
  stream(prompt: string | Tokens, options?: StreamOptions): Generation
}

export interface EncodeOptions {
  /** Adds the begin (and end) token if the model wants it. */
  addSpecial?: boolean
  /** Finds control tokens in the text: not for user input. */
  parseSpecial?: boolean
}

/** Text to tokens and back. From a tokenizer.json or a model file, or part of a model, with which
 * it closes. */
export class Tokenizer extends TenonObject {
  static open(path: FilePath): Promise<Tokenizer>
  static fromBytes(bytes: Uint8Array | ArrayBuffer): Promise<Tokenizer>
  /** Tokens of a text. */
  encode(text: string, options?: EncodeOptions): Promise<Int32Array>
  /** Tokens of a short text, synchronously. */
  encodeSync(text: string, options?: EncodeOptions): Int32Array
  /** Bytes of tokens, which may begin or end inside a character. */
  decodeBytes(tokens: Tokens, options?: { special?: boolean }): Promise<Uint8Array>
  /** Text of tokens; invalid UTF-8 becomes U+FFFD. special: shows control tokens. */
  decode(tokens: Tokens, options?: { special?: boolean }): Promise<string>
  /** Text of a few tokens, synchronously. */
  decodeSync(tokens: Tokens, options?: { special?: boolean }): string
  /** Number of tokens. */
  get size(): number
  /** Attributes, spelling and bytes of a token. */
  info(token: number): TokenInfo
  /** The token with this spelling in the file, or null. */
  find(spelling: string): number | null
  get beginToken(): number | null
  get endToken(): number | null
}

export interface OpenOptions extends SessionOptions {
  /** Default: the model's own. */
  engine?: Engine
}

/** Options of a generation besides its text. */
export interface GenerateOptions {
  /** Most tokens; 0: as many as the context holds. */
  maxTokens?: number
  /** Default: a sampler with the options of `sampling`. */
  sampler?: Sampler | null
  /** Sampler options, instead of a sampler: { temperature: 0 }. */
  sampling?: SamplerOptions
  /** Allows only texts of this grammar. */
  grammar?: Grammar | null
  /** Begin token before the text. Default: if the session is empty. */
  addSpecial?: boolean
  /** Finds control tokens in the text: not for user input. */
  parseSpecial?: boolean
  /** An end token does not end generation. */
  ignoreEnd?: boolean
  /** Adds a logprob to pieces, and those of that many likeliest tokens. */
  logprobs?: number
  /** Seconds to the end, then DeadlineError; 0: none. */
  timeout?: number
  /** Higher runs first. Default: the session's. */
  priority?: number
  /** Key of a fair share. Default: the session's. */
  client?: string
  /** Weight of the client's share; 0: the session's. */
  weight?: number
  /** Cancels the generation with the signal's reason. */
  signal?: AbortSignal
}

export interface StreamOptions extends GenerateOptions {
  /** Options of the session. */
  session?: SessionOptions
}

export interface TokenLogprob {
  token: number
  logprob: number
}

/** A token's text: whole characters, empty while one is incomplete. */
export class Piece {
  private constructor()
  readonly text: string
  /** null: only in a last piece without a token. */
  readonly token: number | null
  /** Why it is the last piece; null: it is not. */
  readonly finish: 'end' | 'max_tokens' | 'stop' | 'banned' | null
  /** With `logprobs`. */
  readonly logprob: number | null
  readonly top: readonly TokenLogprob[]
  toString(): string
}

/** A running continuation: `for await` iterates over its pieces. It is queued when it is made.
 * `cancel`, its signal, `close`, leaving the loop, and the garbage collector cancel it. The session
 * can then continue from where it was. */
export class Generation implements AsyncIterableIterator<Piece> {
  private constructor()
  [Symbol.asyncIterator](): this
  next(): Promise<IteratorResult<Piece, undefined>>
  return(value?: undefined): Promise<IteratorResult<Piece, undefined>>
  /** The rest of the text, joined. */
  text(): Promise<string>
  /** Ends it with CancelledError for its readers. */
  cancel(): void
  /** Cancels it and releases the session, which is usable when the promise resolves. */
  close(): Promise<void>
  /** How much of the prompt was reused. */
  stats(): Promise<RequestStats>
  /** Seed of the answer; as the option `seed` it gives the same answer again. */
  seed(): Promise<number>
  [Symbol.asyncDispose](): Promise<void>
}

/** Serves many sessions of a model: a queue, a scheduler, a KV cache with a budget. The first
 * awaited generation starts a thread for it, one for all requests. */
export class Engine extends TenonObject {
  static create(model: Model, options?: EngineOptions): Promise<Engine>
  /** The model that the engine serves. */
  get model(): Model
  /** A new session in this engine, with an empty text. */
  session(options?: SessionOptions): Promise<Session>
  /** Continues a text in a session of its own. */
  stream(prompt: string | Tokens, options?: StreamOptions): Generation
  /** Counters and current values. */
  stats(): EngineStats
  /** The statistics as Prometheus text. */
  statsText(): Promise<string>
}

/** A text of tokens and what a model computed for it. One call at a time (StateError), except
 * `cancel` and `close`. */
export class Session extends TenonObject {
  static create(model: Model, options?: OpenOptions): Promise<Session>
  /** The model of the text. */
  get model(): Model
  /** Appends text or tokens. addSpecial: by default if the session is empty. */
  append(text: string | Tokens, options?: EncodeOptions): Promise<void>
  /** Encoder-decoders only (T5): sets the source text that the encoder reads. */
  setSource(text: string | Tokens, options?: { addSpecial?: boolean }): Promise<void>
  /** Appends a text or tokens and continues it. Until it has ended or is closed, the session
   * refuses other calls except cancel and close. */
  generate(text?: string | Tokens | null, options?: GenerateOptions): Generation
  /** Generates one token: a step of `generate`, for loops of your own. */
  next(sampler?: Sampler | null): Promise<Piece>
  /** `count` continuations, and the index of the likeliest, with which the text continues. */
  bestOf(count: number, options?: { sampler?: Sampler | null, maxTokens?: number }):
    Promise<{ candidates: Candidate[], best: number }>
  /** Computes queued tokens. progress: true cancels with CancelledError; its exception is thrown
   * here. */
  prefill(options?: { progress?: (fraction: number) => boolean | void, signal?: AbortSignal }): Promise<void>
  /** Logits of the next token: [vocabulary]. */
  logits(): Promise<Float32Array>
  /** Logits that the last token of `next` was drawn from: [vocabulary]. */
  drawnLogits(): Promise<Float32Array>
  /** Appends tokens and calls onLogits after each: [vocabulary]. True cancels with CancelledError.
   */
  evaluate(tokens: Tokens, onLogits: (row: number, logits: Float32Array) => boolean | void): Promise<void>
  /** Scores continuations, texts or arrays of tokens: for each the log-probabilities of its tokens,
   * whose sum is that of the whole. The text does not change. */
  score(continuations: readonly string[] | readonly Tokens[],
    options?: { parseSpecial?: boolean, timeout?: number }): Promise<Float32Array[]>
  /** A second session with this text, sharing what was computed. */
  fork(): Promise<Session>
  /** Forgets everything from `position` on. */
  rewind(position: number): Promise<void>
  /** Saves text and cache to bytes. */
  save(): Promise<Uint8Array>
  /** Saves text and cache to a file. */
  save(path: FilePath): Promise<void>
  /** Replaces the text by a saved session: bytes, or a path. textOnly: recomputes it if the cache
   * differs. */
  restore(saved: Uint8Array | ArrayBuffer | FilePath, options?: { textOnly?: boolean }): Promise<void>
  /** Number of tokens in the text. */
  get position(): number
  /** Most tokens of the text. */
  get context(): number
  /** Tokens of the text. */
  get tokens(): Int32Array
  /** Seed of the latest answer; as the option `seed` it gives that answer again. */
  get seed(): number
  /** Hands out text held back because it may begin a stop text. */
  takeHeld(): string
  /** Ends the running call, or the next one, with CancelledError. */
  cancel(): void
  /** Tokens and seconds so far. */
  stats(): SessionStats
}

/** Draws tokens from logits. One call at a time; a generation copies it when it begins. */
export class Sampler extends TenonObject {
  static create(options?: SamplerOptions): Promise<Sampler>
  /** Changes one parameter. */
  set(name: keyof SamplerOptions, value: number): void
  /** Adds to a token's logit; -Infinity forbids the token. */
  setBias(token: number, bias: number): void
  /** Ends generation at this token. */
  addStopToken(token: number): void
  /** Makes repetitions counted by dryMultiplier and its like end at tokens that hold this text. */
  addDryBreaker(tokenizer: Tokenizer, text: string): Promise<void>
  /** Allows only texts of the grammar from now on; null: any text. */
  setGrammar(grammar: Grammar | null, tokenizer?: Tokenizer | null): Promise<void>
  /** Sets how many tokens may still be drawn. */
  setTokenLimit(tokens: number): void
  /** Seed of the draws: its option, or for -1 the seed of the latest answer. */
  get seed(): number
  /** Restores the sampler to its creation. */
  reset(): Promise<void>
  /** Takes back the last draws. */
  rollBack(draws: number): Promise<void>
  /** Draws from logits [vocabulary]. position: key of the random number. Default: the history's
   * length. */
  sample(logits: Float32Array | readonly number[], options?: { history?: Tokens, position?: number }): Promise<number>
}

/** Log-probabilities under logits [vocabulary]: those of tokens, and the `top` likeliest. */
export function logprobs(logits: Float32Array | readonly number[], options?: { tokens?: Tokens, top?: number }):
  Promise<{ logprobs: Float32Array, top: TokenLogprob[] }>

/** A compiled grammar: the texts that may be generated. */
export class Grammar extends TenonObject {
  /** kind: constants.GRAMMAR_*. */
  static create(kind: number, text: string): Promise<Grammar>
  /** Allows documents that are valid by a JSON Schema. */
  static jsonSchema(schema: string | object | boolean): Promise<Grammar>
  /** Allows texts of the rule `root`, in GBNF. */
  static gbnf(rules: string): Promise<Grammar>
  /** Allows texts of the rule `start`, in Lark. */
  static lark(rules: string): Promise<Grammar>
  /** Allows texts that a regular expression matches as a whole: its source, or a RegExp without
   * flags. */
  static regex(pattern: string | RegExp): Promise<Grammar>
  /** Allows one of several texts. */
  static choices(texts: Iterable<string>): Promise<Grammar>
  /** True if it is a complete text of the grammar. */
  accepts(text: string): Promise<boolean>
  /** A matcher, for loops that draw by themselves. */
  matcher(tokenizer: Tokenizer): Promise<Matcher>
}

/** A position in a text of a grammar. One call at a time. */
export class Matcher extends TenonObject {
  /** A second matcher at the same position. */
  fork(): Promise<Matcher>
  /** True if the token may come next. */
  allows(token: number): Promise<boolean>
  /** Mask of all tokens that may come next: token t is bit t % 64 of word t / 64. */
  mask(): Promise<BigUint64Array>
  /** Accepts the next token; StateError if it cannot follow. */
  accept(token: number): Promise<void>
  /** Accepts text; false if the grammar does not allow it. */
  acceptText(text: string): Promise<boolean>
  /** Takes back the last tokens. */
  rollBack(tokens: number): Promise<void>
  /** Returns to the beginning. */
  reset(): Promise<void>
  /** Limits the text to that many more tokens. */
  setTokenLimit(tokens: number): Promise<void>
  /** complete: the text so far is a text of the grammar; ended: only an end token can follow. */
  state(): Promise<{ complete: boolean, ended: boolean }>
  /** The text that must come next; often empty. */
  forcedText(): Promise<string>
}

export interface ToolCall {
  id: string
  type: 'function'
  function: { name: string, arguments: string }
}

/** A message of a conversation; answers of Reply are messages, too. */
export interface Message {
  role: string
  content?: string | null | readonly { type: string, [member: string]: unknown }[]
  reasoning_content?: string
  tool_calls?: readonly ToolCall[]
  tool_call_id?: string
  name?: string
}

/** A conversation for Chat; section 14 of tenon.h lists the members. Others become variables of the
 * template. */
export interface Conversation {
  messages: readonly Message[]
  tools?: readonly { type: 'function', function: { name: string, description?: string, parameters?: object } }[]
  tool_choice?: 'auto' | 'required' | 'none' | { type: 'function', function: { name: string } }
  parallel_tool_calls?: boolean
  response_format?: { type: 'json_object' | 'text' } | { type: 'json_schema', json_schema: { schema: object } }
  add_generation_prompt?: boolean
  now?: string
  variables?: Record<string, unknown>
  [variable: string]: unknown
}

/** A piece of an answer. */
export interface ChatDelta extends Omit<RawChatDelta, 'kind'> {
  readonly kind: 'content' | 'reasoning' | 'callBegin' | 'arguments' | 'callEnd' | 'callRetract'
}

/** Turns conversations into prompts, by a model's template or yours, and generates answers. */
export class Chat extends TenonObject {
  /** model: null with the option `template`, for text only. */
  static create(model?: Model | null, options?: ChatOptions): Promise<Chat>
  /** Runs one turn and returns the answer as a message, to be appended to the conversation's.
   * session: the session of this conversation, so that its computed tokens are reused. Default: a
   * new one. */
  answer(conversation: Conversation | readonly Message[] | string, options?: AnswerOptions): Promise<Message>
  /** Runs one turn and streams it: `for await` iterates over the deltas. */
  stream(conversation: Conversation | readonly Message[] | string, options?: AnswerOptions): ChatAnswer
  /** The format by which answers are parsed. */
  get format(): string
  /** The prompt as text. */
  render(conversation: Conversation | string): Promise<string>
  /** The prompt as tokens, for Session.generate. */
  encode(conversation: Conversation | string): Promise<Int32Array>
  /** Grammar of the answer; null if any answer may come. */
  grammar(conversation: Conversation | string): Promise<Grammar | null>
  /** Attaches the grammar of the answer to a sampler; false if any answer may come. */
  constrain(conversation: Conversation | string, sampler: Sampler): Promise<boolean>
  /** Begins to parse the answer. */
  reply(conversation: Conversation | string): Promise<Reply>
}

/** Options of a chat's answer. */
export interface AnswerOptions
  extends Omit<GenerateOptions, 'sampler' | 'grammar' | 'addSpecial' | 'parseSpecial' | 'ignoreEnd'> {
  /** The session of this conversation. Default: a new one. */
  session?: Session | null
  /** Makes the answer JSON by this schema. */
  schema?: string | object | boolean
  /** Replaces the tools of the conversation. */
  tools?: Conversation['tools']
  /** Drops the oldest turns if the conversation leaves no room for the answer. */
  dropOldest?: boolean
}

/** A running answer to a conversation: `for await` iterates over its deltas. */
export class ChatAnswer implements AsyncIterableIterator<ChatDelta> {
  private constructor()
  [Symbol.asyncIterator](): this
  next(): Promise<IteratorResult<ChatDelta, undefined>>
  return(value?: undefined): Promise<IteratorResult<ChatDelta, undefined>>
  /** The answer as a message, to be appended to the conversation's. Reads the deltas that are left.
   */
  message(): Promise<Message>
  /** Seed of the answer; as the option `seed` it gives the same answer again. */
  seed(): Promise<number>
  /** Ends it with CancelledError for its readers. */
  cancel(): void
  /** Cancels it and releases the session, which is usable when the promise resolves. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A parser of one answer. */
export class Reply extends TenonObject {
  /** Takes the next token or text; returns the parsed parts. */
  push(part: number | string): ChatDelta[]
  /** Takes a piece of a generation; text held back for a stop text waits. */
  pushPiece(piece: Piece): ChatDelta[]
  /** Ends the answer. */
  finish(): ChatDelta[]
  /** The answer so far as a message of a conversation. */
  message(): Message
}

/** Rows of numbers, one after another in `data`: an array of rows, without a copy. */
export interface Rows extends ReadonlyArray<Float32Array> {}
export class Rows {
  private constructor()
  /** [rows, dimensions] */
  readonly data: Float32Array
  readonly dimensions: number
  /** Rows per text, [texts]; 1 unless the pooling is none. */
  readonly counts: readonly number[]
}

/** Turns texts into rows of numbers. */
export class Embedder extends TenonObject {
  static create(model: Model, options?: EmbedderOptions): Promise<Embedder>
  /** Pooling, dimensions, limits. */
  get info(): EmbedderInfo
  /** Numbers per row. */
  get dimensions(): number
  /** Names of the classifier's labels. */
  get labels(): string[]
  /** Rows of texts, or of arrays of tokens. timeout: seconds. */
  embed(texts: readonly string[] | readonly Tokens[],
    options?: { role?: 'plain' | 'query' | 'document', timeout?: number }): Promise<Rows>
  /** Scores how well each document answers the query; more is better. */
  rank(query: string, documents: readonly string[] | readonly Tokens[], options?: { timeout?: number }):
    Promise<Float32Array>
  /** Ends running calls with CancelledError. */
  cancel(): void
}

export interface ServerOptions extends Omit<ServerFields, 'apiKeys'> {
  /** Per key: "KEY [NAME] [weight=W] [requests=N]"; in a text, one per line. Default: no key is
   * required. */
  apiKeys?: string | readonly string[]
  /** Gets lines of JSON up to logLevel, until the server has been closed. */
  log?: (level: number, line: string) => void
}

export interface ServerFileOptions extends Omit<ServerFileFields, 'path' | 'modelOptions' | 'engineOptions'> {
  modelOptions?: ModelOptions
  engineOptions?: EngineOptions
}

/** Serves models over HTTP through OpenAI's and Anthropic's interfaces, and answers the program's
 * own requests without a socket. The order is: add, listen, start, stop, close. A server that
 * listens keeps the program alive, like one of node:http. Needs libtenon-server, which is in the
 * package if its build had it (else UnsupportedError). */
export class Server extends TenonObject {
  static create(options?: ServerOptions): Promise<Server>
  /** Serves a model, with engine options, or an engine, under a name. Both may be closed before the
   * server. context: most tokens of a request's prompt and answer. */
  add(name: string, served: Model | Engine, options?: EngineOptions & { context?: number }): Promise<void>
  /** Serves a model file that is loaded when a request asks for it. */
  addFile(name: string, path: FilePath, options?: ServerFileOptions): Promise<void>
  /** Accepts connections at an address once started; returns the port. port 0, the default: any
   * free one. host: by default only this machine. */
  listen(host?: string, port?: number): Promise<number>
  /** Accepts connections at a Unix socket. */
  listenUnix(path: FilePath): Promise<void>
  /** Starts answering, on threads of its own. threads: by default as many as are useful. */
  start(options?: { threads?: number }): Promise<void>
  /** Takes no more requests, gives running answers that many seconds, then cancels them. The server
   * cannot run again. May be called again meanwhile, with less time. */
  stop(seconds?: number): Promise<void>
  /** Sends a request without a socket, once started (StateError before); resolves with the status.
   * body: text, bytes, or values for JSON. */
  request(method: string, target: string, body?: unknown, options?: { apiKey?: string, signal?: AbortSignal }):
    Promise<Answer>
  /** request() with the signature of the global fetch, for clients that take such a function. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  /** unref lets the program end although the server listens; ref does not. */
  unref(): this
  ref(): this
}

/** A server's answer to a request of the program itself: `for await` iterates over its bytes.
 * `close`, leaving the loop, the signal and the garbage collector cancel it. */
export class Answer extends TenonObject implements AsyncIterableIterator<Uint8Array> {
  readonly status: number
  readonly headers: Headers
  [Symbol.asyncIterator](): this
  next(): Promise<IteratorResult<Uint8Array, undefined>>
  return(value?: undefined): Promise<IteratorResult<Uint8Array, undefined>>
  /** The rest of the body. */
  bytes(): Promise<Uint8Array>
  text(): Promise<string>
  json(): Promise<any>
}

/** An error of the library. */
export class TenonError extends Error {
  /** Its name in tenon.h: 'FORMAT', 'BUSY', ...; for an error of the operating system, its name:
   * 'ENOENT'. */
  readonly code: string
  /** The operating system's number, as in errors of node:fs: -2 for a missing file. */
  readonly errno?: number
  /** The file of the error. */
  readonly path?: string
}
/** A file or a text is malformed. */
export class FormatError extends TenonError { readonly code: 'FORMAT' }
/** Well formed, but not supported by this library; also a libtenon that does not fit. */
export class UnsupportedError extends TenonError { readonly code: 'UNSUPPORTED' }
/** Larger than a stated limit. */
export class LimitError extends TenonError { readonly code: 'LIMIT' }
/** The operating system failed. */
export class InputOutputError extends TenonError {}
/** An allocation failed, or a budget is used up. */
export class NoMemoryError extends TenonError { readonly code: 'NO_MEMORY' }
/** An argument is invalid. */
export class ArgumentError extends TenonError { readonly code: 'ARGUMENT' }
/** A grammar, schema or pattern is refused. */
export class GrammarError extends TenonError { readonly code: 'GRAMMAR' }
/** A chat template is refused or failed. */
export class TemplateError extends TenonError { readonly code: 'TEMPLATE' }
/** The engine's queue is full: try again later. */
export class BusyError extends TenonError { readonly code: 'BUSY' }
/** The call was cancelled. */
export class CancelledError extends TenonError { readonly code: 'CANCELLED' }
/** A deadline passed. */
export class DeadlineError extends TenonError { readonly code: 'DEADLINE' }
/** A backend plugin was refused or failed. */
export class PluginError extends TenonError { readonly code: 'PLUGIN' }
/** The object cannot do this now: it is closed, or in use by another call. */
export class StateError extends TenonError { readonly code: 'STATE' }
/** A defect of the library: please report it. */
export class InternalError extends TenonError { readonly code: 'INTERNAL' }

/** Path of the library in use; loads it. */
export function libraryPath(): string
/** Names the libtenon.so to use. Call it before anything else, and once per process; StateError
 * afterwards. */
export function useLibrary(path: string): void
/** Version of the library. */
export function version(): string
