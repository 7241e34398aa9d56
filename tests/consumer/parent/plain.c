/* A program of the parent's own. */
int main(void) { return 0; }
