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
/** What one value of a model's metadata may be. */
export type MetadataValue = string | number | bigint | boolean
/** A path of a file: a text, or a file: URL. */
export type FilePath = string | { readonly href: string }

/** Something of the library. `close` frees it, at any time and in any order; so does `using`, and the garbage
 * collector. Later calls are StateError. */
declare abstract class TenonObject {
  protected constructor()
  /** Whether it was closed. */
  get closed(): boolean
  /** Frees what is behind the object when the calls under way on it return, which it ends. The promise is of that,
   * and need not be awaited. */
  close(): Promise<void>
  [Symbol.dispose](): void
  [Symbol.asyncDispose](): Promise<void>
}

export interface LoadOptions extends ModelOptions {
  /** Is told how far it is, 0 to 1; true ends it with CancelledError, what it throws comes out of the call. */
  progress?: (fraction: number) => boolean | void
  /** Gets lines of constants.LOG_* up to logLevel, as long as the model or a session of it lives. */
  log?: (level: number, line: string) => void
  logLevel?: number
  /** Ends it. */
  signal?: AbortSignal
}

/** A model. Any number of sessions; `close` may come before they end. */
export class Model extends TenonObject {
  /** Opens a file, or all parts of a split one. */
  static open(path: FilePath | readonly FilePath[], options?: LoadOptions): Promise<Model>
  /** The same from the bytes of a file, which are copied. */
  static fromBytes(bytes: Uint8Array | ArrayBuffer, options?: LoadOptions): Promise<Model>
  /** From part of an open file; size 0: to its end. The descriptor may be closed afterwards. */
  static fromDescriptor(fd: number, options?: LoadOptions & { offset?: number, size?: number }): Promise<Model>
  /** Name, architecture, sizes. */
  get info(): ModelInfo
  /** The model's own, which closes with it. */
  get tokenizer(): Tokenizer
  /** The keys of the file's metadata, in its order. */
  get metadataKeys(): string[]
  /** The value of a key, an array where it is one, undefined where there is none. */
  metadata(key: string): Promise<MetadataValue | MetadataValue[] | undefined>
  /** The tensors of the file, in its order. */
  tensors(): Promise<Tensor[]>
  /** What the model with one session takes; 0: of the default context. */
  memory(context?: number): Promise<Memory>
  /** How the model runs here. */
  execution(): Promise<Execution>
  /** This machine as planning sees it; speed: runs some layers, for seconds. */
  measure(options?: { speed?: boolean }): Promise<Hardware>
  /** What so many sessions will take, and how fast they will be. */
  plan(hardware: Hardware, options?: { context?: number, sessions?: number }): Promise<Plan>
  /** The engine that sessions of the model are in unless they name another; made at first use. */
  engine(): Promise<Engine>
  /** An empty text. */
  session(options?: OpenOptions): Promise<Session>
  /** Continues a text in a session of its own, in the model's engine. */
  stream(prompt: string | Tokens, options?: StreamOptions): Generation
}

export interface EncodeOptions {
  /** The begin (and end) token where the model wants it. */
  addSpecial?: boolean
  /** Spelled control tokens become them: not for user input. */
  parseSpecial?: boolean
}

/** Text to tokens and back. From a tokenizer.json or a model file, or part of a model, with which it closes. */
export class Tokenizer extends TenonObject {
  static open(path: FilePath): Promise<Tokenizer>
  static fromBytes(bytes: Uint8Array | ArrayBuffer): Promise<Tokenizer>
  /** The tokens of a text. */
  encode(text: string, options?: EncodeOptions): Promise<Int32Array>
  /** The same at once, for short texts. */
  encodeSync(text: string, options?: EncodeOptions): Int32Array
  /** The bytes of tokens, which may begin or end inside a character. */
  decodeBytes(tokens: Tokens, options?: { special?: boolean }): Promise<Uint8Array>
  /** The same as text; what is no character becomes U+FFFD. special: control tokens are shown. */
  decode(tokens: Tokens, options?: { special?: boolean }): Promise<string>
  /** The same at once, for a few tokens. */
  decodeSync(tokens: Tokens, options?: { special?: boolean }): string
  /** How many tokens there are. */
  get size(): number
  /** What a token is. */
  info(token: number): TokenInfo
  /** The token that the file spells so. */
  find(spelling: string): number | null
  get beginToken(): number | null
  get endToken(): number | null
}

export interface OpenOptions extends SessionOptions {
  /** Unless given, the model's own. */
  engine?: Engine
}

/** What a generation may be told besides its text. */
export interface GenerateOptions {
  /** At most; 0: as many as the context holds. */
  maxTokens?: number
  /** Unless given, one with the defaults and those of `sampling`. */
  sampler?: Sampler | null
  /** Options of a sampler, in place of one: { temperature: 0 }. */
  sampling?: SamplerOptions
  /** Texts of it only. */
  grammar?: Grammar | null
  /** Begin token before the text; unless given, when the session is empty. */
  addSpecial?: boolean
  /** Spelled control tokens in the text become them: not for user input. */
  parseSpecial?: boolean
  /** An end token is a token like any other. */
  ignoreEnd?: boolean
  /** Pieces have a logprob, and those of so many likeliest tokens. */
  logprobs?: number
  /** Seconds to the end: DeadlineError; 0: none. */
  timeout?: number
  /** Higher runs first; unless given, the session's. */
  priority?: number
  /** Requests of one client share what its weight gives; unless given, the session's. */
  client?: string
  /** Of the client; 0: the session's. */
  weight?: number
  /** Ends it, with the signal's reason. */
  signal?: AbortSignal
}

export interface StreamOptions extends GenerateOptions {
  /** Of the session. */
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
  /** null: only in a last piece that brings none. */
  readonly token: number | null
  /** Why it is the last one; null: it is not. */
  readonly finish: 'end' | 'max_tokens' | 'stop' | 'banned' | null
  /** With `logprobs`. */
  readonly logprob: number | null
  readonly top: readonly TokenLogprob[]
  toString(): string
}

/** A continuation under way: `for await` iterates over its pieces. It begins to wait in the queue when it is made,
 * and is cancelled by `cancel`, its signal, `close`, leaving the loop, or the garbage collector. The session can
 * then go on from where it was. */
export class Generation implements AsyncIterableIterator<Piece> {
  private constructor()
  [Symbol.asyncIterator](): this
  next(): Promise<IteratorResult<Piece, undefined>>
  return(value?: undefined): Promise<IteratorResult<Piece, undefined>>
  /** All that comes, joined. */
  text(): Promise<string>
  /** Ends it with CancelledError for who iterates. */
  cancel(): void
  /** Ends it, and lets the session go, which can be used when the promise resolves. */
  close(): Promise<void>
  /** How much of the prompt was reused. */
  stats(): Promise<RequestStats>
  /** That the answer is drawn with: as the option `seed` it gives the same answer again. */
  seed(): Promise<number>
  [Symbol.asyncDispose](): Promise<void>
}

/** Serves many sessions of a model: a queue, a scheduler, a KV cache with a budget. The first generation that is
 * waited for gives it a thread, one for all requests. */
export class Engine extends TenonObject {
  static create(model: Model, options?: EngineOptions): Promise<Engine>
  /** Whose engine it is. */
  get model(): Model
  /** An empty text in this engine. */
  session(options?: SessionOptions): Promise<Session>
  /** Continues a text in a session of its own. */
  stream(prompt: string | Tokens, options?: StreamOptions): Generation
  /** What it has done, and does now. */
  stats(): EngineStats
  /** The same for Prometheus. */
  statsText(): Promise<string>
}

/** A text of tokens and what a model computed for it. One call at a time (StateError), but `cancel` and `close`. */
export class Session extends TenonObject {
  static create(model: Model, options?: OpenOptions): Promise<Session>
  /** Whose text it is. */
  get model(): Model
  /** Adds text or tokens. addSpecial: unless given, when the session is empty. */
  append(text: string | Tokens, options?: EncodeOptions): Promise<void>
  /** Of a model with an encoder (T5): the text that it reads and this session's text answers to. */
  setSource(text: string | Tokens, options?: { addSpecial?: boolean }): Promise<void>
  /** Appends a text or tokens and continues it. Until it has ended or is closed the session refuses other calls but
   * cancel and close. */
  generate(text?: string | Tokens | null, options?: GenerateOptions): Generation
  /** One token: the loop of `generate` in your hands. */
  next(sampler?: Sampler | null): Promise<Piece>
  /** `count` continuations, and the number of the likeliest, with which the text goes on. */
  bestOf(count: number, options?: { sampler?: Sampler | null, maxTokens?: number }):
    Promise<{ candidates: Candidate[], best: number }>
  /** Computes what is queued. progress: true ends it with CancelledError, what it throws comes out of here. */
  prefill(options?: { progress?: (fraction: number) => boolean | void, signal?: AbortSignal }): Promise<void>
  /** Of the next token: [vocabulary]. */
  logits(): Promise<Float32Array>
  /** Those that the last token of `next` was drawn from. */
  drawnLogits(): Promise<Float32Array>
  /** Appends tokens and calls onLogits after each: [vocabulary]. True ends it with CancelledError. */
  evaluate(tokens: Tokens, onLogits: (row: number, logits: Float32Array) => boolean | void): Promise<void>
  /** How likely texts, or arrays of tokens, are after the text: for each the logprobs of its tokens, whose sum is
   * that of the whole. The text stays as it is. */
  score(continuations: readonly string[] | readonly Tokens[],
    options?: { parseSpecial?: boolean, timeout?: number }): Promise<Float32Array[]>
  /** A second session with the same text, sharing what was computed. */
  fork(): Promise<Session>
  /** Forgets everything from `position` on. */
  rewind(position: number): Promise<void>
  /** Saves text and cache to bytes. */
  save(): Promise<Uint8Array>
  /** Saves them to a file. */
  save(path: FilePath): Promise<void>
  /** Puts what was saved in place of the text: bytes, or a path. textOnly: where the cache differs, compute it
   * again. */
  restore(saved: Uint8Array | ArrayBuffer | FilePath, options?: { textOnly?: boolean }): Promise<void>
  /** Tokens in the text. */
  get position(): number
  /** The most it can hold. */
  get context(): number
  /** Those of the text. */
  get tokens(): Int32Array
  /** That the latest answer was drawn with: as the option `seed` it gives that answer again. */
  get seed(): number
  /** What is held back because it may begin a stop text. */
  takeHeld(): string
  /** Ends the call under way, or the next one, with CancelledError. */
  cancel(): void
  /** Tokens and seconds. */
  stats(): SessionStats
}

/** Turns logits into tokens. One call at a time; a generation copies what it needs when it begins. */
export class Sampler extends TenonObject {
  static create(options?: SamplerOptions): Promise<Sampler>
  /** Changes one parameter. */
  set(name: keyof SamplerOptions, value: number): void
  /** Adds to the logit of a token; -Infinity forbids it. */
  setBias(token: number, bias: number): void
  /** Generation ends with this token. */
  addStopToken(token: number): void
  /** Repetitions that dryMultiplier and its like look for end at tokens that hold this text. */
  addDryBreaker(tokenizer: Tokenizer, text: string): Promise<void>
  /** From now on texts of the grammar only; null: any. */
  setGrammar(grammar: Grammar | null, tokenizer?: Tokenizer | null): Promise<void>
  /** How many tokens may still be drawn. */
  setTokenLimit(tokens: number): void
  /** That it draws with: its option, or of -1 that of the latest answer it drew. */
  get seed(): number
  /** As it was made. */
  reset(): Promise<void>
  /** Takes the last draws back. */
  rollBack(draws: number): Promise<void>
  /** Draws from [vocabulary] logits. position: key of the random number; unless given, how long the history is. */
  sample(logits: Float32Array | readonly number[], options?: { history?: Tokens, position?: number }): Promise<number>
}

/** Log-probabilities under logits [vocabulary]: those of tokens, and the `top` likeliest. */
export function logprobs(logits: Float32Array | readonly number[], options?: { tokens?: Tokens, top?: number }):
  Promise<{ logprobs: Float32Array, top: TokenLogprob[] }>

/** Which texts may be generated. */
export class Grammar extends TenonObject {
  /** kind: constants.GRAMMAR_*. */
  static create(kind: number, text: string): Promise<Grammar>
  /** Documents that are valid by a JSON Schema. */
  static jsonSchema(schema: string | object | boolean): Promise<Grammar>
  /** Texts of the rule `root`, in GBNF. */
  static gbnf(rules: string): Promise<Grammar>
  /** Texts of the rule `start`, in Lark. */
  static lark(rules: string): Promise<Grammar>
  /** Texts that a regular expression matches as a whole: its source, or a RegExp without flags. */
  static regex(pattern: string | RegExp): Promise<Grammar>
  /** One of several texts. */
  static choices(texts: Iterable<string>): Promise<Grammar>
  /** Whether it is a complete text of the grammar. */
  accepts(text: string): Promise<boolean>
  /** For loops that draw by themselves. */
  matcher(tokenizer: Tokenizer): Promise<Matcher>
}

/** Where a text of a grammar has come to. One call at a time. */
export class Matcher extends TenonObject {
  /** A second one at the same place. */
  fork(): Promise<Matcher>
  /** Whether the token may come next. */
  allows(token: number): Promise<boolean>
  /** All tokens that may come next: token t is bit t % 64 of word t / 64. */
  mask(): Promise<BigUint64Array>
  /** Takes the next token; StateError for one that cannot follow. */
  accept(token: number): Promise<void>
  /** Takes text, if the grammar goes on so. */
  acceptText(text: string): Promise<boolean>
  /** Takes the last tokens back. */
  rollBack(tokens: number): Promise<void>
  /** Back to the beginning. */
  reset(): Promise<void>
  /** At most so many tokens may still come. */
  setTokenLimit(tokens: number): Promise<void>
  /** complete: the text so far is one of the grammar; ended: nothing can follow. */
  state(): Promise<{ complete: boolean, ended: boolean }>
  /** The text that must come next; often empty. */
  forcedText(): Promise<string>
}

export interface ToolCall {
  id: string
  type: 'function'
  function: { name: string, arguments: string }
}

/** A message of a conversation; the answers of Reply are of this kind, too. */
export interface Message {
  role: string
  content?: string | null | readonly { type: string, [member: string]: unknown }[]
  reasoning_content?: string
  tool_calls?: readonly ToolCall[]
  tool_call_id?: string
  name?: string
}

/** What Chat takes; section 14 of tenon.h tells the members. Others become variables of the template. */
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

/** Turns conversations into prompts, by the template of a model or one of yours. */
export class Chat extends TenonObject {
  /** model: null with the option `template`, for text only. */
  static create(model?: Model | null, options?: ChatOptions): Promise<Chat>
  /** One turn: the answer as a message, to be put after the conversation's. session: the one of this conversation, so
   * that what it holds of it is not computed again; unless given, one of its own. */
  answer(conversation: Conversation | readonly Message[] | string, options?: AnswerOptions): Promise<Message>
  /** The same as it comes: `for await` iterates over the deltas. */
  stream(conversation: Conversation | readonly Message[] | string, options?: AnswerOptions): ChatAnswer
  /** The family by which answers are read. */
  get format(): string
  /** The prompt as text. */
  render(conversation: Conversation | string): Promise<string>
  /** The prompt as tokens, for Session.generate. */
  encode(conversation: Conversation | string): Promise<Int32Array>
  /** What the answer may be; null: anything. */
  grammar(conversation: Conversation | string): Promise<Grammar | null>
  /** Sets that grammar; whether there is one. */
  constrain(conversation: Conversation | string, sampler: Sampler): Promise<boolean>
  /** Begins to read the answer. */
  reply(conversation: Conversation | string): Promise<Reply>
}

/** What the answer of a chat may be told. */
export interface AnswerOptions
  extends Omit<GenerateOptions, 'sampler' | 'grammar' | 'addSpecial' | 'parseSpecial' | 'ignoreEnd'> {
  /** The one of this conversation; unless given, one of its own. */
  session?: Session | null
  /** The answer is JSON by it. */
  schema?: string | object | boolean
  /** In place of those of the conversation. */
  tools?: Conversation['tools']
  /** Where the conversation leaves no room for the answer, its oldest turns are left out. */
  dropOldest?: boolean
}

/** The answer to a conversation, under way: `for await` iterates over its deltas. */
export class ChatAnswer implements AsyncIterableIterator<ChatDelta> {
  private constructor()
  [Symbol.asyncIterator](): this
  next(): Promise<IteratorResult<ChatDelta, undefined>>
  return(value?: undefined): Promise<IteratorResult<ChatDelta, undefined>>
  /** The answer as a message, to be put after the conversation's. Takes what has not been iterated over. */
  message(): Promise<Message>
  /** That it is drawn with: as the option `seed` it gives the same answer again. */
  seed(): Promise<number>
  /** Ends it with CancelledError for who iterates. */
  cancel(): void
  /** Ends it, and lets the session go, which can be used when the promise resolves. */
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** An answer that is read as it comes. */
export class Reply extends TenonObject {
  /** Takes the next token, or text; what it amounts to. */
  push(part: number | string): ChatDelta[]
  /** Takes a piece of a generation; what is held back for a stop text waits. */
  pushPiece(piece: Piece): ChatDelta[]
  /** The answer is complete. */
  finish(): ChatDelta[]
  /** The answer so far as a message of a conversation. */
  message(): Message
}

/** Rows of numbers, one after another in `data`: an array of them, without a copy. */
export interface Rows extends ReadonlyArray<Float32Array> {}
export class Rows {
  private constructor()
  /** [rows, dimensions] */
  readonly data: Float32Array
  readonly dimensions: number
  /** [texts]: how many rows each text has; 1 unless the pooling is none. */
  readonly counts: readonly number[]
}

/** Turns texts into rows of numbers. */
export class Embedder extends TenonObject {
  static create(model: Model, options?: EmbedderOptions): Promise<Embedder>
  /** Pooling, dimensions, limits. */
  get info(): EmbedderInfo
  /** Numbers of a row. */
  get dimensions(): number
  /** Of the classifier. */
  get labels(): string[]
  /** The rows of texts, or of arrays of tokens. timeout: seconds. */
  embed(texts: readonly string[] | readonly Tokens[],
    options?: { role?: 'plain' | 'query' | 'document', timeout?: number }): Promise<Rows>
  /** How well each document answers the query; more is better. */
  rank(query: string, documents: readonly string[] | readonly Tokens[], options?: { timeout?: number }):
    Promise<Float32Array>
  /** Ends the calls under way with CancelledError. */
  cancel(): void
}

export interface ServerOptions extends Omit<ServerFields, 'apiKeys'> {
  /** One each: "KEY [NAME] [weight=W] [requests=N]"; a text: one a line. Unless given, no key is asked for. */
  apiKeys?: string | readonly string[]
  /** Gets lines of JSON up to logLevel, until the server has been closed. */
  log?: (level: number, line: string) => void
}

export interface ServerFileOptions extends Omit<ServerFileFields, 'path' | 'modelOptions' | 'engineOptions'> {
  modelOptions?: ModelOptions
  engineOptions?: EngineOptions
}

/** Serves models over HTTP, in the manner of OpenAI and Anthropic, and answers the program's own requests without a
 * socket. The order is: add, listen, start, stop, close. A server that listens keeps the program alive, as one of
 * node:http does. Needs libtenon-server, which is in the package where its build had it (else UnsupportedError). */
export class Server extends TenonObject {
  static create(options?: ServerOptions): Promise<Server>
  /** Serves a model, with options of an engine, or an engine, under a name. Both may be closed before the server.
   * context: most tokens of a request's prompt and answer. */
  add(name: string, served: Model | Engine, options?: EngineOptions & { context?: number }): Promise<void>
  /** Serves the model of a file from when a request asks for it. */
  addFile(name: string, path: FilePath, options?: ServerFileOptions): Promise<void>
  /** Takes connections there once it was started; port 0, and unless given: any that is free. host: unless given,
   * this machine alone. The port. */
  listen(host?: string, port?: number): Promise<number>
  /** The same on a Unix socket. */
  listenUnix(path: FilePath): Promise<void>
  /** Runs it in threads of its own; threads: unless given, as many as there is use for. */
  start(options?: { threads?: number }): Promise<void>
  /** Takes no more requests, and waits so many seconds for the answers under way, then cancels them. It cannot run
   * again. May be called again meanwhile, with less time. */
  stop(seconds?: number): Promise<void>
  /** Asks it without a socket, once it was started (StateError before); comes with the status. body: text, bytes, or what
   * becomes JSON. */
  request(method: string, target: string, body?: unknown, options?: { apiKey?: string, signal?: AbortSignal }):
    Promise<Answer>
  /** The same in the manner of the global fetch: for clients that take such a function. */
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>
  /** The program may end although the server listens; and may not. */
  unref(): this
  ref(): this
}

/** What a server answers to a request of the program itself: `for await` brings the bytes as they come. `close`,
 * leaving the loop, the signal and the garbage collector cancel it. */
export class Answer extends TenonObject implements AsyncIterableIterator<Uint8Array> {
  readonly status: number
  readonly headers: Headers
  [Symbol.asyncIterator](): this
  next(): Promise<IteratorResult<Uint8Array, undefined>>
  return(value?: undefined): Promise<IteratorResult<Uint8Array, undefined>>
  /** The body, or what is left of it. */
  bytes(): Promise<Uint8Array>
  text(): Promise<string>
  json(): Promise<any>
}

/** What the library reports. */
export class TenonError extends Error {
  /** Its name in tenon.h: 'FORMAT', 'BUSY', ...; where the operating system failed, that of its error: 'ENOENT'. */
  readonly code: string
  /** Of the operating system, as in errors of node:fs: -2 for a missing file. */
  readonly errno?: number
  /** The file that it is about. */
  readonly path?: string
}
/** A file or a text is malformed. */
export class FormatError extends TenonError { readonly code: 'FORMAT' }
/** Well formed, but nothing this library can do; also a libtenon that does not fit. */
export class UnsupportedError extends TenonError { readonly code: 'UNSUPPORTED' }
/** Larger than a stated limit. */
export class LimitError extends TenonError { readonly code: 'LIMIT' }
/** The operating system failed. */
export class InputOutputError extends TenonError {}
/** An allocation failed, or a budget is used up. */
export class NoMemoryError extends TenonError { readonly code: 'NO_MEMORY' }
/** Something invalid was passed. */
export class ArgumentError extends TenonError { readonly code: 'ARGUMENT' }
/** A grammar, schema or pattern is refused. */
export class GrammarError extends TenonError { readonly code: 'GRAMMAR' }
/** A chat template is refused or failed. */
export class TemplateError extends TenonError { readonly code: 'TEMPLATE' }
/** The queue of the engine is full: try again later. */
export class BusyError extends TenonError { readonly code: 'BUSY' }
/** It was cancelled. */
export class CancelledError extends TenonError { readonly code: 'CANCELLED' }
/** The time that was given has passed. */
export class DeadlineError extends TenonError { readonly code: 'DEADLINE' }
/** A backend plugin was refused or failed. */
export class PluginError extends TenonError { readonly code: 'PLUGIN' }
/** The object cannot do this now: it is closed, or in use by another call. */
export class StateError extends TenonError { readonly code: 'STATE' }
/** A defect of the library: please report it. */
export class InternalError extends TenonError { readonly code: 'INTERNAL' }

/** The library in use; loads it. */
export function libraryPath(): string
/** Names the libtenon.so to use. Before anything else is called, and once for the process; StateError afterwards. */
export function useLibrary(path: string): void
/** Of the library. */
export function version(): string
