package tenon

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

// Libraries of other versions: 200 changes of the interface, each harmless or refused. A fake library is a layout by
// the compiler's rules, the description that it would answer, and the bytes that it would write.

// Structures that Go reads, with fields of plain numbers to check by.
var readStructs = []string{"tenon_piece", "tenon_model_info", "tenon_memory", "tenon_execution", "tenon_token_info",
	"tenon_session_stats", "tenon_engine_stats", "tenon_request_stats", "tenon_plan", "tenon_hardware",
	"tenon_embedder_info", "tenon_metadata", "tenon_candidate"}

// Structures of the server's interface: those that Go reads, and those that it writes.
var serverRead = []string{"tenon_server_part"}
var serverWritten = []string{"tenon_server_options", "tenon_server_model_file", "tenon_server_request"}

var scalarSizes = map[string]uint64{"int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "double": 8, "float": 4,
	"size_t": 8}

// An interface is what this package was made for, and what the library of the tree describes.
type interfaces struct {
	made *madeFor
	read *description
}

func readInterface(file string, made []byte) func() interfaces {
	return sync.OnceValue(func() interfaces {
		it := interfaces{&madeFor{}, &description{}}
		text := must(os.ReadFile(filepath.Join(root, "bindings", file)))
		if err := errors.Join(json.Unmarshal(made, it.made), json.Unmarshal(text, it.read)); err != nil {
			panic(err)
		}
		return it
	})
}

var libraryInterface = readInterface("interface.json", madeForJSON)
var serverInterface = readInterface("server_interface.json", madeForServerJSON)

// changeable gives the description to be changed.
func (it interfaces) changeable() (*madeFor, *description) {
	made, read := it.made, it.read
	found := *read
	found.Structs = slices.Clone(read.Structs)
	for i := range found.Structs {
		found.Structs[i].Fields = slices.Clone(found.Structs[i].Fields)
	}
	found.Constants, found.Functions = slices.Clone(read.Constants), slices.Clone(read.Functions)
	found.Callbacks = slices.Clone(read.Callbacks)
	return made, &found
}

// layOut gives the fields of a structure offsets as a compiler would; sizes are those of the elements times the count.
func layOut(s *structLayout, counts map[string]uint64) {
	at, most := uint64(0), uint64(1)
	for i := range s.Fields {
		field := &s.Fields[i]
		size, isScalar := scalarSizes[field.Type]
		if !isScalar {
			size = 8
		}
		at = (at + size - 1) / size * size
		field.Offset, field.Size = at, size*max(counts[field.Name], 1)
		at += field.Size
		most = max(most, size)
	}
	s.Size = (at + most - 1) / most * most
}

// change makes one change of a structure, and says of which kind.
func change(dice *rand.Rand, s *structLayout) string {
	kinds := []string{"insert", "append", "reorder", "retype", "rename", "remove", "use_reserved"}
	kind, index := kinds[dice.Intn(len(kinds))], 1+dice.Intn(len(s.Fields)-1)
	types := slices.Sorted(func(yield func(string) bool) {
		for name := range scalarSizes {
			if !yield(name) {
				return
			}
		}
	})
	fresh := fieldLayout{Name: fmt.Sprintf("fresh_%d", dice.Intn(1000)), Type: types[dice.Intn(len(types))]}
	reserved := slices.IndexFunc(s.Fields, func(field fieldLayout) bool { return strings.HasPrefix(field.Name, reservedPrefix) })
	switch {
	case kind == "insert":
		s.Fields = slices.Insert(s.Fields, index, fresh)
	case kind == "reorder":
		other := 1 + dice.Intn(len(s.Fields)-1)
		s.Fields[index], s.Fields[other] = s.Fields[other], s.Fields[index]
	case kind == "retype":
		for s.Fields[index].Type == fresh.Type {
			fresh.Type = types[dice.Intn(len(types))]
		}
		s.Fields[index].Type = fresh.Type
	case kind == "rename":
		s.Fields[index].Name = fresh.Name
	case kind == "remove":
		s.Fields = slices.Delete(s.Fields, index, index+1)
	case kind == "use_reserved" && reserved >= 0:
		s.Fields[reserved].Name, s.Fields[reserved].Type = fresh.Name, "uint32_t"
	default:
		kind = "append"
		s.Fields = append(s.Fields, fresh)
	}
	return kind
}

// readNumber is what the library reads.
func readNumber(memory []byte, field fieldLayout) float64 {
	switch field.Type {
	case "double":
		return math.Float64frombits(binary.LittleEndian.Uint64(memory[field.Offset:]))
	case "float":
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(memory[field.Offset:])))
	case "int32_t", "uint32_t":
		return float64(binary.LittleEndian.Uint32(memory[field.Offset:]))
	}
	return float64(binary.LittleEndian.Uint64(memory[field.Offset:]))
}

const reservedPrefix = "reserved"

// putNumber writes a number as the library would, and says what Go must read.
func putNumber(memory []byte, field fieldLayout, number uint64) float64 {
	switch field.Type {
	case "double":
		binary.LittleEndian.PutUint64(memory[field.Offset:], math.Float64bits(float64(number)))
	case "float":
		binary.LittleEndian.PutUint32(memory[field.Offset:], math.Float32bits(float32(number)))
	case "int32_t", "uint32_t":
		binary.LittleEndian.PutUint32(memory[field.Offset:], uint32(number))
	default:
		binary.LittleEndian.PutUint64(memory[field.Offset:], number)
	}
	return float64(number)
}

func TestAChangedLayoutIsHarmlessOrRefused(t *testing.T) {
	changedLayouts(t, libraryInterface(), readStructs, nil)
}

func TestAChangedLayoutOfTheServerIsHarmlessOrRefused(t *testing.T) {
	changedLayouts(t, serverInterface(), serverRead, serverWritten)
}

func changedLayouts(t *testing.T, it interfaces, read, written []string) {
	refused, harmless := 0, 0
	names := append(slices.Clone(read), written...)
	for seed := range int64(200) {
		dice := rand.New(rand.NewSource(seed))
		made, found := it.changeable()
		name := names[dice.Intn(len(names))]
		index := slices.IndexFunc(found.Structs, func(s structLayout) bool { return s.Name == name })
		s := &found.Structs[index]
		counts := map[string]uint64{}
		for _, field := range s.Fields {
			if size := max(scalarSizes[field.Type], 1); field.Size > 8 {
				counts[field.Name] = field.Size / size
			}
		}
		kind := change(dice, s)
		layOut(s, counts)
		reasons := misfits(made, found)
		if len(reasons) > 0 {
			refused++
			if kind == "append" || kind == "use_reserved" {
				t.Errorf("seed %d: a later minor version would be refused: %s", seed, reasons[0])
			}
			if !strings.Contains(reasons[0], name) {
				t.Errorf("seed %d: %q does not name %s", seed, reasons[0], name)
			}
			continue
		}
		harmless++
		if slices.Contains(written, name) {
			checkWritten(t, fmt.Sprintf("seed %d, %s: %s", seed, kind, name), made.Structs[name], *s)
			continue
		}
		// What the fake library writes by its own layout, Go reads by ours.
		mirror := reflect.New(reflect.TypeOf(mirrors[name]))
		memory := make([]byte, max(s.Size, uint64(mirror.Elem().Type().Size())))
		wrote := map[string]float64{}
		for _, field := range s.Fields {
			if _, isScalar := scalarSizes[field.Type]; isScalar && counts[field.Name] == 0 &&
				field.Name != "struct_size" && !strings.HasPrefix(field.Name, reservedPrefix) {
				wrote[field.Name] = putNumber(memory, field, uint64(1+dice.Intn(99)))
			}
		}
		mine := unsafe.Slice((*byte)(mirror.UnsafePointer()), mirror.Elem().Type().Size())
		copy(mine, memory[:min(s.Size, uint64(len(mine)))])
		for _, field := range made.Structs[name].Fields {
			if _, isScalar := scalarSizes[field.Type]; !isScalar || counts[field.Name] != 0 ||
				field.Name == "struct_size" || strings.HasPrefix(field.Name, reservedPrefix) {
				continue
			}
			// Each number that we know is what the library wrote under that name, or 0 where it has no such field.
			if read := numberOf(mirror.Elem().FieldByName(goField(field.Name))); read != wrote[field.Name] {
				t.Errorf("seed %d, %s: %s.%s is read as %v, not %v", seed, kind, name, field.Name, read, wrote[field.Name])
			}
		}
	}
	if refused < 50 || harmless < 30 {
		t.Errorf("%d refused and %d harmless: the changes prove little", refused, harmless)
	}
}

// checkWritten: what Go writes by our layout, the fake library reads by its own, as far as struct_size says.
func checkWritten(t *testing.T, change string, ours, theirs structLayout) {
	memory := make([]byte, max(ours.Size, theirs.Size))
	wrote := map[string]float64{}
	for i, field := range ours.Fields[1:] {
		if _, isScalar := scalarSizes[field.Type]; isScalar && !strings.HasPrefix(field.Name, reservedPrefix) {
			wrote[field.Name] = putNumber(memory, field, uint64(i+1))
		}
	}
	for _, field := range theirs.Fields[1:] {
		if _, isScalar := scalarSizes[field.Type]; !isScalar || field.Offset+field.Size > ours.Size {
			continue
		}
		if read := readNumber(memory, field); read != wrote[field.Name] {
			t.Errorf("%s.%s is read as %v, not %v", change, field.Name, read, wrote[field.Name])
		}
	}
}

// goField is the name of a field in a mirror: struct_size, structSize.
func goField(name string) string {
	parts := strings.Split(name, "_")
	for i := 1; i < len(parts); i++ {
		parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
	}
	text := strings.Join(parts, "")
	if text == "type" {
		return "type_"
	}
	return text
}

func numberOf(value reflect.Value) float64 {
	switch {
	case value.CanInt():
		return float64(value.Int())
	case value.CanUint():
		return float64(value.Uint())
	}
	return value.Float()
}

func TestTheRealDescriptionFits(t *testing.T) {
	for _, it := range []interfaces{libraryInterface(), serverInterface()} {
		if reasons := misfits(it.changeable()); len(reasons) > 0 {
			t.Fatal(reasons)
		}
	}
}

func TestOtherChangesAreRefused(t *testing.T) {
	for reason, change := range map[string]func(*description){
		"77":                   func(d *description) { d.Constants[2].Value = "77" },
		"tenon_model_open":     func(d *description) { d.Functions[0].Parameters = d.Functions[0].Parameters[1:] },
		"tenon_model_destroy":  func(d *description) { d.Functions[1].Returns = "int32_t" },
		"tenon_piece_callback": func(d *description) { d.Callbacks[0].Returns = "void" },
		"major":                func(d *description) { d.Version = "1.0.0" },
	} {
		made, found := libraryInterface().changeable()
		change(found)
		if reasons := misfits(made, found); len(reasons) == 0 || !strings.Contains(reasons[0], reason) {
			t.Errorf("%s: %v", reason, reasons)
		}
	}
}

func TestNewFunctionsAndMissingOnesAreHarmless(t *testing.T) {
	made, found := libraryInterface().changeable()
	found.Functions = append(found.Functions[1:], described{Name: "tenon_fresh", Returns: "void"})
	if reasons := misfits(made, found); len(reasons) > 0 {
		t.Fatal(reasons)
	}
}

// fakeLibrary is a shared library with nothing but a description; "": without one.
func fakeLibrary(t *testing.T, description string) string {
	return fakeOf(t, "tenon_interface_description", description)
}

func fakeServerLibrary(t *testing.T, description string) string {
	return fakeOf(t, "tenon_server_interface_description", description)
}

func fakeOf(t *testing.T, describe, description string) string {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("no C compiler")
	}
	folder := t.TempDir()
	source := "const char* tenon_version_text(void) { return \"0.9.0\"; }\n"
	if description != "" {
		source += "const char* " + describe + "(void) { return " + strconv.Quote(description) +
			"; }\n"
	}
	if err := os.WriteFile(filepath.Join(folder, "fake.c"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(folder, "libfake.so")
	if out, err := exec.Command("cc", "-shared", "-fPIC", filepath.Join(folder, "fake.c"), "-o", library).
		CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return library
}

func TestALibraryThatDoesNotFitIsRefusedWithASentence(t *testing.T) {
	text := string(must(os.ReadFile(filepath.Join(root, "bindings/interface.json"))))
	changed := strings.Replace(text, `"name": "token",`, `"name": "tokens",`, 1)
	var compact any
	if err := json.Unmarshal([]byte(changed), &compact); err != nil || changed == text {
		t.Fatalf("%v, or the description has no field of that name", err)
	}
	for description, wanted := range map[string]string{
		string(must(json.Marshal(compact))): "is libtenon 0.9.0, which does not fit this binding made for ",
		"":                                  "too old",
		"{":                                 "cannot be read",
	} {
		_, err := comparedLibrary.open(fakeLibrary(t, description), "fake")
		wantCode(t, err, ErrUnsupported)
		if !strings.Contains(err.Error(), wanted) {
			t.Errorf("%v does not say %q", err, wanted)
		}
	}
	notOne := filepath.Join(t.TempDir(), "libtext.so")
	if err := os.WriteFile(notOne, []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := comparedLibrary.open(notOne, notOne)
	wantCode(t, err, ErrUnsupported)
}

func TestTheLibraryInUseCannotBeChanged(t *testing.T) {
	must(Library())
	wantCode(t, UseLibrary("/another/libtenon.so"), ErrState)
}
