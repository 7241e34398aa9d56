// The same for require.
import tenon = require('tenon')
export const open: typeof tenon.Model.open = tenon.Model.open
