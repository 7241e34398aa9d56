package tenon

import (
	"runtime"
	"sync"
)

type handleKind int

type kindInfo struct {
	name       string
	oneAtATime bool
	destroy    func(pointer uintptr)
}

// A handle of the library with its running calls: destroying waits for the last one to return.
type handle struct {
	mutex     sync.Mutex
	pointer   uintptr // 0: destroyed
	kind      handleKind
	calls     int  // running
	exclusive bool // one of them excludes others
	doomed    bool // to be destroyed when the last one returns
	owner     *handle
	key       uintptr     // C's key of a request; removed after it
	release   func() bool // called after destruction
	keep      any         // memory that the library may read while the handle exists
	holds     []*handle   // handles that must outlive it: a call on each is running
}

// newHandle takes ownership of a pointer of the library; with owner, which lends it, it is not
// destroyed.
func newHandle(kind handleKind, pointer uintptr, owner *handle) *handle {
	if pointer == 0 {
		return nil
	}
	return &handle{kind: kind, pointer: pointer, owner: owner}
}

// destroy frees the object, now or when running calls return.
func (h *handle) destroy() {
	h.mutex.Lock()
	if h.calls > 0 {
		h.doomed = true
		h.mutex.Unlock()
		return
	}
	h.destroyLocked()
}

// destroyLocked unlocks, because destroying may wait.
func (h *handle) destroyLocked() {
	pointer, release, holds := h.pointer, h.release, h.holds
	h.pointer, h.release, h.holds = 0, nil, nil
	h.mutex.Unlock()
	if pointer == 0 {
		return
	}
	if h.owner == nil {
		kinds[h.kind].destroy(pointer)
	}
	if h.key != 0 {
		forget(h.key)
	}
	if release != nil {
		release()
	}
	for _, held := range holds {
		held.leave(false)
	}
}

// hold makes another handle outlive this one; if this one's call then fails, it calls letGo.
func (h *handle) hold(other *handle) error {
	if _, err := other.enter(false); err != nil {
		return err
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.holds = append(h.holds, other)
	return nil
}

// letGo releases the last count holds.
func (h *handle) letGo(count int) {
	h.mutex.Lock()
	first := max(len(h.holds)-count, 0) // a destroyed handle has none left
	ended := h.holds[first:]
	h.holds = h.holds[:first:first]
	h.mutex.Unlock()
	for _, held := range ended {
		held.leave(false)
	}
}

// whenDestroyed calls release when the handle has been destroyed; at once if it is.
func (h *handle) whenDestroyed(release func() bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.pointer == 0 {
		release()
		return
	}
	h.release = release
}

func (h *handle) isLive() bool {
	if h == nil {
		return false
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.pointer != 0 && !h.doomed
}

// enter begins a call. exclusive: refused while another such call is running.
func (h *handle) enter(exclusive bool) (uintptr, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	name := kinds[h.kind].name
	if h.pointer == 0 || h.doomed {
		return 0, failed(ErrState, "the %s has been closed", name)
	}
	if exclusive && h.exclusive {
		return 0, failed(ErrState, "the %s is in use by another call; only cancelling and closing may interrupt", name)
	}
	h.calls++
	h.exclusive = h.exclusive || exclusive
	return h.pointer, nil
}

func (h *handle) leave(exclusive bool) {
	h.mutex.Lock()
	h.calls--
	if exclusive {
		h.exclusive = false
	}
	if h.calls == 0 && h.doomed {
		h.destroyLocked()
		return
	}
	h.mutex.Unlock()
}

// object is the base of all objects.
type object struct {
	handle *handle
}

// Close frees the object, at once or when running calls return. It always returns nil.
func (o *object) Close() error {
	if o.handle != nil {
		o.handle.destroy()
	}
	return nil
}

// Closed reports whether it was closed.
func (o *object) Closed() bool { return !o.handle.isLive() }

// net destroys the handle some time after its object became unreachable.
func net[T any](of *T, h *handle) *T {
	runtime.AddCleanup(of, (*handle).destroy, h)
	return of
}
