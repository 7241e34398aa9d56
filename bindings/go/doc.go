// Package tenon runs language models inside a Go program.
//
//	model, err := tenon.OpenModel("demo-q8_0.gguf", nil)
//	session, err := tenon.NewSession(model, nil)
//	for piece := range session.Generate(ctx, "Once upon a time", nil) { // piece, err: with errors
//		fmt.Print(piece.Text)
//	}
//
// The library libtenon is loaded at run time: without cgo by default, through cgo with the build
// tag tenon_cgo; both behave alike. It is compared with the interface this package was made for
// before it is used.
//
// Every object has Close, which may be called at any time, in any order and from any goroutine:
// running calls return first, later ones are ErrState. An unclosed object is freed some time after
// it became unreachable. Any goroutine may use an object, but one at a time a Session, Sampler,
// Matcher, Reply or Generation: a second one gets ErrState. A callback must return: runtime.Goexit
// in one (testing.T.FailNow calls it) is not allowed.
package tenon

// Token is the index of a token in the vocabulary of its model.
type Token = int32
