package tenon

import (
	"fmt"
	"slices"
	"strings"
)

// Checks that a library fits the interface this package was made for.
//
// Structures begin with their size and grow at the end, and libraries gain functions: such
// differences are harmless in both directions. Anything else (a moved field, another type, another
// value) would be misread, so the library is refused before it is used. The rules are those of
// docs/bindings.md.

// A field of such a name may become another one: until then it is 0 and ignored.
func isReserved(field string) bool {
	return field == "reserved" || strings.HasPrefix(field, "reserved_")
}

type fieldLayout struct {
	Name   string
	Offset uint64
	Size   uint64
	Type   string
}

func (f fieldLayout) overlaps(other fieldLayout) bool {
	return f.Offset < other.Offset+other.Size && other.Offset < f.Offset+f.Size
}

type structLayout struct {
	Name   string
	Size   uint64
	Fields []fieldLayout
}

// madeFor is made_for.json: signatures are the types of the result and of the parameters.
type madeFor struct {
	Version   string
	Constants map[string]constantValue
	Structs   map[string]structLayout
	Callbacks map[string][]string
	Functions map[string][]string
}

type described struct {
	Name       string
	Returns    string
	Parameters []struct{ Type string }
}

func (d described) signature() []string {
	types := []string{d.Returns}
	for _, parameter := range d.Parameters {
		types = append(types, parameter.Type)
	}
	return types
}

// description is the compared part of tenon_interface_description.
type description struct {
	Version   string
	Constants []struct {
		Name  string
		Value constantValue
	}
	Structs   []structLayout
	Callbacks []described
	Functions []described
}

// constantValue is a number as it is spelled: it may be beyond int64.
type constantValue string

func (v *constantValue) UnmarshalJSON(text []byte) error {
	*v = constantValue(text)
	return nil
}

// misfits lists differences that make a library unusable; none: it fits.
func misfits(ours *madeFor, theirs *description) []string {
	major := func(version string) string { return strings.Split(version, ".")[0] }
	if major(ours.Version) != major(theirs.Version) {
		return []string{"its major version is " + major(theirs.Version)}
	}
	var reasons []string
	for _, found := range theirs.Structs {
		if known, isKnown := ours.Structs[found.Name]; isKnown {
			reasons = append(reasons, structMisfits(found.Name, known, found)...)
		}
	}
	signatures := func(known map[string][]string, found []described) {
		for _, item := range found {
			if mine, isKnown := known[item.Name]; isKnown && !slices.Equal(mine, item.signature()) {
				reasons = append(reasons, fmt.Sprintf("%s is (%s), not (%s)", item.Name,
					strings.Join(item.signature(), ", "), strings.Join(mine, ", ")))
			}
		}
	}
	signatures(ours.Callbacks, theirs.Callbacks)
	signatures(ours.Functions, theirs.Functions)
	for _, found := range theirs.Constants {
		if mine, isKnown := ours.Constants[found.Name]; isKnown && mine != found.Value {
			reasons = append(reasons, fmt.Sprintf("%s is %s, not %s", found.Name, found.Value, mine))
		}
	}
	return reasons
}

func structMisfits(name string, ours, theirs structLayout) []string {
	var reasons []string
	byName := map[string]fieldLayout{}
	end := uint64(0)
	for _, field := range theirs.Fields {
		byName[field.Name] = field
		end = max(end, field.Offset+field.Size)
	}
	known := map[string]bool{}
	for _, mine := range ours.Fields {
		known[mine.Name] = true
		met, isThere := byName[mine.Name]
		switch {
		case isThere && met == mine:
		case isReserved(mine.Name) && standsAlone(mine, theirs.Fields):
			// Our value for a replaced field is 0.
		case !isThere && mine.Offset >= end:
			// An older library reads and writes no more than it knows.
		case !isThere:
			reasons = append(reasons, fmt.Sprintf("%s.%s is missing", name, mine.Name))
		case met.Offset != mine.Offset:
			reasons = append(reasons, fmt.Sprintf("%s.%s lies at byte %d, not at %d", name, mine.Name, met.Offset,
				mine.Offset))
		default:
			reasons = append(reasons, fmt.Sprintf("%s.%s is %s of %d bytes, not %s of %d", name, mine.Name, met.Type,
				met.Size, mine.Type, mine.Size))
		}
	}
	// A newer library's further fields lie beyond ours, or in our reserved ones.
	last := ours.Fields[len(ours.Fields)-1].Offset
	for _, field := range theirs.Fields {
		if known[field.Name] {
			continue
		}
		index := slices.IndexFunc(ours.Fields, func(mine fieldLayout) bool {
			return mine.overlaps(field) && !isReserved(mine.Name)
		})
		overReserved := slices.ContainsFunc(ours.Fields, field.overlaps)
		if index >= 0 {
			reasons = append(reasons, fmt.Sprintf("%s.%s lies where %s should be", name, field.Name,
				ours.Fields[index].Name))
		} else if !overReserved && field.Offset+field.Size <= ours.Size && field.Offset < last {
			reasons = append(reasons, fmt.Sprintf("%s.%s lies between the fields that are known", name, field.Name))
		}
	}
	return reasons
}

// standsAlone reports whether the fields in the place of a reserved field fill it exactly.
func standsAlone(reserved fieldLayout, fields []fieldLayout) bool {
	for _, field := range fields {
		if field.overlaps(reserved) && (field.Offset != reserved.Offset || field.Size != reserved.Size) {
			return false
		}
	}
	return true
}
