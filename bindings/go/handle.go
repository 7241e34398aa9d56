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

// A handle of the library with the calls under way on it: destroying puts itself off until the last returns.
type handle struct {
	mutex     sync.Mutex
	pointer   uintptr // 0: destroyed
	kind      handleKind
	calls     int  // under way
	exclusive bool // one of them refuses others
	doomed    bool // to be destroyed when the last of them returns
	owner     *handle
	key       uintptr     // by which C tells of a request; forgotten after it
	release   func() bool // called when it has been destroyed
	keep      any         // what the library may read as long as the handle is there
	holds     []*handle   // what must outlive it: a call on each is under way
}

// newHandle takes over what the library made; owner: what lends it, then it is not destroyed.
func newHandle(kind handleKind, pointer uintptr, owner *handle) *handle {
	if pointer == 0 {
		return nil
	}
	return &handle{kind: kind, pointer: pointer, owner: owner}
}

// destroy frees what is behind the handle, now or when the calls under way return.
func (h *handle) destroy() {
	h.mutex.Lock()
	if h.calls > 0 {
		h.doomed = true
		h.mutex.Unlock()
		return
	}
	h.destroyLocked()
}

// destroyLocked unlocks, since destroying may wait.
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

// hold has another handle outlive this one; what then fails on this one calls letGo.
func (h *handle) hold(other *handle) error {
	if _, err := other.enter(false); err != nil {
		return err
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.holds = append(h.holds, other)
	return nil
}

// letGo ends the last count holds.
func (h *handle) letGo(count int) {
	h.mutex.Lock()
	first := max(len(h.holds)-count, 0) // none are left of one that has been destroyed
	ended := h.holds[first:]
	h.holds = h.holds[:first:first]
	h.mutex.Unlock()
	for _, held := range ended {
		held.leave(false)
	}
}

// whenDestroyed has release called when the handle has been destroyed; at once if it is.
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

// enter begins a call. exclusive: refused while another such call is under way.
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

// object is what all objects share.
type object struct {
	handle *handle
}

// Close frees what is behind the object, at once or when the calls under way return. It always returns nil.
func (o *object) Close() error {
	if o.handle != nil {
		o.handle.destroy()
	}
	return nil
}

// Closed says whether it was closed.
func (o *object) Closed() bool { return !o.handle.isLive() }

// net has the handle destroyed some time after its object became unreachable.
func net[T any](of *T, h *handle) *T {
	runtime.AddCleanup(of, (*handle).destroy, h)
	return of
}
