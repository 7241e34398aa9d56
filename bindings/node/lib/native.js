// The addon of this machine.
'use strict'

// Old syntax, for runtimes that are refused here.
const path = require('path')

const MADE_FOR = 8

const addon = path.join(require('./platform.js'), 'tenon.node')

// A function that is missing would end the process when it is called.
if (Number(process.versions.napi) < MADE_FOR) {
  throw new Error(`tenon needs Node-API ${MADE_FOR} (Node 20, Electron 29 and later), not ${process.versions.napi} as ` +
    `Node ${process.versions.node}${process.versions.electron ? `, Electron ${process.versions.electron},` : ''} has it`)
}

module.exports = require(addon)
