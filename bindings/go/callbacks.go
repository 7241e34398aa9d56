package tenon

import (
	"io"
	"sync"
	"unsafe"
)

// C gets a key as `user`, never a pointer of Go.
var registry struct {
	mutex   sync.Mutex
	last    uintptr
	entries map[uintptr]any
}

func remember(entry any) uintptr {
	registry.mutex.Lock()
	defer registry.mutex.Unlock()
	if registry.entries == nil {
		registry.entries = map[uintptr]any{}
	}
	registry.last++
	registry.entries[registry.last] = entry
	return registry.last
}

func forget(key uintptr) {
	registry.mutex.Lock()
	defer registry.mutex.Unlock()
	delete(registry.entries, key)
}

func entryOf(key uintptr) any {
	registry.mutex.Lock()
	defer registry.mutex.Unlock()
	return registry.entries[key]
}

// callback is a function that is called during a call, and its result.
type callback struct {
	function    any
	err         error
	panicked    any
	hasPanicked bool
}

func keptOf(key uintptr) *callback {
	if model, isModel := entryOf(key).(*loading); isModel {
		return &model.callback
	}
	return entryOf(key).(*callback)
}

// run calls Go for C. Nothing is thrown through C: an error or a panic ends the library's call.
func (k *callback) run(function func() error) (ends int32) {
	if k.err != nil || k.hasPanicked {
		return 1
	}
	isDone := false
	defer func() {
		if !isDone {
			k.hasPanicked, k.panicked, ends = true, recover(), 1
		}
	}()
	k.err = function()
	isDone = true
	if k.err != nil {
		return 1
	}
	return 0
}

// notice wakes a generation that may have a piece.
type notice chan struct{}

func (n notice) tell() {
	select {
	case n <- struct{}{}:
	default: // already notified
	}
}

// onNotify runs on any thread, and only notifies.
func onNotify(user uintptr) {
	if told, isThere := entryOf(user).(notice); isThere {
		told.tell()
	}
}

// loading is the `user` of a model's callbacks while the library may call them.
type loading struct {
	callback
	log func(level int, line string)
}

func onLog(user uintptr, level uint32, text unsafe.Pointer, length uint64) {
	log := entryOf(user).(*loading).log
	defer func() { _ = recover() }() // no call could report it
	log(int(level), textAt(text, length))
}

// onPost gives a task to a goroutine.
func onPost(_, task, argument uintptr) { go callTask(task, argument) }

// reading is the `user` of a source with a reader.
type reading struct {
	reader io.ReaderAt
	mutex  sync.Mutex
	err    error // the first
}

func onRead(user uintptr, offset uint64, buffer unsafe.Pointer, size uint64) (count int64) {
	from := entryOf(user).(*reading)
	var err error = failed(ErrIO, "the reader panicked")
	defer func() {
		_ = recover()
		if err != nil && err != io.EOF {
			count = -1
			from.mutex.Lock()
			defer from.mutex.Unlock()
			if from.err == nil {
				from.err = err
			}
		}
	}()
	read := 0
	read, err = from.reader.ReadAt(unsafe.Slice((*byte)(buffer), size), int64(offset))
	return int64(read)
}
