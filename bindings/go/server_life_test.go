package tenon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	sockets "net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The server: contexts, goroutines, and the ends of things.

func TestModelEngineServerAndAnswerMayBeClosedInAnyOrder(t *testing.T) {
	for order := range 24 {
		model := must(OpenModel(demo, &ModelOptions{Threads: Set(1)}))
		engine := must(NewEngine(model, nil))
		server := must(NewServer(nil))
		if err := errors.Join(server.AddEngine("engine", engine, 0), server.Add("demo", model, nil, 0),
			server.Start(0)); err != nil {
			t.Fatal(err)
		}
		name := []string{"engine", "demo"}[order%2]
		answer := must(server.Request(context.Background(), ServerRequest{Method: "POST", Target: chatPath,
			Body: append([]byte(`{"model": "`+name+`", `), endless[1:]...)}))
		things := []io.Closer{model, engine, server, answer}
		for left := order; len(things) > 0; {
			index := left % len(things)
			left /= len(things)
			closed := things[index]
			closed.Close()
			things = append(things[:index:index], things[index+1:]...)
			if closed == io.Closer(server) && slices.Contains(things, io.Closer(answer)) {
				_, err := io.ReadAll(answer)
				wantCode(t, err, ErrCancelled)
			}
			if slices.Contains(things, io.Closer(server)) && (model.handle.pointer == 0 || engine.handle.pointer == 0) {
				t.Errorf("order %d: what the server needs has been destroyed", order)
			}
			isServed := closed != io.Closer(answer) && closed != io.Closer(server)
			buffer := make([]byte, 1<<16)
			for n := 0; isServed && n < len(buffer); { // what the server needs is there
				read, err := answer.Read(buffer)
				if n += read; err != nil {
					if !errors.Is(err, ErrCancelled) || len(things) == 3 {
						t.Errorf("order %d: %v", order, err)
					}
					break
				}
				n += 1 << 14
			}
		}
		_, err := io.ReadAll(answer)
		wantCode(t, err, ErrCancelled)
		_, err = server.Request(context.Background(), ServerRequest{Method: "GET", Target: "/v1/models"})
		wantCode(t, err, ErrState)
		wantCode(t, server.Start(0), ErrState)
		wantCode(t, server.Run(), ErrState)
		wantCode(t, server.Stop(0), ErrState)
		for _, handle := range []*handle{model.handle, engine.handle, server.handle, answer.handle} {
			if handle.pointer != 0 || len(handle.holds) > 0 {
				t.Errorf("order %d: a %s is still there", order, kinds[handle.kind].name)
			}
		}
	}
}

func TestTheContextEndsARequestToTheServer(t *testing.T) {
	engine := must(NewEngine(openDemo(t, &ModelOptions{Threads: Set(1)}), nil))
	server := must(NewServer(nil))
	defer server.Close()
	if err := errors.Join(server.AddEngine("demo", engine, 0), server.Start(0)); err != nil {
		t.Fatal(err)
	}
	request := ServerRequest{Method: "POST", Target: chatPath, Body: endless}
	ctx, cancel := context.WithCancel(context.Background())
	answer := must(server.Request(ctx, request))
	time.AfterFunc(20*time.Millisecond, cancel)
	_, err := io.ReadAll(answer)
	wantCode(t, err, ErrCancelled)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v is not context.Canceled", err)
	}
	late, release := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer release()
	if answer, err = server.Request(late, request); err == nil {
		_, err = io.ReadAll(answer)
	}
	wantCode(t, err, ErrDeadline)
	if _, err = server.Request(late, request); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a context that has ended gave %v", err)
	}
	// One that nobody reads ends, too, and so does one that is closed while it is waited for.
	ctx, cancel = context.WithCancel(context.Background())
	unread := must(server.Request(ctx, request))
	defer runtime.KeepAlive(unread)
	cancel()
	answer = must(server.Request(context.Background(), request))
	time.AfterFunc(20*time.Millisecond, func() { answer.Close() })
	_, err = io.ReadAll(answer)
	wantCode(t, err, ErrCancelled)
	for range 200 {
		if stats := must(engine.Stats()); stats.Running == 0 && stats.Waiting == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%+v: a request was not cancelled", must(engine.Stats()))
}

func TestWaitingForAnAnswerThatDoesNotComeEnds(t *testing.T) {
	server := newTestServer(t, nil)
	server.hasBegun = true // which it has not
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	request := ServerRequest{Method: "POST", Target: chatPath, Body: endless}
	_, err := server.Request(ctx, request)
	wantCode(t, err, ErrDeadline)
	request.notify = make(notice, 1)
	answer := &ServerAnswer{handle: must(serverSubmit(server.handle, &request)), ctx: context.Background(),
		told: request.notify, Status: 200}
	time.AfterFunc(20*time.Millisecond, func() { answer.Close() })
	_, err = io.ReadAll(answer)
	wantCode(t, err, ErrCancelled)
}

func TestAnAnswerInUseRefusesASecondGoroutine(t *testing.T) {
	server := newTestServer(t, nil)
	if err := server.Start(0); err != nil {
		t.Fatal(err)
	}
	answer := must(server.Request(context.Background(), ServerRequest{Method: "POST", Target: chatPath, Body: endless}))
	for _, err := range answer.Parts() {
		if err == nil { // the lock is only held while it takes
			_, err = answer.Read(make([]byte, 1))
		}
		if err != nil {
			t.Error(err)
		}
		break
	}
	answer.mutex.Lock()
	_, err := answer.Read(nil)
	wantCode(t, err, ErrState)
	for _, err := range answer.Parts() {
		wantCode(t, err, ErrState)
	}
	answer.mutex.Unlock()
	if count, err := answer.Read(nil); count != 0 || err != nil {
		t.Errorf("%d, %v", count, err)
	}
	if err := server.Stop(0); err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(answer)
	wantCode(t, err, ErrCancelled)
	answer.Close()
}

func TestManyRequestsToTheServerAndCloseAmongThem(t *testing.T) {
	server, address := runningServer(t, nil)
	var group sync.WaitGroup
	answered := make(chan string, 64)
	for index := range 64 {
		group.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if index%4 == 1 {
				time.AfterFunc(time.Duration(index)*time.Millisecond, cancel)
			}
			answer, err := server.Request(ctx, ServerRequest{Method: "POST", Target: chatPath,
				Body: capital(`, "stream": true`)})
			if err == nil && index%4 == 2 {
				time.AfterFunc(time.Duration(index)*time.Millisecond, func() { answer.Close() })
			}
			var text []byte
			if err == nil {
				text, err = io.ReadAll(answer)
			}
			if err != nil && (index%4 == 0 || index%4 == 3 || !errors.Is(err, ErrCancelled)) {
				t.Errorf("request %d: %v", index, err)
			} else if err == nil && index%4 != 3 {
				answered <- string(text)
			} // else the net closes it
		})
		if index%8 == 0 {
			group.Go(func() {
				if said := post(t, http.DefaultClient, address, capital("")); !strings.Contains(said, answerOfDemo) {
					t.Error(said)
				}
			})
			group.Go(runtime.GC)
		}
	}
	group.Wait()
	close(answered)
	count := 0
	for events := range answered {
		if said := contents(t, events); said != answerOfDemo {
			t.Error(said)
		}
		count++
	}
	if count < 16 {
		t.Errorf("%d were answered", count)
	}
	// Those that stop it and those that ask, all at once.
	for index := range 8 {
		group.Go(func() {
			_, err := server.Request(context.Background(), ServerRequest{Method: "POST", Target: chatPath, Body: endless})
			if !allowed(err) {
				t.Error(err)
			}
		})
		group.Go(func() {
			err := server.Stop(time.Duration(index) * time.Second)
			if index%2 == 0 {
				err = errors.Join(err, server.Close())
			}
			if !allowed(err) {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

func TestAServerThatRunsIsKeptAndOneThatDoesNotIsFreed(t *testing.T) {
	var handles []*handle
	var address string
	func() {
		must(NewServer(nil)).ListenUnix(filepath.Join(t.TempDir(), "socket"))
		server := must(NewServer(nil))
		model := must(OpenModel(demo, nil))
		if err := server.Add("demo", model, nil, 0); err != nil {
			t.Fatal(err)
		}
		handles = append(handles, server.handle, model.handle)
		running := must(NewServer(nil))
		if err := running.Add("demo", must(OpenModel(demo, nil)), nil, 0); err != nil {
			t.Fatal(err)
		}
		address = fmt.Sprintf("http://127.0.0.1:%d", must(running.Listen("127.0.0.1", 0)))
		if err := running.Start(0); err != nil {
			t.Fatal(err)
		}
		key := running.key // nothing else refers to it
		t.Cleanup(func() { entryOf(key).(*Server).Close() })
	}()
	for _, handle := range handles {
		for range 1000 {
			runtime.GC()
			time.Sleep(time.Millisecond)
			if !handle.isLive() {
				break
			}
		}
		if handle.isLive() {
			t.Errorf("a %s is still there", kinds[handle.kind].name)
		}
	}
	if said := post(t, http.DefaultClient, address, capital("")); !strings.Contains(said, answerOfDemo) {
		t.Error(said)
	}
}

func TestAServerLeavesNothingBehind(t *testing.T) {
	model := openDemo(t, &ModelOptions{Threads: Set(1)})
	use := func() {
		server := must(NewServer(&ServerOptions{Log: func(int, string) {}}))
		if err := errors.Join(server.Add("demo", model, nil, 0), server.Start(0)); err != nil {
			t.Fatal(err)
		}
		ask(t, server, capital(""))
		server.Close()
		_ = server.Run()
	}
	use()
	count := func() (int, int) {
		registry.mutex.Lock()
		defer registry.mutex.Unlock()
		return len(must(os.ReadDir("/proc/self/fd"))), len(registry.entries)
	}
	descriptors, entries := count()
	for range 10 {
		use()
	}
	if d, e := count(); d > descriptors || e > entries || model.handle.calls != 0 {
		t.Errorf("%d descriptors became %d, %d entries %d, %d hold the model", descriptors, d, entries, e,
			model.handle.calls)
	}
}

func TestExitWithTheServerUnderWay(t *testing.T) {
	if err := exitOf("server", 0.1); err != nil {
		t.Error(err)
	}
}

func TestAProcessThatTheProgramStartsHasNothingOfTheServer(t *testing.T) {
	server, address := runningServer(t, nil)
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	for _, entry := range must(os.ReadDir(fmt.Sprintf("/proc/%d/fd", child.Process.Pid))) {
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", child.Process.Pid, entry.Name()))
		if err == nil && strings.HasPrefix(link, "socket:") {
			t.Errorf("it has %s", link)
		}
	}
	server.Close()
	if _, err := sockets.Dial("tcp", address[len("http://"):]); err == nil {
		t.Error("the port is still taken")
	}
}

func TestAServerLibraryThatDoesNotFitIsRefusedWithASentence(t *testing.T) {
	must(Library())
	nowhere := filepath.Join(t.TempDir(), "libtenon-server.so.0.1")
	_, err := openServer(nowhere, nowhere)
	wantCode(t, err, ErrUnsupported)
	if !strings.Contains(err.Error(), "libtenon-server cannot be loaded: ") {
		t.Error(err)
	}
	text := string(must(os.ReadFile(filepath.Join(root, "bindings/server_interface.json"))))
	fits, changed := new(bytes.Buffer), new(bytes.Buffer)
	if err := errors.Join(json.Compact(fits, []byte(text)),
		json.Compact(changed, []byte(strings.Replace(text, `"name": "api_keys",`, `"name": "keys",`, 1)))); err != nil {
		t.Fatal(err)
	}
	for description, wanted := range map[string]string{
		fits.String():    "works with another libtenon than ",
		changed.String(): "tenon_server_options.api_keys is missing",
		"":               "too old",
	} {
		path := fakeServerLibrary(t, description)
		_, err := openServer(path, path)
		wantCode(t, err, ErrUnsupported)
		if !strings.Contains(err.Error(), wanted) {
			t.Errorf("%v does not say %q", err, wanted)
		}
	}
}
