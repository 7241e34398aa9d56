// Chats: conversations as prompts, and answers taken apart.
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

// What a delta is, by TENON_CHAT_*.
const KINDS = new Map([
  [constants.CHAT_CONTENT, 'content'], [constants.CHAT_REASONING, 'reasoning'],
  [constants.CHAT_CALL_BEGIN, 'callBegin'], [constants.CHAT_ARGUMENTS, 'arguments'],
  [constants.CHAT_CALL_END, 'callEnd'], [constants.CHAT_CALL_RETRACT, 'callRetract'],
])

/** Turns conversations (an array of messages, or { messages: [...], tools: [...] }) into prompts, by the template of a
 * model or one of yours, and has them answered. */
class Chat extends TenonObject {
  #model = null

  static async create(model = null, options) {
    library()
    const chat = new Chat(MADE_HERE, await later.chat_create(model?._handle ?? null, named(options)))
    chat.#model = model
    return chat
  }

  /** One turn: the answer as a message, to be put after the conversation's. session: the one of this conversation, so
   * that what it holds of it is not computed again; unless given, one of its own. */
  async answer(conversation, options) {
    return this.stream(conversation, options).message()
  }

  /** The same as it comes: `for await` iterates over the deltas; `message()` is the whole. */
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

  /** The family by which answers are read. */
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

  /** What the answer may be; null: anything. */
  async grammar(conversation) {
    const handle = await later.chat_grammar(this._handle, asJson(conversation))
    return handle === null ? null : new Grammar(MADE_HERE, handle)
  }

  /** Sets that grammar; whether there is one. */
  async constrain(conversation, sampler) {
    return (await later.chat_constrain(this._handle, asJson(conversation), sampler._handle)) !== 0
  }

  /** Begins to read the answer. */
  async reply(conversation) {
    return new Reply(MADE_HERE, await later.chat_reply_create(this._handle, asJson(conversation)))
  }
}

/** The answer to a conversation, under way: `for await` iterates over its deltas. It is cancelled by `cancel`, its
 * signal, `close`, leaving the loop, or the garbage collector. */
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

  /** The answer as a message, to be put after the conversation's. Takes what has not been iterated over. */
  async message() {
    while (!(await this.next()).done);
    return this.#message
  }

  /** That it is drawn with: as the option `seed` it gives the same answer again. */
  seed() {
    return this.#generation.seed()
  }

  /** Ends it with CancelledError for who iterates. */
  cancel() {
    this.#generation.cancel()
  }

  /** Ends it, and lets the session go, which can be used when the promise resolves. */
  close() {
    return this.#generation.close()
  }

  [asyncDispose]() {
    return this.close()
  }
}

/** An answer that is read as it comes. */
class Reply extends TenonObject {
  /** Takes the next token, or text; what it amounts to. */
  push(part) {
    return this.#deltas((add) => (typeof part === 'string'
      ? now.chat_reply_push_text(this._handle, part, add)
      : now.chat_reply_push_token(this._handle, part, add)))
  }

  /** Takes a piece of a generation; what is held back for a stop text waits. */
  pushPiece({ token, text }) {
    return this.#deltas((add) => now.chat_reply_push_piece(this._handle, token ?? constants.NO_TOKEN, text, add))
  }

  /** The answer is complete. */
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
