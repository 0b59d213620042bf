package scenarios

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// File is a scenario with its settings, as a file of JSON has it. Copy one of the directory files to make your own.
type File struct {
	About   string            `json:"about"`
	Traffic string            `json:"traffic"` // One of All: what is sent.
	Flags   map[string]string `json:"flags"`   // Flags of loadtest, without dashes. Those of the command line win.
}

//go:embed files/*.json
var files embed.FS

// FileNames names the scenarios that have a file here.
func FileNames() (all []string) {
	names, err := fs.Glob(files, "files/*.json")
	if err != nil {
		panic(err) // The pattern is right.
	}
	for _, name := range names {
		all = append(all, strings.TrimSuffix(path.Base(name), ".json"))
	}
	return all
}

// Find returns the scenario of a name: one of All, one that has a file here, or that of a file of the user. The error says what there is, or
// what is wrong with the file.
func Find(name string) (*File, error) {
	if slices.Contains(All, name) {
		return &File{Traffic: name}, nil
	}
	text, err := files.ReadFile("files/" + name + ".json")
	if err != nil {
		if text, err = os.ReadFile(name); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("scenario %q: want %s, or a file; there are %s", name, strings.Join(All, ", "), strings.Join(FileNames(), ", "))
		}
	}
	if err != nil {
		return nil, err
	}
	return readFile(name, text)
}

func readFile(name string, text []byte) (*File, error) {
	var f File
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, fmt.Errorf("scenario file %s: %w", name, err)
	}
	if !slices.Contains(All, f.Traffic) {
		return nil, fmt.Errorf("scenario file %s: traffic %q: want %s", name, f.Traffic, strings.Join(All, ", "))
	}
	return &f, nil
}
