// Paths of files, as given by programs.
'use strict'

const { fileURLToPath } = require('node:url')

/** The path that a text or a file: URL names; TypeError for anything else. */
function filePath(given) {
  if (typeof given === 'string') return given
  if (typeof given?.href === 'string') return fileURLToPath(given.href)
  throw new TypeError(`a path is a string or a file: URL, not ${given}`)
}

/** Result of a call with these paths; adds `path` to an error of the operating system. */
async function withPath(paths, call) {
  try {
    return await call()
  } catch (error) {
    if (error?.errno !== undefined && error.path === undefined) {
      // With several paths, the one that the sentence names.
      const path = paths.length === 1 ? paths[0] : paths.find((one) => error.message.includes(one))
      if (path !== undefined) error.path = path
    }
    throw error
  }
}

module.exports = { filePath, withPath }
