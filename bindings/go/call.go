package tenon

import (
	"runtime"
	"strings"
	"syscall"
	"unsafe"
)

// Flags of call.use.
const (
	nullable  = 1 << iota
	whileBusy // allowed during another call on the handle
)

// First size of result buffers, in elements; most need no second call.
const firstCapacity = 256

// call is one call of a function of the library, with what it uses until it returns. It stays on
// its thread, because the library reports the last error per thread.
type call struct {
	function int
	err      error
	used     [4]struct {
		handle    *handle
		exclusive bool
	}
	numUsed int
	kept    *callback
	key     uintptr // of the kept entry
	keepKey uintptr // of the entry kept by the handle that the call makes
	pinner  runtime.Pinner
}

func begin(function int) *call {
	runtime.LockOSThread()
	c := &call{function: function}
	library := "libtenon"
	if c.ofServer() {
		library, c.err = "libtenon-server", loadServer()
	} else {
		c.err = load()
	}
	if c.err == nil && functions[function] == 0 {
		c.err = failed(ErrUnsupported, "this %s has no %s: it is another version", library, functionNames[function])
	}
	return c
}

func (c *call) ofServer() bool { return c.function >= numLibraryFunctions }

func (c *call) end() {
	runtime.UnlockOSThread()
	c.pinner.Unpin()
	if c.kept != nil {
		forget(c.key)
	}
	if c.keepKey != 0 {
		forget(c.keepKey)
	}
	for _, one := range c.used[:c.numUsed] {
		one.handle.leave(one.exclusive)
		if one.handle.owner != nil {
			one.handle.owner.leave(false)
		}
	}
}

// use returns the pointer of a handle for the time of the call; 0 with c.err.
func (c *call) use(h *handle, kind handleKind, flags int) uintptr {
	if c.err != nil || h == nil && flags&nullable != 0 {
		return 0
	}
	if h == nil || h.kind != kind {
		c.err = failed(ErrArgument, "a %s is needed", kinds[kind].name)
		return 0
	}
	exclusive := kinds[kind].oneAtATime && flags&whileBusy == 0
	if h.owner != nil {
		if _, c.err = h.owner.enter(false); c.err != nil {
			return 0
		}
	}
	pointer, err := h.enter(exclusive)
	if err != nil {
		if h.owner != nil {
			h.owner.leave(false)
		}
		c.err = err
		return 0
	}
	c.used[c.numUsed].handle, c.used[c.numUsed].exclusive = h, exclusive
	c.numUsed++
	return pointer
}

// done returns the error of a status. A callback's error comes first; a callback's panic resumes.
func (c *call) done(status int32) error {
	if c.kept != nil {
		if c.kept.hasPanicked {
			panic(c.kept.panicked)
		}
		if c.kept.err != nil {
			return c.kept.err
		}
	}
	if status == OK {
		return nil
	}
	if c.ofServer() {
		return &Error{Code: Code(status), Message: nameAt(callServerLastError())}
	}
	err := &Error{Code: Code(status), Message: nameAt(callLastError())}
	if status == int32(ErrIO) && functions[fnLastSystemError] != 0 {
		if number := callLastSystemError(); number != 0 {
			err.cause = syscall.Errno(number)
		}
	}
	return err
}

// callback registers a function that C calls during the call: the address of the function that C
// knows, and its `user` argument. isNil: there is none.
func (c *call) callback(address uintptr, function any, isNil bool) (uintptr, uintptr) {
	if isNil || c.err != nil {
		return 0, 0
	}
	c.kept = &callback{function: function}
	c.key = remember(c.kept)
	return address, c.key
}

// keep registers an entry that C calls while the handle that the call makes exists; the handle gets
// it by keeper.
func (c *call) keep(address uintptr, entry any, isNil bool) (uintptr, uintptr) {
	if isNil || c.err != nil {
		return 0, 0
	}
	c.keepKey = remember(entry)
	return address, c.keepKey
}

func (c *call) keeper(made *handle) *handle {
	made.key, c.keepKey = c.keepKey, 0
	return made
}

// name is a text for C, with a NUL at its end.
func (c *call) name(text string) []byte {
	if c.err == nil && strings.IndexByte(text, 0) >= 0 {
		c.err = failed(ErrArgument, "%q holds a NUL", text)
	}
	return append([]byte(text), 0)
}

// Texts in structures, pinned for the time of the call.

func (c *call) pinnedText(text string) (unsafe.Pointer, uint64) {
	if text != "" {
		c.pinner.Pin(unsafe.StringData(text))
	}
	return textPointer(text), uint64(len(text))
}

func (c *call) pinnedBytes(text []byte) (unsafe.Pointer, uint64) {
	if len(text) == 0 {
		return nil, 0
	}
	c.pinner.Pin(&text[0])
	return slicePointer(text), uint64(len(text))
}

func (c *call) pinnedOption(text Opt[string]) (unsafe.Pointer, uint64) {
	if !text.isSet {
		return nil, 0
	}
	return c.pinned(c.name(text.value)), uint64(len(text.value))
}

// pinnedName is NULL if the text is empty.
func (c *call) pinnedName(text string) unsafe.Pointer {
	return c.pinnedNameOption(Opt[string]{text, text != ""})
}

func (c *call) pinnedNameOption(text Opt[string]) unsafe.Pointer {
	if !text.isSet {
		return nil
	}
	return c.pinned(c.name(text.value))
}

// pinnedLines are options as lines of "key=value".
func (c *call) pinnedLines(given optionSet) unsafe.Pointer {
	lines, err := optionLines(given)
	if err != nil && c.err == nil {
		c.err = err
	}
	return c.pinnedName(lines)
}

func (c *call) pinned(bytes []byte) unsafe.Pointer {
	c.pinner.Pin(&bytes[0])
	return unsafe.Pointer(&bytes[0])
}

func truth(value bool) uint32 {
	if value {
		return 1
	}
	return 0
}

func textPointer(text string) unsafe.Pointer {
	if text == "" {
		return nil
	}
	return unsafe.Pointer(unsafe.StringData(text))
}

func slicePointer[T any](values []T) unsafe.Pointer {
	return unsafe.Pointer(unsafe.SliceData(values))
}

func bytesAt(place unsafe.Pointer, length uint64) []byte {
	return copyOf[byte](place, length)
}

func textAt(place unsafe.Pointer, length uint64) string {
	if place == nil || length == 0 {
		return ""
	}
	return strings.Clone(unsafe.String((*byte)(place), length))
}

func copyOf[T any](place unsafe.Pointer, count uint64) []T {
	if place == nil || count == 0 {
		return nil
	}
	return append([]T(nil), unsafe.Slice((*T)(place), count)...)
}

// nameAt copies a text that ends in a NUL.
func nameAt(place unsafe.Pointer) string {
	if place == nil {
		return ""
	}
	length := 0
	for *(*byte)(unsafe.Add(place, length)) != 0 {
		length++
	}
	return textAt(place, uint64(length))
}
