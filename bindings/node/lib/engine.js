// Engines, which serve many sessions.
'use strict'

const { now, later, engineStart } = require('./native.js')
const { MADE_HERE, TenonObject, named } = require('./objects.js')
const { Generation } = require('./generation.js')

/** Serves many sessions of a model: a queue, a scheduler, a KV cache with a budget. The first
 * awaited generation starts a thread for it, one for all requests. */
class Engine extends TenonObject {
  #model
  #running = new Set() // WeakRefs of generations
  #mostRunning = 64
  #isRetired = false

  constructor(key, handle, model) {
    super(key, handle)
    this.#model = model
  }

  static async create(model, options) {
    return new Engine(MADE_HERE, await later.engine_create(model._handle, named(options)), model)
  }

  /** The model that the engine serves. */
  get model() {
    return this.#model
  }

  /** A new session in this engine, with an empty text. */
  async session(options) {
    const { Session } = require('./session.js')
    return Session.create(this.#model, { ...options, engine: this })
  }

  /** Continues a text in a session of its own. */
  stream(prompt, options) {
    return Engine._stream(this.#model, async () => this, prompt, options)
  }

  static _stream(model, engine, prompt, { session: sessionOptions, ...options } = {}) {
    return new Generation(async () => (await engine()).session(sessionOptions), prompt, options, true)
  }

  /** Counters and current values. */
  stats() {
    return now.engine_get_stats(this._handle)
  }

  /** The statistics as Prometheus text. */
  async statsText() {
    return later.engine_stats_text(this._handle)
  }

  /** Notes a running generation. */
  _begin(generation) {
    const weak = new WeakRef(generation)
    generation._weak = weak
    this.#running.add(weak)
    if (this.#running.size <= this.#mostRunning) return
    for (const one of this.#running) if (!one.deref()) this.#running.delete(one)
    this.#mostRunning = Math.max(64, 2 * this.#running.size)
  }

  /** Starts the engine's thread for a waiting generation. */
  _drive() {
    engineStart(this._handle)
  }

  _end(generation) {
    this.#running.delete(generation._weak)
    if (this.#isRetired && !this.#running.size) void this.close()
  }

  /** Closes the engine when its running generations have ended. */
  async _retire() {
    this.#isRetired = true
    if (!this.#running.size) await this.close()
  }

  /** Ends its thread, and running generations with CancelledError. Sessions can still be used,
   * except for generations. */
  close() {
    for (const one of this.#running) one.deref()?.cancel()
    this.#running.clear()
    return super.close()
  }
}

module.exports = { Engine }
