// Chats: conversations as prompts, and answers taken apart.
'use strict'

const constants = require('./constants.js')
const { now, later } = require('./native.js')
const { MADE_HERE, TenonObject, library, named } = require('./objects.js')
const { Grammar } = require('./grammar.js')

const asJson = (conversation) => (typeof conversation === 'string' ? conversation : JSON.stringify(conversation))

// What a delta is, by TENON_CHAT_*.
const KINDS = new Map([
  [constants.CHAT_CONTENT, 'content'], [constants.CHAT_REASONING, 'reasoning'],
  [constants.CHAT_CALL_BEGIN, 'callBegin'], [constants.CHAT_ARGUMENTS, 'arguments'],
  [constants.CHAT_CALL_END, 'callEnd'], [constants.CHAT_CALL_RETRACT, 'callRetract'],
])

/** Turns conversations ({ messages: [...], tools: [...] }) into prompts, by the template of a model or one of
 * yours. */
class Chat extends TenonObject {
  static async create(model = null, options) {
    library()
    return new Chat(MADE_HERE, await later.chat_create(model?._handle ?? null, named(options)))
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

/** An answer that is read as it comes. */
class Reply extends TenonObject {
  /** Takes the next token, or text; what it amounts to. */
  push(part) {
    return this.#deltas((add) => (typeof part === 'string'
      ? now.chat_reply_push_text(this._handle, part, add)
      : now.chat_reply_push_token(this._handle, part, add)))
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

module.exports = { Chat, Reply }
