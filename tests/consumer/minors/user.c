/* A library of a stranger's that was built against one version of Tenon: ANSWER tells which it met. */
const char* tenon_version_text(void);
const char* ANSWER(void);
const char* ANSWER(void) { return tenon_version_text(); }
