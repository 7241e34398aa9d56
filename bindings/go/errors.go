package tenon

import (
	"context"
	"errors"
	"fmt"
)

// Code is the kind of an error, ErrFormat to ErrInternal. It is an error itself, for errors.Is.
type Code int32

// Error returns the code's name in tenon.h: "BUSY".
func (c Code) Error() string {
	if name, known := codeNames[c]; known {
		return name
	}
	return "UNKNOWN"
}

// Error is an error of the library. errors.Is finds its code, and if a context ended the call, the
// context's error: context.Canceled, context.DeadlineExceeded.
type Error struct {
	Code    Code
	Message string // one sentence: what, where, value and limit
	cause   error
	ended   error // Err of the context that ended it
}

func (e *Error) Error() string { return "tenon: " + e.Message }

// Is reports whether target is the error's code, or Err of its context, whose cause may differ.
func (e *Error) Is(target error) bool {
	code, isCode := target.(Code)
	return isCode && code == e.Code || e.ended != nil && errors.Is(e.ended, target)
}

// Unwrap returns the cause: of the end of a context, of an io.ReaderAt, or of the operating system:
// errors.Is(err, fs.ErrNotExist) reports a missing file.
func (e *Error) Unwrap() error { return e.cause }

func failed(code Code, format string, values ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, values...)}
}

// ofContext marks an error as a context's: of its end, or of its deadline, which the library keeps.
func ofContext(ctx context.Context, err error) error {
	var known *Error
	if !errors.As(err, &known) {
		return err
	}
	switch {
	case known.Code == ErrCancelled && ctx.Err() != nil:
		return ended(ctx)
	case known.Code == ErrDeadline:
		return &Error{Code: known.Code, Message: known.Message, cause: context.DeadlineExceeded}
	}
	return err
}

// ended is the error of an ended context.
func ended(ctx context.Context) error {
	code := ErrCancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = ErrDeadline
	}
	cause := context.Cause(ctx)
	return &Error{Code: code, Message: cause.Error(), cause: cause, ended: ctx.Err()}
}
