package shardtest

import (
	"encoding/json"
	"maps"

	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/model"
)

// PutRecords applies a PutRecords whose records have Expect 0 or command.Any.
func (m *Model) PutRecords(p *command.PutRecords) command.Result {
	after := make(map[Name]Record)
	maps.Copy(after, m.Records)
	for i, r := range p.Records {
		name := Name{r.Kind, r.Marketplace, r.ID}
		old, found := after[name]
		same := func(class string, count func(Name, Record) bool) (n int) {
			for other, x := range after {
				if other.Kind == r.Kind && other.Market == r.Marketplace && x.Class == class && count(other, x) {
					n++
				}
			}
			return n
		}
		expired := func(x Record) bool { return x.ExpiresMillis != 0 && x.ExpiresMillis <= m.Now }
		lives := func(other Name, x Record) bool { return other == name || !expired(x) }
		stored := func(Name, Record) bool { return true }
		switch {
		case r.Expect == 0 && found:
			return refuse(command.AlreadyExists, i)
		case r.Value == nil && found && r.NotLast && same(old.Class, lives) == 1:
			return refuse(command.WrongState, i)
		case r.Value == nil:
			delete(after, name)
		case r.Max > 0 && !(found && old.Class == r.Class) && same(r.Class, lives) >= r.Max:
			return refuse(command.TooMany, i)
		default:
			if r.Max > 0 && !(found && old.Class == r.Class) && same(r.Class, stored) >= r.Max {
				maps.DeleteFunc(after, func(other Name, x Record) bool {
					return other.Kind == r.Kind && other.Market == r.Marketplace && x.Class == r.Class && expired(x)
				})
			}
			after[name] = Record{r.Class, string(r.Value), r.ExpiresMillis}
		}
	}
	m.Records = after
	return command.Result{}
}

// PutCategories applies a PutCategories.
func (m *Model) PutCategories(p *command.PutCategories) command.Result {
	after := make(map[Name]model.Category)
	maps.Copy(after, m.Categories)
	for _, c := range p.Categories {
		name := Name{Market: p.Marketplace, ID: c.ID}
		if old, found := after[name]; found {
			c.CreatedMillis = old.CreatedMillis
		}
		after[name] = c
	}
	for i, c := range p.Categories {
		at := after[Name{Market: p.Marketplace, ID: c.ID}]
		for range len(after) + 1 {
			if at.ParentID == c.ID {
				return refuse(command.Cycle, i)
			}
			at = after[Name{Market: p.Marketplace, ID: at.ParentID}]
		}
	}
	m.Categories = after
	return command.Result{}
}

// PutProducts applies a PutProducts.
func (m *Model) PutProducts(p *command.PutProducts) command.Result {
	for _, x := range p.Products {
		name := Name{Market: p.Marketplace, ID: x.ID}
		if old, found := m.Products[name]; found {
			x.CreatedMillis = old.CreatedMillis
		}
		m.Products[name] = x
	}
	return command.Result{}
}

// PatchProducts applies a PatchProducts that changes names, prices, vendors and the document member "name".
func (m *Model) PatchProducts(p *command.PatchProducts) command.Result {
	for i := range p.Products {
		if _, found := m.Products[Name{Market: p.Marketplace, ID: p.Products[i].ID}]; !found {
			return refuse(command.NotFound, i)
		}
	}
	for _, patch := range p.Products {
		name := Name{Market: p.Marketplace, ID: patch.ID}
		x := m.Products[name]
		document := map[string]json.RawMessage{}
		if len(x.Document) > 0 {
			_ = json.Unmarshal(x.Document, &document) // Written below, or by the generator.
		}
		for _, member := range patch.Document {
			document[member.Name] = member.Value
		}
		x.Document, _ = json.Marshal(document)
		if patch.Name != nil {
			x.Name = *patch.Name
		}
		if patch.Price != nil {
			x.Price = *patch.Price
		}
		if patch.Vendors != nil {
			x.Vendors = *patch.Vendors
		}
		x.UpdatedMillis = m.Now
		m.Products[name] = x
	}
	return command.Result{}
}

// Delete applies a DeleteCatalog.
func (m *Model) Delete(x *command.DeleteCatalog) command.Result {
	for _, id := range x.Products {
		delete(m.Products, Name{Market: x.Marketplace, ID: id})
	}
	for _, id := range x.Categories {
		delete(m.Categories, Name{Market: x.Marketplace, ID: id})
	}
	return command.Result{}
}
