// The addon of this machine.
'use strict'

const fs = require('node:fs')
const path = require('node:path')

const folder = path.join(__dirname, '..', 'prebuilt', `${process.platform}-${process.arch}`)
const addon = path.join(folder, 'tenon.node')
if (!fs.existsSync(addon)) {
  const others = fs.existsSync(path.dirname(folder)) ? fs.readdirSync(path.dirname(folder)).join(', ') : 'none'
  throw new Error(`this package of tenon holds no addon for ${path.basename(folder)}, but for: ${others}`)
}

module.exports = require(addon)
