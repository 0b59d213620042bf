package daemon

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/model"
)

// ParseMarketplace checks the id of a marketplace and returns it in its usual form.
func ParseMarketplace(text string) (string, error) {
	id, err := ids.Parse(text)
	if err != nil {
		return "", fmt.Errorf("the marketplace is %.60q; want its id, such as 01931c5e-7f2a-7000-8000-000000000001", text)
	}
	return id.String(), nil
}

// openOnly opens one marketplace in a restored store and closes all others, in every group. It changes nothing when the
// marketplace is not there, or was not closed in every group.
func openOnly(s *raftstore.Store, t ids.Topology, id string) error {
	only, err := ids.Parse(id)
	if err != nil {
		return err
	}
	stored := make(map[ids.Group][]model.Marketplace)
	for _, g := range t.Groups() {
		err := s.Group(uint16(g)).Read(func(r raftstore.Reader) error {
			stored[g] = shard.Queries{R: r}.Marketplaces()
			return nil
		})
		if err != nil {
			return err
		}
		if err := closedIn(g, stored[g], only); err != nil {
			return err
		}
	}
	now := time.Now().UnixMilli()
	for i := range stored[t.Meta()] { // Every group gets the same settings.
		m := &stored[t.Meta()][i]
		if closed := m.ID != only; m.Closed() == closed {
			continue
		}
		m.Closings++
		m.UpdatedMillis = max(now, m.UpdatedMillis+1)
		for _, g := range t.Groups() {
			if err := putSettings(s.Group(uint16(g)), m); err != nil {
				return fmt.Errorf("group %d: %w", g, err)
			}
		}
	}
	return nil
}

// closedIn returns an error unless a group has the marketplace and has closed it.
func closedIn(group ids.Group, all []model.Marketplace, id ids.UUID) error {
	var others []string
	for i := range all {
		if all[i].ID != id {
			others = append(others, fmt.Sprintf("%v (%s)", all[i].ID, all[i].Name))
			continue
		}
		if !all[i].Closed() {
			return fmt.Errorf("marketplace %v is open in group %d: what its old cell records from now on would be lost; "+
				"gavel cells move closes it there before the backup", id, group)
		}
		return nil
	}
	return fmt.Errorf("there is no marketplace %v in group %d; it has %s", id, group, strings.Join(others, ", "))
}

// putSettings writes the settings of a marketplace in a group.
func putSettings(g *raftstore.Group, m *model.Marketplace) error {
	answer, err := g.Propose(context.Background(), command.AppendPutMarketplace(nil, m.UpdatedMillis, m))
	if err != nil {
		return err
	}
	r, err := command.ReadResult(answer)
	if err == nil && r.Refusal != command.Done {
		err = fmt.Errorf("the settings of marketplace %v are refused: %v", m.ID, r.Refusal)
	}
	return err
}
