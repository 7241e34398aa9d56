// Servers: models over HTTP, by libtenon-server, and requests without a socket.
'use strict'

const { Buffer } = require('node:buffer')
const { setInterval, clearInterval } = require('node:timers')
const { isAnyArrayBuffer } = require('node:util').types
const constants = require('./constants.js')
const fields = require('./fields.js')
const { now, later, requestReady } = require('./native.js')
const { ArgumentError, CancelledError, StateError } = require('./errors.js')
const { MADE_HERE, TenonObject, named, nextTurn } = require('./objects.js')
const { serverLibrary } = require('./library.js')
const { Engine } = require('./engine.js')
const { Model } = require('./model.js')
const { filePath } = require('./paths.js')

// Most parts that are handed out without a turn of the event loop if they are ready at once.
const PARTS_A_TURN = 16
// Statuses whose Response has no body.
const WITHOUT_BODY = new Set([101, 103, 204, 205, 304])
const A_DAY_MS = 86400000

/** Number of letters that differ (Levenshtein). */
function distance(one, other) {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; ++i) {
    const next = [i]
    for (let j = 1; j <= other.length; ++j) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (one[i - 1] === other[j - 1] ? 0 : 1))
    }
    row = next
  }
  return row[other.length]
}

/** Refuses unknown names, and suggests the nearest. */
function checkNames(what, given, known) {
  for (const key of Object.keys(given)) {
    if (known.includes(key)) continue
    const [nearest] = [...known].sort((one, other) => distance(key, one) - distance(key, other))
    throw new ArgumentError(`${what} has no option ${key}; the nearest is ${nearest}`)
  }
}

/** Booleans as the library's numbers. */
const withNumbers = (given) => Object.fromEntries(Object.entries(given).map(([key, value]) =>
  [key, typeof value === 'boolean' ? Number(value) : value]))

/** Options of a model or an engine as lines, for libtenon-server. */
function asLines(what, options) {
  const lines = []
  for (const [key, value] of Object.entries(named(options))) {
    for (const one of Array.isArray(value) ? value : value == null ? [] : [value]) {
      const line = `${key}=${one}`
      if (line.includes('\n')) throw new ArgumentError(`${what}: the option ${key} holds a line break`)
      lines.push(line)
    }
  }
  return lines.join('\n')
}

/** A server's answer to a request of the program itself: `status`, `headers`, and its parts by `for
 * await`: the bytes of a body, or the events of a stream. `close`, leaving the loop, the signal of
 * the request and the garbage collector cancel it. */
class Answer extends TenonObject {
  #signal
  #stopListening = null
  #first = null
  #isLast = false
  #isGivenUp = false // by close, or after an error; not with its server
  #turn = Promise.resolve()
  #atOnce = 0

  constructor(key, handle, signal) {
    super(key, handle)
    this.#signal = signal
    if (signal) this.#listen(signal)
  }

  /** Resolves with the status. */
  static async _of(handle, signal) {
    const answer = new Answer(MADE_HERE, handle, signal)
    const part = await answer.#take((part) => part.httpStatus !== 0)
    answer.status = part.httpStatus
    answer.headers = new Headers({ 'content-type': part.contentType })
    for (const line of part.headers.split('\n')) {
      const colon = line.indexOf(':')
      if (colon > 0) answer.headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
    }
    answer.#first = part.bytes
    return answer
  }

  #listen(signal) {
    const self = new WeakRef(this)
    const close = () => void self.deref()?.close()
    signal.addEventListener('abort', close, { once: true })
    this.#stopListening = () => signal.removeEventListener('abort', close)
    if (signal.aborted) close()
  }

  /** The next part of which `isWanted` is true. */
  async #take(isWanted) {
    try {
      if (++this.#atOnce >= PARTS_A_TURN) {
        this.#atOnce = 0
        await nextTurn()
      }
      for (;;) {
        if (this.closed) throw this.#signal?.aborted ? this.#signal.reason : new CancelledError(`the ${this.#isGivenUp ? 'answer' : 'server'} has been closed`)
        const part = now.server_call_wait(this._handle, 0)
        if (part.isLast) this.#isLast = true
        if (isWanted(part)) return part
        const ready = requestReady(this._handle)
        if (ready === true) continue
        this.#atOnce = 0
        await ready
      }
    } catch (error) {
      void this.close()
      throw error
    }
  }

  async #next() {
    let bytes = this.#first
    this.#first = null
    if (!bytes?.length && !this.#isLast) {
      if (this.#isGivenUp && !this.#signal?.aborted) return { done: true, value: undefined }
      bytes = (await this.#take((part) => part.bytes.length > 0 || part.isLast !== 0)).bytes
    }
    if (bytes?.length) return { done: false, value: bytes }
    await this.close()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator]() {
    return this
  }

  next() {
    const taken = this.#turn.then(() => this.#next())
    this.#turn = taken.catch(() => {})
    return taken
  }

  async return(value) {
    await this.close()
    return { done: true, value }
  }

  /** The rest of the body. */
  async bytes() {
    const parts = []
    for await (const part of this) parts.push(part)
    return parts.length === 1 ? parts[0] : new Uint8Array(Buffer.concat(parts))
  }

  async text() {
    return new TextDecoder().decode(await this.bytes())
  }

  async json() {
    return JSON.parse(await this.text())
  }

  /** Cancels the request, unless it is complete. */
  close() {
    this.#isGivenUp = true
    this.#stopListening?.()
    this.#stopListening = null
    return super.close()
  }
}

/** Serves models over HTTP through OpenAI's and Anthropic's interfaces (docs/server.md), and
 * answers the program's own requests without a socket. The order is: add, listen, start, stop,
 * close. A server that listens keeps the program alive, like one of node:http. */
class Server extends TenonObject {
  #turn = Promise.resolve()
  #served = [] // live as long as the server
  #listens = false
  #alive = null
  #isUnreferenced = false
  #numStopping = 0
  #beforeStops = null
  #starting = null
  #hasBegun = false

  static async create({ log, apiKeys, ...options } = {}) {
    checkNames('a server', options, fields.ServerFields)
    serverLibrary()
    const all = { ...withNumbers(options), apiKeys: Array.isArray(apiKeys) ? apiKeys.join('\n') : apiKeys }
    if (log != null) all.logLevel ??= constants.LOG_INFO
    return new Server(MADE_HERE, await later.server_create(all, log))
  }

  /** Runs work one after another, as the library requires before the server runs. */
  #inTurn(work) {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }

  /** Serves a model, with engine options, or an engine, under a name. Both may be closed before the
   * server. context: most tokens of a request's prompt and answer. */
  add(name, served, { context = 0, ...options } = {}) {
    return this.#inTurn(async () => {
      if (served instanceof Engine) {
        if (Object.keys(options).length) throw new ArgumentError(`an engine has its options already: ${Object.keys(options)}`)
        served._drive() // first: an engine closed meanwhile continues for the server
        await later.server_add_engine(this._handle, name, served.model._handle, served._handle, context)
      } else if (served instanceof Model) {
        await later.server_add_model(this._handle, name, served._handle, named(options), context)
      } else {
        throw new TypeError(`a server serves a Model or an Engine, not ${served}`)
      }
      this.#served.push(served)
    })
  }

  /** Serves a model file that is loaded when a request asks for it. */
  addFile(name, path, { modelOptions = {}, engineOptions = {}, ...options } = {}) {
    return this.#inTurn(async () => {
      checkNames('the file of a server', options, fields.ServerFileFields)
      await later.server_add_file(this._handle, name, { ...withNumbers(options), path: filePath(path),
        modelOptions: asLines('modelOptions', modelOptions), engineOptions: asLines('engineOptions', engineOptions) })
    })
  }

  /** Accepts connections at an address once started; returns the port. port 0: any free one. */
  listen(host = '127.0.0.1', port = 0) {
    return this.#inTurn(async () => {
      const bound = await later.server_listen_tcp(this._handle, host, port)
      this.#listens = true
      return bound
    })
  }

  /** Accepts connections at a Unix socket. */
  listenUnix(path) {
    return this.#inTurn(async () => {
      await later.server_listen_unix(this._handle, filePath(path))
      this.#listens = true
    })
  }

  /** Starts answering, on threads of its own. */
  start({ threads = 0 } = {}) {
    this.#starting = this.#inTurn(async () => {
      await later.server_start(this._handle, threads)
      this.#hasBegun = true
      if (!this.#listens || this.closed) return
      // While it listens, neither the loop ends nor the server is collected.
      this.#alive ??= setInterval(() => this.closed && this.#rest(), A_DAY_MS)
      if (this.#isUnreferenced) this.#alive.unref()
    })
    return this.#starting
  }

  #rest() {
    if (this.#alive) clearInterval(this.#alive)
    this.#alive = null
  }

  /** unref lets the program end although the server listens; ref does not. */
  unref() {
    this.#isUnreferenced = true
    this.#alive?.unref()
    return this
  }

  ref() {
    this.#isUnreferenced = false
    this.#alive?.ref()
    return this
  }

  /** Takes no more requests, gives running answers that many seconds, then cancels them. The server
   * cannot run again. */
  stop(seconds = 0) {
    // Stops do not wait for each other: a shorter one shortens the running one.
    if (this.#numStopping++ === 0) this.#beforeStops = this.#turn
    const done = this.#beforeStops.then(() => later.server_stop(this._handle, seconds)).then(() => this.#rest())
      .finally(() => --this.#numStopping)
    this.#turn = Promise.allSettled([this.#turn, done])
    return done
  }

  /** Sends a request without a socket, once started; resolves with the status. body: text, bytes,
   * or values for JSON. */
  async request(method, target, body, { apiKey, signal } = {}) {
    signal?.throwIfAborted()
    if (!this.#hasBegun && !this.closed) {
      await this.#starting?.catch(() => {})
      if (!this.#hasBegun) throw new StateError('the server does not run: start comes before')
    }
    if (isAnyArrayBuffer(body)) body = new Uint8Array(body)
    if (body != null && typeof body !== 'string' && !ArrayBuffer.isView(body)) body = JSON.stringify(body)
    const handle = await later.server_submit(this._handle, { method, target, body, apiKey })
    return Answer._of(handle, signal)
  }

  /** request() with the signature of the global fetch, for clients that take such a function. */
  fetch = async (input, init) => {
    // A Request's signal ends with it: listen to the caller's own signal, or to that of a Request
    // that is held.
    const signal = (init?.signal === undefined ? input.signal : init.signal) ?? undefined
    const asked = new Request(input instanceof Request ? input : new URL(input, 'http://tenon'), init)
    const { pathname, search } = new URL(asked.url)
    const body = asked.body ? new Uint8Array(await asked.arrayBuffer()) : undefined
    const bearer = /^Bearer (.+)$/i.exec(asked.headers.get('authorization') ?? '')?.[1]
    const answer = await this.request(asked.method, pathname + search, body,
      { apiKey: bearer ?? asked.headers.get('x-api-key') ?? undefined, signal })
    const { status, headers } = answer
    if (WITHOUT_BODY.has(status)) {
      void answer.close()
      return new Response(null, { status, headers })
    }
    return new Response(new ReadableStream({
      async pull(controller) {
        const { done, value } = await answer.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () => answer.close(),
      input,
    }, { highWaterMark: 0 }), { status, headers })
  }

  /** Ends the server and its running answers, and frees it; frees what it served, if that was
   * closed before. */
  close() {
    this.#rest()
    // Does not wait for a running stop.
    if (this.#numStopping > 0 && !this.closed) later.server_stop(this._handle, 0).catch(() => {})
    return super.close()
  }
}

module.exports = { Server, Answer }
