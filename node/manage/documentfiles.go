package manage

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/audience"
	"github.com/gavel-ads/gavel/node/manage/creative"
)

// fileOperation describes an operation that receives or returns a file. None of them needs a key: the signature of an
// earlier answer is the permission.
type fileOperation struct {
	route, id, doc string
	signed         bool // The permission is in the query parameters policy and signature.
	body           map[string]*huma.MediaType
	answers        map[int]map[string]*huma.MediaType // By status, without errors.
	errors         []int
}

// documentFiles describes the operations of files by hand, because their bodies are not JSON types.
func documentFiles(api huma.API) {
	d := v2Document{api.OpenAPI()}
	file := &huma.Schema{Type: huma.TypeString, Format: "binary"}
	anyFile := map[string]*huma.MediaType{"*/*": {Schema: file}}
	csv := map[string]*huma.MediaType{"text/csv": {Schema: file}}
	form := object(members{"file": file}, "file")
	form.Description = "All fields of the asset first, as they were answered, then the part file."
	for _, o := range []fileOperation{
		{
			route: creative.AssetUploadRoute, id: "uploadAssetFile", doc: "Upload the file of an asset, once, with the fields that its creation answered.",
			body:    map[string]*huma.MediaType{"multipart/form-data": {Schema: form}},
			answers: map[int]map[string]*huma.MediaType{http.StatusNoContent: nil},
			errors:  []int{http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType},
		},
		{
			route: creative.AssetFileRoute, id: "getAssetFile", doc: "Get the file of an approved asset; with the preview address of a review, of any.", signed: true,
			answers: map[int]map[string]*huma.MediaType{
				http.StatusOK: anyFile, http.StatusPartialContent: anyFile, http.StatusNotModified: nil,
				http.StatusPreconditionFailed: nil, http.StatusRequestedRangeNotSatisfiable: {"text/plain": {Schema: file}},
			},
			errors: []int{http.StatusNotFound},
		},
		{
			route: audience.OffsiteListRoute, id: "uploadAudienceList", doc: "Upload the list of an audience, once, to the address that its job answered.", signed: true,
			body: csv, answers: map[int]map[string]*huma.MediaType{http.StatusOK: jsonContent(object(nil))},
			errors: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType},
		},
		{
			route: audience.OffsiteExportRoute, id: "getAudienceList", doc: "For connectors: get the accepted rows of an audience's list.", signed: true,
			answers: map[int]map[string]*huma.MediaType{http.StatusOK: csv}, errors: []int{http.StatusForbidden, http.StatusNotFound},
		},
	} {
		d.addFile(&o)
	}
	status := object(members{"status": word("", "ok"), "notes": {Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}}}, "status")
	for id, doc := range map[string]string{"healthz": "Whether the process answers.", "readyz": "Whether the node can serve."} {
		d.addFile(&fileOperation{
			route: "GET /" + id, id: id, doc: doc, answers: map[int]map[string]*huma.MediaType{http.StatusOK: jsonContent(status)},
		})
	}
}

func (d v2Document) addFile(o *fileOperation) {
	method, path, _ := strings.Cut(o.route, " ")
	tag := "Files"
	if !strings.Contains(path, "{") {
		tag = "Service"
	}
	op := &huma.Operation{
		OperationID: o.id, Method: method, Path: path, Summary: o.doc, Tags: []string{tag},
		Security: []map[string][]string{}, Responses: map[string]*huma.Response{},
	}
	if _, rest, ok := strings.Cut(path, "{"); ok {
		op.Parameters = append(op.Parameters, &huma.Param{Name: strings.TrimSuffix(rest, "}"), In: "path", Required: true, Schema: text(1, 0, "")})
	}
	if o.signed {
		for _, name := range []string{"policy", "signature"} {
			op.Parameters = append(op.Parameters, &huma.Param{Name: name, In: "query", Schema: text(1, 0, ""), Description: "As the address was answered."})
		}
	}
	if o.body != nil {
		op.RequestBody = &huma.RequestBody{Required: true, Content: o.body}
	}
	for status, content := range o.answers {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: content}
	}
	for _, status := range append(slices.Clone(o.errors), http.StatusInternalServerError, http.StatusServiceUnavailable) {
		op.Responses[strconv.Itoa(status)] = &huma.Response{Description: http.StatusText(status), Content: jsonContent(d.problem())}
	}
	d.api.AddOperation(op)
}
