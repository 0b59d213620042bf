package manage

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/goccy/go-yaml"

	"github.com/gavel-ads/gavel/node/manage/resource"
)

// documentedYAML describes the operations that no Go type describes: those of /v2, of files and of health.
//
//go:embed documented.yaml
var documentedYAML []byte

// membersYAML describes the members of bodies and answers that no Go type describes.
//
//go:embed members.yaml
var membersYAML []byte

// parametersYAML describes the parameters of operations that no Go type describes.
//
//go:embed parameters.yaml
var parametersYAML []byte

// describedMembers and describedParameters return the texts of their files, which nobody may change.
var (
	describedMembers    = textsOf("members.yaml", membersYAML)
	describedParameters = textsOf("parameters.yaml", parametersYAML)
)

func textsOf(file string, content []byte) func() (map[string]string, error) {
	return sync.OnceValues(func() (texts map[string]string, err error) {
		if err = yaml.UnmarshalWithOptions(content, &texts, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		return texts, nil
	})
}

// examplesYAML has an example for each operation with a JSON body.
//
//go:embed examples.yaml
var examplesYAML []byte

// addExamples adds the examples to the operations.
func (s *Server) addExamples() error {
	var examples map[string]any
	if err := yaml.UnmarshalWithOptions(examplesYAML, &examples, yaml.Strict()); err != nil {
		return fmt.Errorf("examples.yaml: %w", err)
	}
	for _, item := range s.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Put, item.Post, item.Patch, item.Delete} {
			if op == nil || op.RequestBody == nil || examples[op.OperationID] == nil {
				continue
			}
			if body := op.RequestBody.Content["application/json"]; body != nil {
				body.Example = examples[op.OperationID]
			}
		}
	}
	return nil
}

// addDocumented adds the operations of documented.yaml to the description. The other operations add themselves when the kit
// registers them.
func (s *Server) addDocumented() error {
	api := s.api.OpenAPI()
	operations, err := documented()
	if err != nil {
		return fmt.Errorf("documented.yaml: %w", err)
	}
	problem := map[string]*huma.MediaType{"application/json": {
		Schema: api.Components.Schemas.Schema(reflect.TypeFor[resource.ErrorBody](), true, ""),
	}}
	for path, methods := range operations {
		for method, op := range methods {
			op.Method, op.Path = strings.ToUpper(method), path
			if strings.HasPrefix(path, "/v2/") || path == "/healthz" {
				op.Servers = s.auctionServers()
			}
			if op.Security == nil {
				op.Security = []map[string][]string{} // In JSON an empty list says that no key is needed.
				for _, status := range []int{http.StatusInternalServerError, http.StatusServiceUnavailable} {
					op.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: problem}
				}
			}
			api.AddOperation(op)
		}
	}
	return nil
}

// auctionServers are the servers of the operations that both listeners answer, the one that is made for them first. Without a
// configured address they are those of all operations.
func (s *Server) auctionServers() []*huma.Server {
	if s.config.AuctionURL == "" {
		return nil
	}
	return []*huma.Server{
		{URL: s.config.AuctionURL, Description: "The auction listener."},
		{URL: s.config.PublicURL, Description: "The management listener, which gives the same answers."},
	}
}

// documented decodes the operations by path and method. They pass through JSON, because the YAML decoder cannot fill the
// inlined maps of huma's types.
func documented() (operations map[string]map[string]*huma.Operation, err error) {
	text, err := documentedJSON()
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(&operations)
	return operations, err
}

// documentedJSON returns the operations of documented.yaml as JSON.
var documentedJSON = sync.OnceValues(func() ([]byte, error) {
	var file struct {
		Shared any `yaml:"shared"` // The decoder has already put its parts where they are referred to.
		Paths  any `yaml:"paths"`
	}
	if err := yaml.UnmarshalWithOptions(documentedYAML, &file, yaml.Strict()); err != nil {
		return nil, err
	}
	return json.Marshal(file.Paths)
})
