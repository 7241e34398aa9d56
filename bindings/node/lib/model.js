// Models and their contents.
'use strict'

const constants = require('./constants.js')
const { now, later } = require('./native.js')
const { ArgumentError } = require('./errors.js')
const { MADE_HERE, TenonObject, copied, library, named, nextTurn, withSignal } = require('./objects.js')
const { Engine } = require('./engine.js')
const { filePath, withPath } = require('./paths.js')
const { Session } = require('./session.js')
const { Tokenizer } = require('./tokenizer.js')

// Entries read per turn of the event loop.
const A_TURN = 500

/** A model. Any number of sessions; `close` may come before they end. */
class Model extends TenonObject {
  #engine = null
  #tokenizer = null

  /** Opens a file, or all parts of a split model. */
  static async open(path, options) {
    const paths = Array.isArray(path) ? path : [path]
    const named = paths.map(filePath)
    return withPath(named, () => Model.#load(named.map((one) => ({ path: one })), options))
  }

  /** Opens the bytes of a file, which are copied. */
  static async fromBytes(bytes, options) {
    return Model.#load([{ memory: await copied(bytes) }], options)
  }

  /** Opens part of an open file; size 0: to its end. The descriptor may be closed afterwards. */
  static async fromDescriptor(fd, { offset = 0, size = 0, ...options } = {}) {
    return Model.#load([{ fd, offset, size }], options)
  }

  static async #load(sources, { progress, log, logLevel = constants.LOG_INFO, signal, ...options } = {}) {
    library()
    return withSignal(signal, progress, async (watched) =>
      new Model(MADE_HERE, await later.model_load(sources, named(options), watched, log, logLevel)))
  }

  /** Name, architecture, sizes. */
  get info() {
    return now.model_get_info(this._handle)
  }

  /** The model's tokenizer, which closes with it. */
  get tokenizer() {
    this.#tokenizer ??= new Tokenizer(MADE_HERE, now.model_tokenizer(this._handle))
    return this.#tokenizer
  }

  /** Keys of the file's metadata, in file order. */
  get metadataKeys() {
    return Array.from({ length: now.model_metadata_count(this._handle) },
      (_, index) => now.model_metadata(this._handle, index).key)
  }

  /** Value of a key; undefined if there is none. */
  async metadata(key) {
    let index
    try {
      index = await later.model_find_metadata(this._handle, key)
    } catch (error) {
      if (error instanceof ArgumentError) return undefined
      throw error
    }
    const entry = now.model_metadata(this._handle, index)
    if (entry.type !== constants.VALUE_ARRAY) return this.#value(index, 0)
    const values = []
    for (let element = 0; element < entry.numElements; ++element) {
      if (element % A_TURN === A_TURN - 1) await nextTurn()
      values.push(this.#value(index, element))
    }
    return values
  }

  #value(index, element) {
    const value = now.model_metadata_value(this._handle, index, element)
    switch (value.type) {
      case constants.VALUE_STRING: return value.text
      case constants.VALUE_BOOL: return value.integer !== 0
      case constants.VALUE_FLOAT32:
      case constants.VALUE_FLOAT64: return value.number
      case constants.VALUE_UINT64: return value.integer < 0 ? BigInt.asUintN(64, BigInt(value.integer)) : value.integer
      default: return value.integer
    }
  }

  /** Tensors of the file, in file order. */
  async tensors() {
    const result = []
    for (let index = 0; index < now.model_tensor_count(this._handle); ++index) {
      if (index % A_TURN === A_TURN - 1) await nextTurn()
      result.push(now.model_tensor(this._handle, index))
    }
    return result
  }

  /** Memory of the model with one session; 0: the default context. */
  async memory(context = 0) {
    return later.model_memory(this._handle, context)
  }

  /** How the model runs on this machine. */
  async execution() {
    return later.model_execution(this._handle)
  }

  /** This machine, for planning. speed: runs some layers, for seconds. */
  async measure({ speed = false } = {}) {
    return later.measure_hardware(this._handle, speed ? constants.MEASURE_SPEED : 0)
  }

  /** Predicts memory and speed for that many sessions. */
  async plan(hardware, { context = 0, sessions = 0 } = {}) {
    return later.model_plan(this._handle, context, sessions, hardware)
  }

  /** The engine of sessions that name no other; made at first use. */
  engine() {
    this.#engine ??= Engine.create(this)
    return this.#engine
  }

  /** A new session with an empty text. */
  async session(options) {
    return Session.create(this, options)
  }

  /** Continues a text in a session of its own, in the model's engine. */
  stream(prompt, options) {
    return Engine._stream(this, () => this.engine(), prompt, options)
  }

  /** Running generations of its engine continue. */
  async close() {
    const engine = this.#engine
    const gone = super.close()
    void this.#tokenizer?.close()
    await engine?.then((one) => one._retire(), () => {})
    await gone
  }
}

module.exports = { Model }
