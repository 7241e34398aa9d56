// Sessions: texts in progress.
'use strict'

const constants = require('./constants.js')
const { now, later } = require('./native.js')
const { MADE_HERE, TenonObject, copied, named, withSignal } = require('./objects.js')
const { Generation, Piece } = require('./generation.js')
const { filePath, withPath } = require('./paths.js')

const handleOf = (object) => object?._handle ?? null

/** A text of tokens and what a model computed for it. One call at a time (StateError), except
 * `cancel` and `close`. */
class Session extends TenonObject {
  #model
  #engine

  constructor(key, handle, model, engine) {
    super(key, handle)
    this.#model = model
    this.#engine = engine
  }

  static async create(model, { engine, ...options } = {}) {
    engine ??= await model.engine()
    const handle = await later.engine_open_session(engine._handle, named(options))
    return new Session(MADE_HERE, handle, model, engine)
  }

  /** The model of the text. */
  get model() {
    return this.#model
  }

  get _engine() {
    return this.#engine
  }

  #flags({ addSpecial = this.position === 0, parseSpecial = false } = {}) {
    return (addSpecial ? constants.ADD_SPECIAL : 0) | (parseSpecial ? constants.PARSE_SPECIAL : 0)
  }

  /** Appends text or tokens. addSpecial: by default if the session is empty. */
  async append(text, options) {
    if (typeof text !== 'string') return later.session_append_tokens(this._handle, text)
    return later.session_append_text(this._handle, text, this.#flags(options))
  }

  /** Encoder-decoders only (T5): sets the source text that the encoder reads. */
  async setSource(text, { addSpecial = true } = {}) {
    if (typeof text !== 'string') return later.session_set_source_tokens(this._handle, text)
    return later.session_set_source_text(this._handle, text, addSpecial ? constants.ADD_SPECIAL : 0)
  }

  /** Appends a text or tokens and continues it: `for await` iterates over the pieces. Until it has
   * ended or is closed, the session refuses other calls except cancel and close. */
  generate(text = null, options = {}) {
    return new Generation(() => this, text, options)
  }

  /** Generates one token: a step of `generate`, for loops of your own. */
  async next(sampler = null) {
    return new Piece(await later.session_next(this._handle, handleOf(sampler)))
  }

  /** `count` continuations, and the index of the likeliest, with which the text continues. */
  async bestOf(count, { sampler = null, maxTokens = 0 } = {}) {
    const candidates = []
    const best = await later.session_best_of(this._handle, handleOf(sampler), count, maxTokens,
      (candidate) => void candidates.push(candidate))
    return { candidates, best }
  }

  /** Computes queued tokens. progress(fraction): true cancels with CancelledError; its exception is
   * thrown here. */
  async prefill({ progress, signal } = {}) {
    return withSignal(signal, progress, (watched) => later.session_prefill(this._handle, watched))
  }

  /** Logits of the next token: [vocabulary]. */
  async logits() {
    return later.session_logits(this._handle)
  }

  /** Logits that the last token of `next` was drawn from: [vocabulary]. */
  async drawnLogits() {
    return later.session_drawn_logits(this._handle)
  }

  /** Appends tokens and calls onLogits(row, logits) after each: [vocabulary]. True cancels with
   * CancelledError. */
  async evaluate(tokens, onLogits) {
    return later.session_evaluate(this._handle, tokens, onLogits)
  }

  /** Scores continuations, texts or arrays of tokens: for each the log-probabilities of its tokens,
   * whose sum is that of the whole. The text does not change. */
  async score(continuations, { parseSpecial = false, timeout = 0 } = {}) {
    const flags = parseSpecial ? constants.PARSE_SPECIAL : 0
    const { logprobs, counts } = await later.session_score(this._handle, continuations, flags, timeout)
    let end = 0
    return counts.map((count) => logprobs.subarray(end, end += count))
  }

  /** A second session with this text, sharing what was computed. */
  async fork() {
    return new Session(MADE_HERE, await later.session_fork(this._handle), this.#model, this.#engine)
  }

  /** Forgets everything from `position` on. */
  async rewind(position) {
    return later.session_rewind(this._handle, position)
  }

  /** Saves text and cache to a file; without a path returns bytes. */
  async save(path = null) {
    if (path === null) return later.session_save_buffer(this._handle)
    const named = filePath(path)
    return withPath([named], () => later.session_save(this._handle, named))
  }

  /** Replaces the text by a saved session: bytes, or a path. textOnly: recomputes it if the cache
   * differs. */
  async restore(saved, { textOnly = false } = {}) {
    const flags = textOnly ? constants.RESTORE_TEXT : 0
    if (ArrayBuffer.isView(saved) || saved instanceof ArrayBuffer) {
      return later.session_restore_buffer(this._handle, await copied(saved), flags)
    }
    const named = filePath(saved)
    return withPath([named], () => later.session_restore(this._handle, named, flags))
  }

  /** Number of tokens in the text. */
  get position() {
    return now.session_position(this._handle)
  }

  /** Most tokens of the text. */
  get context() {
    return now.session_context(this._handle)
  }

  /** Tokens of the text. */
  get tokens() {
    return now.session_tokens(this._handle)
  }

  /** Seed of the latest answer; as the option `seed` it gives that answer again. */
  get seed() {
    return now.session_seed(this._handle)
  }

  /** Hands out text held back because it may begin a stop text. */
  takeHeld() {
    return now.session_take_held(this._handle)
  }

  /** Ends the running call, or the next one, with CancelledError. */
  cancel() {
    now.session_cancel(this._handle)
  }

  /** Tokens and seconds so far. */
  stats() {
    return now.session_get_stats(this._handle)
  }
}

module.exports = { Session }
