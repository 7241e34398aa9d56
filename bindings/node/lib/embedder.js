// Embedders: rows of numbers for texts, and rerankers.
'use strict'

const constants = require('./constants.js')
const { now, later } = require('./native.js')
const { MADE_HERE, TenonObject, named } = require('./objects.js')

const ROLES = { plain: constants.TEXT_PLAIN, query: constants.TEXT_QUERY, document: constants.TEXT_DOCUMENT }

/** Rows of numbers, one after another in `data`. */
class Rows {
  constructor(data, dimensions, counts) {
    /** [rows, dimensions] */
    this.data = data
    this.dimensions = dimensions
    /** [texts]: how many rows each text has; 1 unless the pooling is none. */
    this.counts = counts
  }

  get length() {
    return this.dimensions ? this.data.length / this.dimensions : 0
  }

  /** A row, without a copy. */
  at(index) {
    if (index < 0) index += this.length
    if (!(index >= 0 && index < this.length)) return undefined
    return this.data.subarray(index * this.dimensions, (index + 1) * this.dimensions)
  }

  * [Symbol.iterator]() {
    for (let index = 0; index < this.length; ++index) yield this.at(index)
  }
}

/** Turns texts into rows of numbers. */
class Embedder extends TenonObject {
  static async create(model, options) {
    return new Embedder(MADE_HERE, await later.embedder_create(model._handle, named(options)))
  }

  /** Pooling, dimensions, limits. */
  get info() {
    return now.embedder_get_info(this._handle)
  }

  /** Numbers of a row. */
  get dimensions() {
    return now.embedder_dimensions(this._handle)
  }

  /** Of the classifier. */
  get labels() {
    return Array.from({ length: this.info.numLabels }, (_, index) => now.embedder_label(this._handle, index))
  }

  /** The rows of texts, or of arrays of tokens. role: 'plain', 'query' or 'document'. */
  async embed(texts, { role = 'plain', timeout = 0 } = {}) {
    if (!(role in ROLES)) throw new TypeError(`a role is one of ${Object.keys(ROLES).join(', ')}, not ${role}`)
    const { dimensions } = this
    const { rows, counts } = await later.embedder_embed(this._handle, texts, ROLES[role], timeout)
    return new Rows(rows, dimensions, counts)
  }

  /** How well each document answers the query; more is better. */
  async rank(query, documents, { timeout = 0 } = {}) {
    return later.embedder_rank(this._handle, query, documents, timeout)
  }

  /** Ends the calls under way with CancelledError. */
  cancel() {
    now.embedder_cancel(this._handle)
  }
}

module.exports = { Embedder, Rows }
