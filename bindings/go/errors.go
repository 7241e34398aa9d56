package tenon

import (
	"context"
	"errors"
	"fmt"
)

// Code is what kind an error is of, ErrFormat to ErrInternal. It is an error itself, for errors.Is.
type Code int32

// Error is the name that tenon.h has for the code: "BUSY".
func (c Code) Error() string {
	if name, known := codeNames[c]; known {
		return name
	}
	return "UNKNOWN"
}

// Error is what the library reports. errors.Is finds its code, and where it ended by a context what ended that:
// context.Canceled, context.DeadlineExceeded.
type Error struct {
	Code    Code
	Message string // one sentence: what, where, value and limit
	cause   error
	ended   error // what Err of a context said that ended it
}

func (e *Error) Error() string { return "tenon: " + e.Message }

// Is says whether target is the code of the error, or what Err of its context said, whose cause may be another.
func (e *Error) Is(target error) bool {
	code, isCode := target.(Code)
	return isCode && code == e.Code || e.ended != nil && errors.Is(e.ended, target)
}

// Unwrap gives what is behind it: the cause of the end of a context, what an io.ReaderAt said, or the error of the
// operating system: errors.Is(err, fs.ErrNotExist) tells a missing file.
func (e *Error) Unwrap() error { return e.cause }

func failed(code Code, format string, values ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, values...)}
}

// ofContext tells that an error came of a context: of its end, or of its deadline, which the library keeps.
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

// ended is the error of a context that is over.
func ended(ctx context.Context) error {
	code := ErrCancelled
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code = ErrDeadline
	}
	cause := context.Cause(ctx)
	return &Error{Code: code, Message: cause.Error(), cause: cause, ended: ctx.Err()}
}
