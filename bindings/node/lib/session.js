// Sessions: texts under way.
'use strict'

const constants = require('./constants.js')
const { now, later } = require('./native.js')
const { MADE_HERE, TenonObject, copied, named, withSignal } = require('./objects.js')
const { Generation, Piece } = require('./generation.js')
const { filePath, withPath } = require('./paths.js')

const handleOf = (object) => object?._handle ?? null

/** A text of tokens and what a model computed for it. One call at a time (StateError), but `cancel` and `close`. */
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

  /** Whose text it is. */
  get model() {
    return this.#model
  }

  get _engine() {
    return this.#engine
  }

  #flags({ addSpecial = this.position === 0, parseSpecial = false } = {}) {
    return (addSpecial ? constants.ADD_SPECIAL : 0) | (parseSpecial ? constants.PARSE_SPECIAL : 0)
  }

  /** Adds text or tokens. addSpecial: unless given, when the session is empty. */
  async append(text, options) {
    if (typeof text !== 'string') return later.session_append_tokens(this._handle, text)
    return later.session_append_text(this._handle, text, this.#flags(options))
  }

  /** Of a model with an encoder (T5): the text that it reads and this session's text answers to. */
  async setSource(text, { addSpecial = true } = {}) {
    if (typeof text !== 'string') return later.session_set_source_tokens(this._handle, text)
    return later.session_set_source_text(this._handle, text, addSpecial ? constants.ADD_SPECIAL : 0)
  }

  /** Appends a text or tokens and continues it: `for await` iterates over what comes. Until it has ended or is
   * closed the session refuses other calls but cancel and close. */
  generate(text = null, options = {}) {
    return new Generation(() => this, text, options)
  }

  /** One token: the loop of `generate` in your hands. */
  async next(sampler = null) {
    return new Piece(await later.session_next(this._handle, handleOf(sampler)))
  }

  /** `count` continuations, and the number of the likeliest, with which the text goes on. */
  async bestOf(count, { sampler = null, maxTokens = 0 } = {}) {
    const candidates = []
    const best = await later.session_best_of(this._handle, handleOf(sampler), count, maxTokens,
      (candidate) => void candidates.push(candidate))
    return { candidates, best }
  }

  /** Computes what is queued. progress(fraction): true ends it with CancelledError, what it throws comes out of
   * here. */
  async prefill({ progress, signal } = {}) {
    return withSignal(signal, progress, (watched) => later.session_prefill(this._handle, watched))
  }

  /** Of the next token: [vocabulary]. */
  async logits() {
    return later.session_logits(this._handle)
  }

  /** Those that the last token of `next` was drawn from. */
  async drawnLogits() {
    return later.session_drawn_logits(this._handle)
  }

  /** Appends tokens and calls onLogits(row, logits) after each: [vocabulary]. True ends it with CancelledError. */
  async evaluate(tokens, onLogits) {
    return later.session_evaluate(this._handle, tokens, onLogits)
  }

  /** How likely texts, or arrays of tokens, are after the text: for each the logprobs of its tokens, whose sum is
   * that of the whole. The text stays as it is. */
  async score(continuations, { parseSpecial = false, timeout = 0 } = {}) {
    const flags = parseSpecial ? constants.PARSE_SPECIAL : 0
    const { logprobs, counts } = await later.session_score(this._handle, continuations, flags, timeout)
    let end = 0
    return counts.map((count) => logprobs.subarray(end, end += count))
  }

  /** A second session with the same text, sharing what was computed. */
  async fork() {
    return new Session(MADE_HERE, await later.session_fork(this._handle), this.#model, this.#engine)
  }

  /** Forgets everything from `position` on. */
  async rewind(position) {
    return later.session_rewind(this._handle, position)
  }

  /** Saves text and cache to a file, or without a path to bytes. */
  async save(path = null) {
    if (path === null) return later.session_save_buffer(this._handle)
    const named = filePath(path)
    return withPath([named], () => later.session_save(this._handle, named))
  }

  /** Puts what was saved in place of the text: bytes, or a path. textOnly: where the cache differs, compute it
   * again. */
  async restore(saved, { textOnly = false } = {}) {
    const flags = textOnly ? constants.RESTORE_TEXT : 0
    if (ArrayBuffer.isView(saved) || saved instanceof ArrayBuffer) {
      return later.session_restore_buffer(this._handle, await copied(saved), flags)
    }
    const named = filePath(saved)
    return withPath([named], () => later.session_restore(this._handle, named, flags))
  }

  /** Tokens in the text. */
  get position() {
    return now.session_position(this._handle)
  }

  /** The most it can hold. */
  get context() {
    return now.session_context(this._handle)
  }

  /** Those of the text. */
  get tokens() {
    return now.session_tokens(this._handle)
  }

  /** That the latest answer was drawn with: as the option `seed` it gives that answer again. */
  get seed() {
    return now.session_seed(this._handle)
  }

  /** What is held back because it may begin a stop text. */
  takeHeld() {
    return now.session_take_held(this._handle)
  }

  /** Ends the call under way, or the next one, with CancelledError. */
  cancel() {
    now.session_cancel(this._handle)
  }

  /** Tokens and seconds. */
  stats() {
    return now.session_get_stats(this._handle)
  }
}

module.exports = { Session }
