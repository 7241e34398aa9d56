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
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// The server: over HTTP by Go's own client, and without a socket.

const chatPath = "/v1/chat/completions"

// capital is a request for a chat; more: further fields, each after a comma.
func capital(more string) []byte {
	return []byte(`{"messages": [{"role": "user", "content": "What is the capital of Norway?"}], "temperature": 0` +
		more + `}`)
}

// endless is a stream that ends by being cancelled.
var endless = capital(`, "stream": true, "ignore_eos": true, "max_tokens": 1900`)

// newTestServer serves the demo model, and runs.
func newTestServer(t testing.TB, options *ServerOptions) *Server {
	t.Helper()
	server := must(NewServer(options))
	t.Cleanup(func() { server.Close() })
	if err := server.Add("demo", openDemo(t, &ModelOptions{Threads: Set(1)}), nil, 0); err != nil {
		t.Fatal(err)
	}
	return server
}

func runningServer(t testing.TB, options *ServerOptions) (*Server, string) {
	t.Helper()
	server := newTestServer(t, options)
	port, err := server.Listen("127.0.0.1", 0)
	if err == nil {
		err = server.Start(0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return server, fmt.Sprintf("http://127.0.0.1:%d", port)
}

func post(t *testing.T, client *http.Client, address string, body []byte) string {
	t.Helper()
	answer, err := client.Post(address+chatPath, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return string(must(io.ReadAll(answer.Body)))
}

// ask gives the whole answer of a request without a socket.
func ask(t *testing.T, server *Server, body []byte) (*ServerAnswer, string) {
	t.Helper()
	answer, err := server.Request(context.Background(), ServerRequest{Method: "POST", Target: chatPath, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	text, err := io.ReadAll(answer)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// contents joins what the events of a stream bring.
func contents(t *testing.T, events string) string {
	t.Helper()
	var text strings.Builder
	isDone := false
	for line := range strings.Lines(events) {
		data, isData := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if isDone = isDone || data == "[DONE]"; !isData || data == "[DONE]" {
			continue
		}
		var event struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &event); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		for _, choice := range event.Choices {
			text.WriteString(choice.Delta.Content)
		}
	}
	if !isDone {
		t.Errorf("the stream did not end: %s", events)
	}
	return text.String()
}

const answerOfDemo = "The capital of Norway is Oslo."

func TestTheServerAnswersOverHTTP(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "socket")
	server := newTestServer(t, nil)
	port := must(server.Listen("127.0.0.1", 0))
	if err := errors.Join(server.ListenUnix(socket), server.Start(0)); err != nil || port == 0 {
		t.Fatal(err, port)
	}
	address := fmt.Sprintf("http://127.0.0.1:%d", port)
	if said := post(t, http.DefaultClient, address, capital("")); !strings.Contains(said, answerOfDemo) {
		t.Error(said)
	}
	if said := contents(t, post(t, http.DefaultClient, address, capital(`, "stream": true`))); said != answerOfDemo {
		t.Error(said)
	}
	local := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (sockets.Conn, error) {
		return sockets.Dial("unix", socket)
	}}}
	if said := post(t, local, "http://local", capital("")); !strings.Contains(said, answerOfDemo) {
		t.Error(said)
	}
	if err := server.Stop(time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := sockets.Dial("tcp", address[len("http://"):]); err == nil || isFile(socket) {
		t.Errorf("it listens after Stop: %v", err)
	}
	wantCode(t, server.Start(0), ErrState)
}

func TestTheServerAnswersWithoutASocket(t *testing.T) {
	server := newTestServer(t, nil)
	if err := server.Start(0); err != nil {
		t.Fatal(err)
	}
	answer, text := ask(t, server, capital(""))
	if answer.Status != 200 || answer.ContentType != "application/json" || answer.Header["X-Request-Id"] == "" ||
		!strings.Contains(text, answerOfDemo) {
		t.Errorf("%+v: %s", answer, text)
	}
	stream := must(server.Request(context.Background(), ServerRequest{Method: "POST", Target: chatPath,
		Body: capital(`, "stream": true`)}))
	defer stream.Close()
	var events strings.Builder
	for part, err := range stream.Parts() {
		if err != nil {
			t.Fatal(err)
		}
		events.Write(part)
	}
	if said := contents(t, events.String()); said != answerOfDemo || stream.ContentType != "text/event-stream" {
		t.Errorf("%q of %q", said, stream.ContentType)
	}
	for range stream.Parts() {
		t.Error("something came after the end")
	}
	for target, status := range map[string]int{"/v1/models": 200, "/nowhere": 404, chatPath: 405} {
		answer := must(server.Request(context.Background(), ServerRequest{Method: "GET", Target: target}))
		if text, err := io.ReadAll(answer); err != nil || answer.Status != status || !json.Valid(text) {
			t.Errorf("%s: %d, %v, %s", target, answer.Status, err, text)
		}
	}
	if answer, text := ask(t, server, []byte("{")); answer.Status != 400 || !strings.Contains(text, "error") {
		t.Errorf("%d %s", answer.Status, text)
	}
	_, err := server.Request(context.Background(), ServerRequest{Target: "/"})
	wantCode(t, err, ErrArgument)
}

func TestTheServerUsesAnEngineOfTheProgram(t *testing.T) {
	model := openDemo(t, &ModelOptions{Threads: Set(1)})
	engine := must(NewEngine(model, nil))
	server := must(NewServer(nil))
	defer server.Close()
	if err := errors.Join(server.AddEngine("demo", engine, 512), server.Start(0)); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, said := ask(t, server, capital("")); !strings.Contains(said, answerOfDemo) {
				t.Error(said)
			}
		})
		group.Go(func() {
			text, err := Collect(engine.Stream(context.Background(), once, &GenerateOptions{MaxTokens: 8, Sampling: greedy}))
			if err != nil || !strings.HasPrefix(text, " there was a") {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	group.Wait()
	if stats := must(engine.Stats()); stats.Finished != 16 {
		t.Errorf("%d requests were in the engine", stats.Finished)
	}
}

func TestTheServerLoadsAFileWhenItIsAskedFor(t *testing.T) {
	server := must(NewServer(&ServerOptions{ModelControl: true}))
	defer server.Close()
	file := ServerModelFile{Path: demo, Context: 512, ModelOptions: &ModelOptions{Threads: Set(1)},
		EngineOptions: &EngineOptions{CacheBytes: Set(1 << 20)}}
	wantCode(t, server.AddFile("", file), ErrArgument)
	wantCode(t, server.AddFile("demo", ServerModelFile{}), ErrArgument)
	wantCode(t, server.AddFile("demo", ServerModelFile{Path: "/nowhere.gguf"}), ErrIO)
	wrong := file
	wrong.ModelOptions = &ModelOptions{Extra: map[string]any{"thread": 1}}
	if err := server.AddFile("demo", wrong); err == nil || !strings.Contains(err.Error(), "threads") {
		t.Errorf("%v does not name the nearest option", err)
	}
	for _, value := range []any{"a\nb", 1i} {
		wrong.ModelOptions.Extra = map[string]any{"device": value}
		wantCode(t, server.AddFile("demo", wrong), ErrArgument)
	}
	if err := errors.Join(server.AddFile("demo", file), server.Start(0)); err != nil {
		t.Fatal(err)
	}
	if _, said := ask(t, server, capital("")); !strings.Contains(said, answerOfDemo) {
		t.Error(said)
	}
}

func TestTheServerRefusesWrongOptions(t *testing.T) {
	for _, options := range []*ServerOptions{
		{APIKeys: Set("")}, {APIKeys: Set("# none\n")}, {APIKeys: Set("key weight=-1")}, {HeaderSeconds: -1},
		{TLSKeyFile: "key.pem"}, {OTLPAddress: "https://nowhere"}, {OTLPAddress: "a\x00b"}, {CORSOrigin: Set("a\x00b")},
	} {
		_, err := NewServer(options)
		wantCode(t, err, ErrArgument)
	}
	server, model := newTestServer(t, nil), openDemo(t, nil)
	wantCode(t, server.Add("demo", model, nil, 0), ErrArgument)
	wantCode(t, server.Add("", model, nil, 0), ErrArgument)
	wantCode(t, server.Add("b", model, &EngineOptions{Extra: map[string]any{"nonsense": 1}}, 0), ErrArgument)
	for _, port := range []int{-1, 1 << 16} {
		_, err := server.Listen("127.0.0.1", port)
		wantCode(t, err, ErrArgument)
	}
	wantCode(t, server.Start(-1), ErrArgument)
	_, err := server.Listen("not an address", 0)
	wantCode(t, err, ErrIO)
	wantCode(t, server.ListenUnix("/nowhere/socket"), ErrIO)
	_, err = server.Request(context.Background(), ServerRequest{Method: "GET", Target: "/v1/models"})
	wantCode(t, err, ErrState)
	if err := server.Start(0); err != nil {
		t.Fatal(err)
	}
	wantCode(t, server.Add("late", model, nil, 0), ErrState)
	wantCode(t, server.ListenUnix(filepath.Join(t.TempDir(), "late")), ErrState)
	// A model that was not taken is free to go.
	model.Close()
	if model.handle.pointer != 0 {
		t.Error("what was refused holds the model")
	}
}

func TestEveryOptionOfTheServerArrives(t *testing.T) {
	options, wrote := &ServerOptions{}, map[float64]bool{}
	given := reflect.ValueOf(options).Elem()
	for i := range given.NumField() {
		number := float64(i + 2)
		switch field := given.Field(i); {
		case field.CanUint():
			field.SetUint(uint64(number))
			wrote[number] = true
		case field.CanFloat():
			field.SetFloat(number)
			wrote[number] = true
		case field.Kind() == reflect.Bool:
			field.SetBool(true)
			wrote[1] = true
		case field.Kind() == reflect.String:
			field.SetString("text")
		case field.Kind() == reflect.Func:
			field.Set(reflect.ValueOf(func(int, string) {}))
		default:
			field.Set(reflect.ValueOf(Set("text")))
		}
	}
	c := begin(fnServerCreate)
	defer c.end()
	var raw cServerOptions
	options.fill(c, &raw)
	read := map[float64]bool{}
	for i := range reflect.TypeOf(raw).NumField() {
		field, name := reflect.ValueOf(raw).Field(i), reflect.TypeOf(raw).Field(i).Name
		if field.IsZero() != strings.HasPrefix(name, reservedPrefix) {
			t.Errorf("%s is %v", name, field)
		}
		if field.CanFloat() || field.CanUint() && field.Kind() != reflect.Uintptr && name != "structSize" &&
			name != "apiKeysLength" && !field.IsZero() {
			read[numberOf(field)] = true
		}
	}
	if !reflect.DeepEqual(read, wrote) {
		t.Errorf("%v is read as %v", wrote, read)
	}
}

func TestTheServerAsksForKeysAndLogs(t *testing.T) {
	var mutex sync.Mutex
	var lines []string
	server := newTestServer(t, &ServerOptions{APIKeys: Set("secret anna\n"), LogLevel: LogInfo,
		Log: func(level int, line string) {
			mutex.Lock()
			defer mutex.Unlock()
			lines = append(lines, line)
			panic("which could not be told")
		}})
	if err := server.Start(0); err != nil {
		t.Fatal(err)
	}
	for key, status := range map[string]int{"": 401, "wrong": 401, "secret": 200} {
		answer := must(server.Request(context.Background(), ServerRequest{Method: "POST", Target: chatPath,
			Body: capital(""), APIKey: key}))
		if answer.Close(); answer.Status != status {
			t.Errorf("%q: %d", key, answer.Status)
		}
	}
	server.Close()
	mutex.Lock()
	defer mutex.Unlock()
	if len(lines) == 0 || !json.Valid([]byte(lines[0])) {
		t.Errorf("the log has %q", lines)
	}
}
