/** Language models inside a program: the binding of libtenon. */
module tenon {
  exports tenon;
}
