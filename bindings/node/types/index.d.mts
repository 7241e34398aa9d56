export * from './index.js'
import * as tenon from './index.js'
export default tenon
