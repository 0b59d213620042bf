package audience

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/apierr"
	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
)

const (
	segmentBase = "/public/v1/segment-service/segments"
	segmentTag  = "Segments"
)

// RegisterSegments mounts the operations except for the upload, which is not JSON.
func RegisterSegments(api huma.API) {
	resource.Add(api, resource.Op{ID: "putSegments", Method: http.MethodPut, Path: segmentBase, Tag: segmentTag, Doc: "Create or replace segments by id, all or none; their users stay."}, putSegments)
	resource.Add(api, resource.Op{ID: "listSegments", Method: http.MethodGet, Path: segmentBase, Tag: segmentTag, Doc: "List segments, newest first."}, listSegments)
	resource.Add(api, resource.Op{
		ID: "deleteSegment", Method: http.MethodDelete, Status: http.StatusNoContent, Path: segmentBase + "/{segment_id}", Tag: segmentTag,
		Doc: "Delete a segment and its users; 409 while a campaign uses it.",
	}, removeSegment)
}

// SegmentBody is a list of segments.
type SegmentBody struct {
	Segments []SegmentDefinition `json:"segments" minItems:"1" maxItems:"100"`
}

// SegmentDefinition is a segment as the marketplace sends it.
type SegmentDefinition struct {
	ID          string         `json:"id" minLength:"1" maxLength:"255" doc:"The marketplace's own id, unique."`
	Name        string         `json:"name" minLength:"1" maxLength:"255"`
	Description string         `json:"description,omitempty" maxLength:"1024"`
	Config      *SegmentConfig `json:"config,omitempty" doc:"Default: static."`
}

// SegmentConfig says where the users of a segment come from.
type SegmentConfig struct {
	Type       string          `json:"type" enum:"static,dynamic" doc:"Static: users are uploaded. Dynamic: users join and leave by what they do."`
	Definition *SegmentDynamic `json:"definition,omitempty" doc:"Required for a dynamic segment, and only there."`
}

// SegmentDynamic defines who belongs to a segment by what they did.
type SegmentDynamic struct {
	Behaviors []SegmentBehavior `json:"behaviors" minItems:"1" maxItems:"5" doc:"Combined from left to right. Users without any action in 30 days do not belong."`
}

// SegmentBehavior is a condition on what users did in a span of time.
type SegmentBehavior struct {
	Logic      string             `json:"logic" enum:"and,or" doc:"How it is combined with the result of those before."`
	ActionType string             `json:"action_type" enum:"impressions,clicks,purchases" doc:"Impressions and clicks are those of ads."`
	TimeWindow SegmentWindow      `json:"time_window"`
	Frequency  SegmentFrequency   `json:"frequency"`
	Parameters []SegmentParameter `json:"parameters" maxItems:"20" doc:"All of them have to be satisfied, of a purchase by one and the same item."`
}

// SegmentWindow is a span of time that ends now.
type SegmentWindow struct {
	Value int `json:"value" minimum:"1" maximum:"30" doc:"Days of 24 hours."`
}

// SegmentFrequency is a condition on how often they did it.
type SegmentFrequency struct {
	Value    int    `json:"value" minimum:"0" maximum:"1000000"`
	Operator string `json:"operator" enum:"gt,gte,lt,lte,eq"`
}

// SegmentParameter limits a behavior to some vendors, products or categories.
type SegmentParameter struct {
	EntityType string   `json:"entity_type" enum:"vendor,product,category"`
	EntityList []string `json:"entity_list" minItems:"1" maxItems:"100" minLength:"1" maxLength:"255"`
}

// Segment is a segment in answers.
type Segment struct {
	ID          string        `json:"id"`
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Config      SegmentConfig `json:"config"`
	Size        int           `json:"size" doc:"Users in the segment."`
	Evaluated   *int          `json:"evaluated,omitempty" doc:"Of a dynamic segment: percent of its former users evaluated."`
	CreatedAt   resource.Time `json:"createdAt"`
	UpdatedAt   resource.Time `json:"updatedAt"`
}

// SegmentStored are the segments of a PUT.
type SegmentStored struct {
	Segments []Segment `json:"segments"`
	Total    int       `json:"total" doc:"Segments of the marketplace."`
}

// SegmentList is one page of segments.
type SegmentList struct {
	Segments []Segment `json:"segments"`
	Total    int       `json:"total" doc:"Segments of the marketplace."`
	resource.Page
}

type (
	segmentPutInput  struct{ Body SegmentBody }
	putOutput        struct{ Body SegmentStored }
	segmentListInput struct {
		Limit    int    `query:"limit" minimum:"1" maximum:"100" default:"100"`
		NextPage string `query:"next_page"`
	}
	segmentListOutput struct{ Body SegmentList }
	oneSegmentInput   struct {
		ID string `path:"segment_id" minLength:"1" maxLength:"255" doc:"The marketplace's own id."`
	}
)

func putSegments(ctx context.Context, in *segmentPutInput) (*putOutput, error) {
	st := resource.Tenant(ctx)
	if found := in.Body.validateCrossField(); len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	all := make([]store.Segment, len(in.Body.Segments))
	for i := range in.Body.Segments {
		all[i] = in.Body.Segments[i].segment()
	}
	if err := st.PutSegments(ctx, all); err != nil {
		return nil, resource.ErrorOf(err)
	}
	answered, total, err := answers(ctx, all)
	if err != nil {
		return nil, err
	}
	return &putOutput{SegmentStored{answered, total}}, nil
}

// validateCrossField checks the rules that concern more than one member.
func (b *SegmentBody) validateCrossField() (found []resource.Violation) {
	seen := map[string]bool{}
	for i := range b.Segments {
		d := &b.Segments[i]
		if seen[d.ID] {
			found = append(found, resource.At("value_error", "is repeated in the request", "body", "segments", i, "id"))
		}
		seen[d.ID] = true
		switch c := d.Config; {
		case c == nil:
		case c.Type == "dynamic" && c.Definition == nil:
			found = append(found, resource.At("missing", "required of a dynamic segment", "body", "segments", i, "config", "definition"))
		case c.Type == "static" && c.Definition != nil:
			found = append(found, resource.At("value_error", "a static segment has no definition", "body", "segments", i, "config", "definition"))
		}
	}
	return found
}

func (d *SegmentDefinition) segment() store.Segment {
	x := store.Segment{ExternalID: d.ID, Name: d.Name, Description: d.Description}
	if d.Config != nil && d.Config.Definition != nil {
		text, err := json.Marshal(d.Config.Definition)
		if err != nil {
			panic("a definition is plain data: " + err.Error())
		}
		x.Definition = text
	}
	return x
}

// answers converts segments to answers with their sizes, and counts the segments of the marketplace.
func answers(ctx context.Context, all []store.Segment) ([]Segment, int, error) {
	st := resource.Tenant(ctx)
	total, err := st.CountSegments(ctx)
	if err != nil {
		return nil, 0, resource.ErrorOf(err)
	}
	progress, err := st.SegmentProgress(ctx)
	if err != nil {
		return nil, 0, resource.ErrorOf(err)
	}
	answered := make([]Segment, len(all))
	for i := range all {
		x := &all[i]
		size, err := st.SegmentSize(ctx, x.ExternalID)
		if err != nil {
			return nil, 0, resource.ErrorOf(err)
		}
		answered[i] = Segment{
			ID: x.ExternalID, Name: x.Name, Description: x.Description, Config: configOf(x), Size: size,
			CreatedAt: resource.Time(x.CreatedMillis), UpdatedAt: resource.Time(x.UpdatedMillis),
		}
		if x.Dynamic() {
			answered[i].Evaluated = new(progress[x.ExternalID])
		}
	}
	return answered, total, nil
}

func configOf(x *store.Segment) SegmentConfig {
	if !x.Dynamic() {
		return SegmentConfig{Type: "static"}
	}
	c := SegmentConfig{Type: "dynamic", Definition: new(SegmentDynamic)}
	if err := json.Unmarshal(x.Definition, c.Definition); err != nil {
		panic("a stored definition is not JSON: " + err.Error())
	}
	return c
}

func listSegments(ctx context.Context, in *segmentListInput) (*segmentListOutput, error) {
	st := resource.Tenant(ctx)
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "listSegments")
	page, end, err := resource.List(cursors, in.NextPage, in.Limit, func(x store.Segment) string { return x.ListPosition() },
		func(p store.Page) ([]store.Segment, bool, error) { return st.Segments(ctx, p) })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	answered, total, err := answers(ctx, page)
	if err != nil {
		return nil, err
	}
	return &segmentListOutput{SegmentList{answered, total, end}}, nil
}

func removeSegment(ctx context.Context, in *oneSegmentInput) (*struct{}, error) {
	err := resource.Tenant(ctx).DeleteSegment(ctx, in.ID)
	if errors.Is(err, store.ErrWrongState) {
		return nil, resource.Refuse(apierr.InvalidOperation, "a campaign uses the segment")
	}
	return nil, resource.ErrorOf(err)
}
