/* A program with two libraries in it that were built against two versions of Tenon. */
#include <stdio.h>
const char* answer_of_this(void);
const char* answer_of_next(void);
int main(void) {
  printf("%s %s\n", answer_of_this(), answer_of_next());
  return 0;
}
