// Base of all objects: a handle of the library, closing, options and bytes.
'use strict'

const { setImmediate } = require('node:timers')
const native = require('./native.js')
const { library } = require('./library.js')

const dispose = Symbol.dispose ?? Symbol.for('Symbol.dispose')
const asyncDispose = Symbol.asyncDispose ?? Symbol.for('Symbol.asyncDispose')
const inspect = Symbol.for('nodejs.util.inspect.custom')

// Only the package itself makes objects: a constructor must not wait.
const MADE_HERE = Symbol('made by tenon')
// A member that postMessage and structuredClone refuse, with this sentence.
const refusal = () => 'an object of tenon belongs to the thread that made it'

/** An object of the library. `close` frees it, at any time and in any order; so does `using`, and
 * the garbage collector. Later calls are StateError. */
class TenonObject {
  #closing = null

  constructor(key, handle) {
    if (key !== MADE_HERE) {
      throw new TypeError(`a ${new.target.name} is made by an asynchronous function: await ${new.target.name}.` +
        `${['Model', 'Tokenizer'].includes(new.target.name) ? 'open' : 'create'}(...)`)
    }
    if (!Object.hasOwn(handle, 'refusal')) handle.refusal = refusal
    this._handle = handle
  }

  /** True if it was closed. */
  get closed() {
    return !this._handle.isLive
  }

  /** Ends running calls on the object and frees it when they return. The promise resolves then, and
   * need not be awaited. */
  close() {
    this.#closing ??= this._handle.close() ?? Promise.resolve()
    return this.#closing
  }

  [dispose]() {
    void this.close()
  }

  [asyncDispose]() {
    return this.close()
  }

  [inspect]() {
    return `${this.constructor.name} { ${this.closed ? 'closed' : 'open'} }`
  }
}

/** Options under the library's names: maxTokens is max_tokens. */
function named(options = {}) {
  const result = {}
  for (const [key, value] of Object.entries(options)) {
    result[key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] = value
  }
  return result
}

/** The next turn of the event loop. */
const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

const COPIED_AT_ONCE = 1 << 20

/** Copies bytes for the library, in short turns of the event loop. */
async function copied(bytes) {
  const view = bytes instanceof ArrayBuffer ? new Uint8Array(bytes)
    : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const memory = native.memoryCreate(view.length)
  for (let offset = 0; offset < view.length; offset += COPIED_AT_ONCE) {
    if (offset > 0) await nextTurn()
    native.memoryWrite(memory, offset, view.subarray(offset, offset + COPIED_AT_ONCE))
  }
  return memory
}

/** Runs `work(progress)` so that a signal ends it; progress returns true to end. */
async function withSignal(signal, progress, work) {
  signal?.throwIfAborted()
  const watched = signal || progress
    ? (fraction) => signal?.aborted || progress?.(fraction) === true
    : null
  try {
    return await work(watched)
  } catch (error) {
    if (signal?.aborted && error.code === 'CANCELLED') throw signal.reason
    throw error
  }
}

module.exports = { TenonObject, MADE_HERE, asyncDispose, copied, dispose, inspect, library, named, nextTurn, withSignal }
