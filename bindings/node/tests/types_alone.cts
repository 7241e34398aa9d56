// The same for require.
import tenon = require('tenon-llm')
export const open: typeof tenon.Model.open = tenon.Model.open
