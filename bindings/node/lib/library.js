// Finds libtenon, and refuses one that does not fit. The order: the path given to useLibrary before
// the first object is made; the library of the platform's package; the one that the system's loader
// finds as libtenon.so.0.1. The environment is not read. libtenon-server is searched when the first
// server is made: beside the libtenon in use, else by the system's loader.
'use strict'

const fs = require('node:fs')
const path = require('node:path')
const native = require('./native.js')
const madeFor = require('./made_for.json')
const { UnsupportedError, StateError, makeError } = require('./errors.js')
const { misfits } = require('./fit.js')

const minor = madeFor.version.split('.').slice(0, 2).join('.')
const fileName = `libtenon.so.${minor}`
const serverFileName = `libtenon-server.so.${minor}`
const bundled = path.join(require('./platform.js'), 'lib', fileName)
let wanted = null
let used = null
let usedServer = null

/** Names the libtenon.so to use. Call it before anything else, and once per process; StateError
 * afterwards. */
function useLibrary(path) {
  if (used !== null && used !== path) throw new StateError(`${used} is in use already`)
  wanted = path
}

/** Throws UnsupportedError with a sentence if the library at a path does not fit. */
function checkLibrary(path) {
  let opened
  try {
    opened = native.openLibrary(path)
  } catch (error) {
    throw new UnsupportedError(`no libtenon was found: ${error.message}`, { cause: error })
  }
  if (opened.description === null) {
    throw new UnsupportedError(`${path} is libtenon ${opened.version}, which does not describe its interface: ` +
      'it is too old for this binding')
  }
  refuseMisfits(`${path} is libtenon ${opened.version}`, madeFor, opened.description)
}

function refuseMisfits(what, madeFor, description) {
  const reasons = misfits(madeFor, JSON.parse(description))
  if (!reasons.length) return
  const more = reasons.length > 1 ? ` (and ${reasons.length - 1} more)` : ''
  throw new UnsupportedError(`${what}, which does not fit this binding made for ${madeFor.version}: ${reasons[0]}${more}`)
}

/** Loads the library at the first call; returns its path. Later calls cost nothing. */
function library() {
  if (used !== null) return used
  const path = wanted ?? (fs.existsSync(bundled) ? bundled : fileName)
  checkLibrary(path)
  if (!native.useLibrary(path, makeError)) {
    throw new StateError(`another thread of this process uses another libtenon than ${path}`)
  }
  used = path
  return used
}

/** As checkLibrary, for a libtenon-server. */
function checkServerLibrary(path) {
  let opened
  try {
    opened = native.openServerLibrary(path)
  } catch (error) {
    throw new UnsupportedError(`no libtenon-server was found, which servers need: ${error.message}`, { cause: error })
  }
  if (opened.description === null) {
    throw new UnsupportedError(`${path} does not describe its interface: it is no libtenon-server, or too old for this binding`)
  }
  refuseMisfits(`${path} is libtenon-server ${JSON.parse(opened.description).version}`, madeFor.server, opened.description)
  if (!opened.sharesLibrary) throw new UnsupportedError(`${path} belongs to another libtenon than ${used}, which is in use`)
}

/** Loads libtenon-server at the first call; returns its path. */
function serverLibrary() {
  if (usedServer !== null) return usedServer
  const beside = path.join(path.dirname(library()), serverFileName)
  const found = path.dirname(used) !== '.' && fs.existsSync(beside) ? beside : serverFileName
  checkServerLibrary(found)
  if (!native.useServerLibrary(found)) {
    throw new StateError(`another thread of this process uses another libtenon-server than ${found}`)
  }
  usedServer = found
  return usedServer
}

module.exports = { library, serverLibrary, useLibrary, checkLibrary, checkServerLibrary }
