// The addon of this machine.
'use strict'

// Old syntax, for runtimes that are refused here.
const fs = require('fs')
const path = require('path')

const MADE_FOR = 8

const folder = path.join(__dirname, '..', 'prebuilt', `${process.platform}-${process.arch}`)
const addon = path.join(folder, 'tenon.node')
if (!fs.existsSync(addon)) {
  if (!fs.existsSync(path.dirname(folder))) {
    throw new Error(`the addon of tenon is not beside ${__dirname}: bundlers must leave the package out ` +
      '(esbuild: --external:tenon)')
  }
  const others = fs.readdirSync(path.dirname(folder)).join(', ')
  throw new Error(`this package of tenon holds no addon for ${path.basename(folder)}, but for: ${others}`)
}

// A function that is missing would end the process when it is called.
if (Number(process.versions.napi) < MADE_FOR) {
  throw new Error(`tenon needs Node-API ${MADE_FOR} (Node 20, Electron 29 and later), not ${process.versions.napi} as ` +
    `Node ${process.versions.node}${process.versions.electron ? `, Electron ${process.versions.electron},` : ''} has it`)
}

module.exports = require(addon)
