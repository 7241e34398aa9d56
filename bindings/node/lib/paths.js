// Paths of files as programs give them.
'use strict'

const { fileURLToPath } = require('node:url')

/** The path that a text or a file: URL names; TypeError for anything else. */
function filePath(given) {
  if (typeof given === 'string') return given
  if (typeof given?.href === 'string') return fileURLToPath(given.href)
  throw new TypeError(`a path is a string or a file: URL, not ${given}`)
}

/** What a call with these paths gives; an error of the operating system gets the `path` that it is about. */
async function withPath(paths, call) {
  try {
    return await call()
  } catch (error) {
    if (error?.errno !== undefined && error.path === undefined) {
      // Of several, the one that the sentence names.
      const path = paths.length === 1 ? paths[0] : paths.find((one) => error.message.includes(one))
      if (path !== undefined) error.path = path
    }
    throw error
  }
}

module.exports = { filePath, withPath }
