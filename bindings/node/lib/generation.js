// Generations: running continuations, which iterate over their pieces.
'use strict'

const constants = require('./constants.js')
const { now, later, requestReady } = require('./native.js')
const { CancelledError } = require('./errors.js')
const { asyncDispose, inspect, named, nextTurn } = require('./objects.js')

// Why a piece is the last, by TENON_FINISH_*.
const FINISH = new Map([
  [constants.FINISH_NONE, null], [constants.FINISH_END, 'end'], [constants.FINISH_MAX_TOKENS, 'max_tokens'],
  [constants.FINISH_STOP, 'stop'], [constants.FINISH_BANNED, 'banned'],
])
// Most pieces that are handed out without a turn of the event loop if they are ready at once.
const PIECES_A_TURN = 16

/** A token's text: whole characters, empty while one is incomplete. The last one has `finish`. */
class Piece {
  constructor(raw) {
    this.text = raw.text
    this.token = raw.token === constants.NO_TOKEN ? null : raw.token
    this.finish = FINISH.get(raw.finish) ?? null
    this.logprob = null
    this.top = []
  }

  toString() {
    return this.text
  }
}

const KNOWN = new Set(['maxTokens', 'sampler', 'sampling', 'grammar', 'addSpecial', 'parseSpecial', 'ignoreEnd',
  'logprobs', 'timeout', 'priority', 'client', 'weight', 'signal'])

/** Arguments of session_submit, from the options of a generation. */
function submission(session, text, options) {
  for (const key of Object.keys(options)) {
    if (KNOWN.has(key)) continue
    throw new TypeError(`generate has no option ${key}; there are: ${[...KNOWN].join(', ')}; how tokens are drawn is ` +
      'sampling: { temperature: 0 }')
  }
  const fields = { maxTokens: options.maxTokens ?? 0, flags: 0 }
  if (typeof text === 'string') {
    fields.text = text
    const addSpecial = options.addSpecial ?? session.position === 0
    fields.flags |= (addSpecial ? constants.ADD_SPECIAL : 0) | (options.parseSpecial ? constants.PARSE_SPECIAL : 0)
  } else if (text != null) {
    fields.tokens = text
  }
  if (options.sampler) fields.sampler = options.sampler._handle
  if (options.logprobs != null) {
    fields.flags |= constants.LOGPROBS
    fields.numTop = options.logprobs
  }
  if (options.ignoreEnd) fields.flags |= constants.IGNORE_END
  if (options.priority != null) Object.assign(fields, { priority: options.priority, hasPriority: 1 })
  if (options.timeout != null) fields.timeoutSeconds = options.timeout
  if (options.client != null) fields.client = options.client
  if (options.weight != null) fields.weight = options.weight
  return [session._handle, fields, options.sampling && named(options.sampling), options.grammar?._handle,
    options.grammar && session.model.tokenizer._handle]
}

/** A running continuation: `for await` iterates over its pieces. It is queued when it is made.
 * `cancel`, its signal, `close`, leaving the loop, and the garbage collector cancel it. The session
 * can then continue from where it was. */
class Generation {
  #begun
  #request = null
  #session = null
  #ownsSession
  #engine = null
  #options
  #stats = null
  #seed = null
  #isCancelled = false
  #isFinished = false
  #closing = null
  #turn = Promise.resolve()
  #atOnce = 0
  #stopListening = null

  /** open() -> session, whose text is continued. */
  constructor(open, text, options = {}, ownsSession = false) {
    this.#options = options
    this.#ownsSession = ownsSession
    this.#begun = this.#begin(open, text)
    this.#begun.catch(() => {}) // the iteration throws it
  }

  async #begin(open, text) {
    const { signal } = this.#options
    signal?.throwIfAborted()
    if (signal) this.#listen(signal)
    try {
      // An existing session is used at once, so that later calls find it in use.
      const opened = open()
      const session = typeof opened?.then === 'function' ? await opened : opened
      this.#session = session
      this.#engine = session._engine
      if (!this.#isCancelled) this.#request = await later.session_submit(...submission(session, text, this.#options))
      if (this.#request) this.#seed = now.request_seed(this.#request)
      if (this.#isCancelled) throw new CancelledError('cancelled')
      this.#engine._begin(this)
    } catch (error) {
      // As close(), which waits for this.
      this.#isFinished = true
      this.#stopListening?.()
      void this.#request?.close()
      if (this.#ownsSession) void this.#session?.close()
      throw error
    }
  }

  #listen(signal) {
    const self = new WeakRef(this)
    const cancel = () => self.deref()?.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    this.#stopListening = () => signal.removeEventListener('abort', cancel)
  }

  /** Ends it with CancelledError for its readers. */
  cancel() {
    this.#isCancelled = true
    if (this.#request?.isLive) now.request_cancel(this.#request)
  }

  /** Cancels it and releases the session, which is usable when the promise resolves. */
  close() {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close() {
    this.cancel()
    this.#isFinished = true
    this.#stopListening?.()
    await this.#begun.catch(() => {})
    this.#engine?._end(this)
    await this.#request?.close()
    if (this.#ownsSession) await this.#session?.close()
  }

  #pieceOf(raw) {
    const piece = new Piece(raw)
    if (this.#options.logprobs != null && piece.token !== null) {
      const { logprob, topTokens, topLogprobs } = now.request_logprobs(this.#request, this.#options.logprobs)
      piece.logprob = logprob
      piece.top = Array.from(topTokens, (token, index) => ({ token, logprob: topLogprobs[index] }))
    }
    if (piece.finish !== null) {
      this.#stats = now.request_get_stats(this.#request)
      this.#isCancelled = true // nothing is left to cancel
      void this.close()
    }
    return piece
  }

  async #take() {
    if (this.#isFinished && this.#closing) return { done: true, value: undefined }
    try {
      if (!this.#request) await this.#begun
      if (++this.#atOnce >= PIECES_A_TURN) {
        this.#atOnce = 0
        await nextTurn()
      }
      for (;;) {
        if (!this.#request.isLive) throw new CancelledError('the generation has been closed')
        const raw = now.request_wait(this.#request, 0)
        if (raw.token !== constants.NO_TOKEN || raw.finish !== constants.FINISH_NONE) {
          return { done: false, value: this.#pieceOf(raw) }
        }
        const ready = requestReady(this.#request)
        if (ready !== true) {
          this.#engine._drive()
          this.#atOnce = 0
          await ready
        }
      }
    } catch (error) {
      await this.close()
      const { signal } = this.#options
      throw signal?.aborted && error.code === 'CANCELLED' ? signal.reason : error
    }
  }

  [Symbol.asyncIterator]() {
    return this
  }

  next() {
    const taken = this.#turn.then(() => this.#take())
    this.#turn = taken.catch(() => {})
    return taken
  }

  async return(value) {
    await this.close()
    return { done: true, value }
  }

  /** The rest of the text, joined. */
  async text() {
    let text = ''
    for await (const piece of this) text += piece.text
    return text
  }

  /** How much of the prompt was reused. */
  async stats() {
    await this.#begun
    return this.#stats ?? now.request_get_stats(this.#request)
  }

  /** Seed of the answer; as the option `seed` it gives the same answer again. */
  async seed() {
    await this.#begun
    return this.#seed
  }

  [asyncDispose]() {
    return this.close()
  }

  [inspect]() {
    return `Generation { ${this.#isFinished ? 'ended' : 'under way'} }`
  }
}

module.exports = { Generation, Piece }
