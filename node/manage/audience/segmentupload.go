package audience

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/ingress"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/command"
)

const (
	// SegmentUploadID is the operation id of the upload.
	SegmentUploadID = "uploadSegment"
	// SegmentUploadRoute is the route of the upload.
	SegmentUploadRoute = http.MethodPost + " " + uploadPath
	uploadPath         = segmentBase + "/{segment_id}/upload"

	uploadMax          = 64 << 20 // BOUND: bytes of a list. It is the interface's.
	uploadSlack        = 64 << 10 // BOUND: bytes of the form around it.
	segmentUploadsMax  = 4        // BOUND: uploads at the same moment on one node, 16 MB each.
	segmentUploadsEach = 2        // BOUND: uploads of one marketplace at the same moment on one node.
	fieldLen           = 64       // BOUND: bytes of a form field.
)

// actions are the interface's words for the engine's constants. The index of a word is the value of its constant.
var actions = []string{"add", "remove", "replace"}

// SegmentUploads serves the upload of users.
type SegmentUploads struct {
	Hash func(secret [32]byte, marketplace uint16) func(id []byte) uint64
	// Refuse answers an error.
	Refuse  func(w http.ResponseWriter, err error)
	limiter *ingress.UploadLimiter
}

// NewSegmentUploads returns the service.
func NewSegmentUploads(hash func([32]byte, uint16) func([]byte) uint64, refuse func(http.ResponseWriter, error)) *SegmentUploads {
	return &SegmentUploads{Hash: hash, Refuse: refuse, limiter: ingress.NewUploadLimiter(segmentUploadsMax, segmentUploadsEach)}
}

// SegmentResult is the result of an upload.
type SegmentResult struct {
	SegmentID string `json:"segmentId"`
	Action    string `json:"action" enum:"add,remove,replace"`
	Received  int    `json:"received" doc:"Lines that are not blank."`
	Added     int    `json:"added"`
	Removed   int    `json:"removed"`
	Rejected  int    `json:"rejected" doc:"Lines that are not an id of a user."`
	Size      int    `json:"size" doc:"Users in the segment now."`
}

// Serve receives a list of users. It reads the list as a stream, and changes the segment only after it has read all of it.
func (u *SegmentUploads) Serve(w http.ResponseWriter, r *http.Request) {
	result, err := u.serve(r)
	if err != nil {
		u.Refuse(w, err)
		return
	}
	text, err := json.Marshal(result)
	if err != nil {
		panic("a result is plain data: " + err.Error())
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // The client may have disconnected.
}

func (u *SegmentUploads) serve(r *http.Request) (SegmentResult, error) {
	ctx, id := r.Context(), r.PathValue("segment_id")
	st, caller := resource.Tenant(ctx), resource.CallerOf(ctx)
	if n := utf8.RuneCountInString(id); n > 255 || !utf8.ValidString(id) {
		return SegmentResult{}, resource.Invalid(resource.At("string_too_long", "must have at most 255 characters", "path", "segment_id"))
	}
	action, err := queryAction(r)
	if err != nil {
		return SegmentResult{}, err
	}
	if err := requireStatic(ctx, st, id); err != nil { // Checked before the list is read, because the list is long.
		return SegmentResult{}, err
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return SegmentResult{}, resource.Refuse(apierr.UnsupportedMediaType, "Content-Encoding must be identity")
	}
	body := &segmentBoundedReader{in: r.Body, left: uploadMax + uploadSlack}
	r.Body = io.NopCloser(body)
	parts, err := r.MultipartReader()
	if err != nil {
		return SegmentResult{}, resource.Refuse(apierr.UnsupportedMediaType, "an upload is multipart/form-data")
	}
	release, full := u.limiter.Acquire(caller.Marketplace)
	if release == nil {
		return SegmentResult{}, resource.Refuse(apierr.ServiceUnavailable, full)
	}
	defer release()
	list := users{hash: u.Hash(st.UserSecret(), caller.Marketplace)}
	if action, err = readForm(parts, action, &list, body); err != nil {
		return SegmentResult{}, err
	}
	did, err := st.UpdateSegmentUsers(ctx, id, actionOf(action), list.hashes)
	if errors.Is(err, store.ErrTooMany) {
		return SegmentResult{}, tooMany()
	}
	if err != nil {
		return SegmentResult{}, resource.ErrorOf(err)
	}
	return SegmentResult{
		SegmentID: id, Action: action, Received: list.received, Rejected: list.rejected,
		Added: int(did.Added), Removed: int(did.Removed), Size: int(did.Size),
	}, nil
}

// requireStatic checks that a segment exists and accepts users.
func requireStatic(ctx context.Context, st store.Tenant, id string) error {
	x, err := st.Segment(ctx, id)
	if err != nil {
		return resource.ErrorOf(err)
	}
	if x.Dynamic() {
		return resource.Refuse(apierr.InvalidOperation, "users of a dynamic segment follow from its definition")
	}
	return nil
}

func tooMany() error {
	return resource.Invalid(resource.At("too_long", "a segment has at most 1,000,000 distinct users; nothing was changed", "body", "file"))
}

func actionOf(word string) command.SegmentAction {
	for i, w := range actions {
		if w == word {
			return command.SegmentAction(i) // Three words.
		}
	}
	return command.SegmentAdd // The default.
}

func queryAction(r *http.Request) (string, error) {
	action := r.URL.Query().Get("action")
	return action, validateAction(action, "query")
}

func validateAction(action, in string) error {
	if action == "" || slices.Contains(actions, action) {
		return nil
	}
	return resource.Invalid(resource.At("enum", "must be one of add, remove, replace. Default add", in, "action"))
}

// readForm reads the parts of a form: one file, and perhaps the action before or after it.
func readForm(parts *multipart.Reader, action string, list *users, body *segmentBoundedReader) (string, error) {
	files := 0
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", body.refusal()
		}
		switch {
		case part.FormName() == "file" && files > 0:
			return "", resource.Invalid(resource.At("value_error", "must not be repeated", "body", "file"))
		case part.FormName() == "file":
			files++
			err = list.read(part)
		case part.FormName() == "action":
			action, err = field(part, action)
		}
		switch {
		case errors.Is(err, errTooMany):
			return "", tooMany()
		case resource.IsProblem(err):
			return "", err
		case err != nil:
			return "", body.refusal()
		}
	}
	switch {
	case files == 0:
		return "", resource.Invalid(resource.At("missing", "required", "body", "file"))
	case len(list.hashes) == 0:
		return "", resource.Invalid(resource.At("value_error", "has no line that is an id of a user", "body", "file"))
	case action == "":
		action = actions[0]
	}
	return action, nil
}

// field reads the action of a form, which must be that of the query, or of the form before it, if both are given.
func field(part io.Reader, known string) (string, error) {
	text, err := io.ReadAll(io.LimitReader(part, fieldLen))
	if err != nil {
		return "", err
	}
	action := strings.TrimSpace(string(text))
	if err := validateAction(action, "body"); err != nil {
		return "", err
	}
	if known != "" && action != "" && action != known {
		return "", resource.Invalid(resource.At("value_error", "must be the action that was given before: "+known, "body", "action"))
	}
	if action == "" {
		action = known
	}
	return action, nil
}

// segmentBoundedReader fails beyond its bound.
type segmentBoundedReader struct {
	in   io.Reader
	left int64
	slow bool // The client sent too slowly.
}

var errSegmentTooLarge = errors.New("the upload is too large")

func (b *segmentBoundedReader) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	b.slow = errors.Is(err, ingress.ErrUploadSlow)
	if b.left -= int64(n); b.left < 0 {
		return 0, errSegmentTooLarge
	}
	return n, err
}

func (b *segmentBoundedReader) refusal() error {
	if b.left < 0 {
		return resource.Refuse(apierr.PayloadTooLarge, "a list may have at most 64 MiB")
	}
	if b.slow {
		return resource.Refuse(apierr.BadRequest, ingress.ErrUploadSlow.Error())
	}
	return resource.Refuse(apierr.BadRequest, "the form did not arrive completely")
}

// DocumentSegments describes the upload, which is not registered with the kit.
func DocumentSegments(api huma.API) {
	resource.Describe(api, resource.Op{
		ID: SegmentUploadID, Method: http.MethodPost, Path: uploadPath, Tag: segmentTag,
		Doc: "Add users to a static segment, remove them or replace all, in one step. The file is text in UTF-8, one opaqueUserId a line; at most 64 MiB and 1,000,000 distinct users.",
	}, &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"multipart/form-data": {Schema: &huma.Schema{
		Type: huma.TypeObject, Required: []string{"file"}, Properties: map[string]*huma.Schema{
			"action": {Type: huma.TypeString, Enum: []any{"add", "remove", "replace"}, Description: "Before the file. Default add. The query parameter action says the same."},
			"file":   {Type: huma.TypeString, ContentEncoding: "binary"},
		},
	}}}}, []*huma.Param{
		{Name: "segment_id", In: "path", Required: true, Description: "The marketplace's own id.", Schema: &huma.Schema{Type: huma.TypeString}},
		{Name: "action", In: "query", Schema: &huma.Schema{Type: huma.TypeString, Enum: []any{"add", "remove", "replace"}}},
	}, SegmentResult{})
}
