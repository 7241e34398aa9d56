// Chats: conversations as prompts, and answers parsed into parts.
'use strict'

const constants = require('./constants.js')
const { now, later } = require('./native.js')
const { StateError } = require('./errors.js')
const { MADE_HERE, TenonObject, asyncDispose, library, named } = require('./objects.js')
const { Generation } = require('./generation.js')
const { Grammar } = require('./grammar.js')
const { Sampler } = require('./sampler.js')

const members = (conversation) => (Array.isArray(conversation) ? { messages: conversation } : conversation)
const asJson = (conversation) => (typeof conversation === 'string' ? conversation : JSON.stringify(members(conversation)))

// Kind of a delta, by TENON_CHAT_*.
const KINDS = new Map([
  [constants.CHAT_CONTENT, 'content'], [constants.CHAT_REASONING, 'reasoning'],
  [constants.CHAT_CALL_BEGIN, 'callBegin'], [constants.CHAT_ARGUMENTS, 'arguments'],
  [constants.CHAT_CALL_END, 'callEnd'], [constants.CHAT_CALL_RETRACT, 'callRetract'],
])

/** Turns conversations (an array of messages, or { messages: [...], tools: [...] }) into prompts,
 * by a model's template or yours, and generates answers. */
class Chat extends TenonObject {
  #model = null

  static async create(model = null, options) {
    library()
    const chat = new Chat(MADE_HERE, await later.chat_create(model?._handle ?? null, named(options)))
    chat.#model = model
    return chat
  }

  /** Runs one turn and returns the answer as a message, to be appended to the conversation's.
   * session: the session of this conversation, so that its computed tokens are reused. Default: a
   * new one. */
  async answer(conversation, options) {
    return this.stream(conversation, options).message()
  }

  /** Runs one turn and streams it: `for await` iterates over the deltas; `message()` is the whole.
   */
  stream(conversation, { session = null, schema, tools, dropOldest = false, ...options } = {}) {
    for (const name of ['sampler', 'grammar', 'addSpecial', 'parseSpecial', 'ignoreEnd']) {
      if (name in options) throw new TypeError(`a chat has no option ${name}`)
    }
    const given = typeof conversation === 'string' ? JSON.parse(conversation) : { ...members(conversation) }
    if (schema != null) {
      const read = typeof schema === 'string' ? JSON.parse(schema) : schema
      given.response_format = { type: 'json_schema', json_schema: { name: 'answer', schema: read } }
    }
    if (tools != null) given.tools = tools
    const { sampling, ...limits } = options
    const begun = {}
    const open = async () => {
      if (session === null && this.#model === null) throw new StateError('the chat was made without a model')
      const text = session ?? await this.#model.session()
      try {
        limits.sampler = await Sampler.create(sampling)
        begun.reply = new Reply(MADE_HERE, await later.chat_begin(this._handle, text._handle, JSON.stringify(given),
          limits.sampler._handle, limits.maxTokens ?? 0, dropOldest ? constants.DROP_OLDEST : 0))
      } catch (error) {
        if (session === null) void text.close()
        throw error
      }
      return text
    }
    return new ChatAnswer(new Generation(open, null, limits, session === null), begun)
  }

  /** The format by which answers are parsed. */
  get format() {
    return now.chat_format(this._handle)
  }

  /** The prompt as text. */
  async render(conversation) {
    return later.chat_render(this._handle, asJson(conversation))
  }

  /** The prompt as tokens, for Session.generate. */
  async encode(conversation) {
    return later.chat_encode(this._handle, asJson(conversation))
  }

  /** Grammar of the answer; null if any answer may come. */
  async grammar(conversation) {
    const handle = await later.chat_grammar(this._handle, asJson(conversation))
    return handle === null ? null : new Grammar(MADE_HERE, handle)
  }

  /** Attaches the grammar of the answer to a sampler; false if any answer may come. */
  async constrain(conversation, sampler) {
    return (await later.chat_constrain(this._handle, asJson(conversation), sampler._handle)) !== 0
  }

  /** Begins to parse the answer. */
  async reply(conversation) {
    return new Reply(MADE_HERE, await later.chat_reply_create(this._handle, asJson(conversation)))
  }
}

/** A running answer to a conversation: `for await` iterates over its deltas. `cancel`, its signal,
 * `close`, leaving the loop, and the garbage collector cancel it. */
class ChatAnswer {
  #generation
  #begun
  #deltas = []
  #message = null

  constructor(generation, begun) {
    this.#generation = generation
    this.#begun = begun
  }

  [Symbol.asyncIterator]() {
    return this
  }

  async next() {
    while (this.#deltas.length === 0) {
      if (this.#message) return { done: true, value: undefined }
      const { done, value } = await this.#generation.next()
      const { reply } = this.#begun
      if (!done) {
        this.#deltas = reply.pushPiece(value)
      } else {
        this.#deltas = reply.finish()
        this.#message = reply.message()
      }
    }
    return { done: false, value: this.#deltas.shift() }
  }

  async return(value) {
    await this.close()
    return { done: true, value }
  }

  /** The answer as a message, to be appended to the conversation's. Reads the deltas that are left.
   */
  async message() {
    while (!(await this.next()).done);
    return this.#message
  }

  /** Seed of the answer; as the option `seed` it gives the same answer again. */
  seed() {
    return this.#generation.seed()
  }

  /** Ends it with CancelledError for its readers. */
  cancel() {
    this.#generation.cancel()
  }

  /** Cancels it and releases the session, which is usable when the promise resolves. */
  close() {
    return this.#generation.close()
  }

  [asyncDispose]() {
    return this.close()
  }
}

/** A parser of one answer. */
class Reply extends TenonObject {
  /** Takes the next token or text; returns the parsed parts. */
  push(part) {
    return this.#deltas((add) => (typeof part === 'string'
      ? now.chat_reply_push_text(this._handle, part, add)
      : now.chat_reply_push_token(this._handle, part, add)))
  }

  /** Takes a piece of a generation; text held back for a stop text waits. */
  pushPiece({ token, text }) {
    return this.#deltas((add) => now.chat_reply_push_piece(this._handle, token ?? constants.NO_TOKEN, text, add))
  }

  /** Ends the answer. */
  finish() {
    return this.#deltas((add) => now.chat_reply_finish(this._handle, add))
  }

  #deltas(read) {
    const deltas = []
    read(({ kind, ...delta }) => void deltas.push({ kind: KINDS.get(kind), ...delta }))
    return deltas
  }

  /** The answer so far as a message of a conversation. */
  message() {
    return JSON.parse(now.chat_reply_message(this._handle))
  }
}

module.exports = { Chat, ChatAnswer, Reply }
