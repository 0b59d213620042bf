package creative

import (
	"context"
	"crypto/sha256"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gavel-ads/gavel/node/manage/resource"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

const (
	slotBase = "/public/v1/media-service/slots"
	slotTag  = "Slots"
)

// RegisterSlots mounts the operations.
func RegisterSlots(api huma.API) {
	resource.Add(api, resource.Op{
		ID: "createSlots", Method: http.MethodPost, Path: slotBase, Tag: slotTag,
		Doc: "Add a slot, or 1 to 50 of them, all or none; the answer has the form of the request.",
	}, createSlot)
	resource.Add(api, resource.Op{ID: "listSlots", Method: http.MethodGet, Path: slotBase, Tag: slotTag, Doc: "List the slots, newest first."}, listSlots)
	resource.Add(api, resource.Op{
		ID: "patchSlot", Method: http.MethodPatch, Path: slotBase + "/{slot_id}", Tag: slotTag, Doc: "Switch a slot on or off, or change its dimensions.",
	}, patchSlot)
	resource.Add(api, resource.Op{
		ID: "getSlotFallback", Method: http.MethodGet, Path: slotBase + "/{slot_id}/fallback", Tag: slotTag,
		Doc: "Read what a slot shows when no bid wins.",
	}, getFallback)
	resource.Add(api, resource.Op{
		ID: "putSlotFallback", Method: http.MethodPut, Path: slotBase + "/{slot_id}/fallback", Tag: slotTag,
		Doc: "Replace what a slot shows when no bid wins.",
	}, putFallback)
}

type (
	slotCreateInput struct{ Body resource.OneOrMany[SlotBody] }
	createOutput    struct{ Body resource.OneOrMany[Slot] }
	slotListInput   struct {
		Position string `query:"position" enum:"category,search,category_search,landing"`
		PageID   string `query:"page_id" format:"uuid" doc:"The id of the page in the answers of slots."`
		Limit    int    `query:"limit" minimum:"1" maximum:"50" default:"25"`
		NextPage string `query:"next_page"`
	}
	slotListOutput struct{ Body SlotList }
	slotPatchInput struct {
		OneSlot
		Body SlotPatchBody
	}
	slotOutput struct{ Body Slot }
)

// OneSlot names a slot.
type OneSlot struct {
	SlotID string `path:"slot_id" minLength:"1" maxLength:"255" doc:"The external id, or the UUID."`
}

func createSlot(ctx context.Context, in *slotCreateInput) (*createOutput, error) {
	var found []resource.Violation
	all := make([]store.Slot, len(in.Body.Items))
	for i := range in.Body.Items {
		b := &in.Body.Items[i]
		if b.Page != nil {
			found = append(found, b.Page.check(in.Body.At(i, "page"))...)
		}
		all[i] = store.Slot{ExternalID: b.SlotID, Position: b.Position, Page: b.Page.stored()}
		b.Dimensions.put(&all[i])
	}
	if len(found) > 0 {
		return nil, resource.Invalid(found...)
	}
	st := resource.Tenant(ctx)
	all, err := st.CreateSlots(ctx, all)
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &createOutput{resource.OneOrMany[Slot]{Items: answers(st, all), Many: in.Body.Many}}, nil
}

func listSlots(ctx context.Context, in *slotListInput) (*slotListOutput, error) {
	st := resource.Tenant(ctx)
	m := st.Settings()
	keep := func(s *store.Slot) bool {
		return (in.Position == "" || s.Position == in.Position) &&
			(in.PageID == "" || s.Page != nil && pageID(&m, s.Page) == resource.ParseUUID(in.PageID))
	}
	cursors := resource.CursorsFor(ctx, st.CursorKey(), "listSlots", in.Position, in.PageID)
	all, end, err := resource.List(cursors, in.NextPage, in.Limit,
		func(s store.Slot) string { return s.ListPosition() },
		func(p store.Page) ([]store.Slot, bool, error) { return st.Slots(ctx, p, keep) })
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	return &slotListOutput{SlotList{answers(st, all), end}}, nil
}

func patchSlot(ctx context.Context, in *slotPatchInput) (*slotOutput, error) {
	st := resource.Tenant(ctx)
	s, err := st.ChangeSlot(ctx, in.SlotID, func(s *store.Slot) {
		if in.Body.IsActive != nil {
			s.Inactive = !*in.Body.IsActive
		}
		if in.Body.Dimensions != nil {
			in.Body.Dimensions.put(s)
		}
	})
	if err != nil {
		return nil, resource.ErrorOf(err)
	}
	m := st.Settings()
	return &slotOutput{slotAnswer(&m, &s)}, nil
}

func answers(st store.Tenant, all []store.Slot) []Slot {
	m := st.Settings()
	out := make([]Slot, len(all))
	for i := range all {
		out[i] = slotAnswer(&m, &all[i])
	}
	return out
}

// pageID is the id of a page. It follows from the URL, so all slots of a page have the same.
func pageID(m *model.Marketplace, p *store.SlotPage) ids.UUID {
	return ids.Derive(sha256.Sum256([]byte("slot page\n"+m.ID.String()+"\n"+p.URL)), 0, 0)
}
