// embed, ngram_rows and gather_rows: rows of a table, numbered by the step.

TENON_DEVICE uint token_of(uint row) {
  Step step = Step(stage.step);
  const int token = Ints(step.header.token_ids).at[row];
  return uint(token >= 0 ? token : Ints(step.header.drawn_tokens).at[-1 - token]);
}

TENON_DEVICE uint number_of(uint row, uint head) {
  Step step = Step(stage.step);
  switch (stage.source) {
    case kRowsByToken:
      return token_of(row);
    case kRowsByPosition:
      return uint(Ints(step.header.positions).at[row * stage.position_parts]);
    case kRowsByOutput:
      return Words(step.header.output_rows).at[row];
    default:
      return Words(step.header.ngram_rows)
          .at[step.header.tokens * stage.first_number + row * stage.heads + head];
  }
}

TENON_DEVICE void run() {
  const uint row = group_y();
  const uint columns = stage.columns;
  Floats y = Floats(stage.y);
  for (uint head = 0; head < stage.heads; ++head) {
    const Address from = stage.table + number_of(row, head) * stage.row_bytes;
    const uint to = (row * stage.heads + head) * columns;
    for (uint c = 8 * global_thread(); c < columns; c += 8 * num_groups() * num_threads()) {
      float w[8];
      decode8(from, c, stage.grids, w);
      for (uint i = 0; i < 8 && c + i < columns; ++i) y.at[to + c + i] = w[i];
    }
  }
}
