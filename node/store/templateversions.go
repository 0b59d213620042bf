package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
)

// TemplateVersionsMax is how many versions of a template there are at most, the present one included. BOUND: a version has up to 70 kB,
// mostly its schema. The oldest is dropped.
const TemplateVersionsMax = 20

// templateVersions is the class of the earlier versions of templates, and begins the ids of their records, as the name of a plain
// resource does.
const templateVersions = "template-versions"

// number is the number of a version. Nodes that do not know versions store none, so a template that they changed begins again at 1.
func (x *Template) number() int { return max(x.Version, 1) }

// keepTemplate numbers a version and signs it, and returns the record that keeps the version before.
//
// INVARIANT: the version before is written by the command of the change, which expects the template that was read. So of changes at the
// same moment none is missing and no number is used twice. Versions lie in a ring of TemplateVersionsMax-1 records, where each
// replaces the one that is that much older: no command has to delete, and no template can have more.
func keepTemplate(ctx context.Context, t Tenant, before, x *Template) []command.Record {
	x.By, x.Version = authorOf(ctx), 1
	if before == nil {
		return nil
	}
	x.Version = before.number() + 1
	return []command.Record{{
		Kind: command.RecordPlain, Marketplace: t.marketplace, ID: versionRecord(before.ID, before.number()),
		Value: encoded(before), Expect: command.Any, Class: templateVersions,
	}}
}

// versionRecord is the id of the record of an earlier version.
func versionRecord(id ids.UUID, number int) string {
	return fmt.Sprintf("%s/%s/%02d", templateVersions, id, number%(TemplateVersionsMax-1))
}

// TemplateVersions returns the versions of a template, newest first and beginning with the present one, or ErrNotFound.
func (t Tenant) TemplateVersions(id ids.UUID) ([]Template, error) {
	return readOne(t, t.store.Groups.Meta(), func(b shard.Queries) ([]Template, bool) {
		now, found := Templates().in.lookup(b, t, keyOfID(id))
		if !found {
			return nil, false
		}
		all := []Template{now.item}
		prefix := fmt.Sprintf("%s/%s/", templateVersions, id)
		records, _ := b.Records(command.RecordPlain, t.marketplace, prefix, TemplateVersionsMax)
		for i := range records {
			if !strings.HasPrefix(records[i].ID, prefix) {
				break
			}
			// After an older node changed the template, numbers begin again, and the ring has versions from before.
			if x := decoded[Template](records[i].Value); x.number() < now.item.number() {
				all = append(all, x)
			}
		}
		slices.SortFunc(all, func(a, b Template) int { return cmp.Compare(b.number(), a.number()) })
		for i := range all {
			all[i].Version = all[i].number()
		}
		return all, true
	})
}

// RestoreTemplate makes a new version of a template that has what the version with a number had, and returns an error of check, which
// gets that version, without writing. What the template has already makes no new version, and an archived one stays archived.
// ErrNotFound when the template or the version does not exist, ErrAlreadyExists when another template has the name by now.
func (t Tenant) RestoreTemplate(ctx context.Context, id ids.UUID, number int, check func(*Template) error) (Template, error) {
	return Templates().Change(ctx, t, id, func(x *Template) error {
		all, err := t.TemplateVersions(id)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(x Template) bool { return x.Version == number })
		if at < 0 {
			return ErrNotFound
		}
		old := &all[at]
		if err := check(old); err != nil {
			return err
		}
		x.Name, x.Description, x.Schema = old.Name, old.Description, old.Schema
		x.PreviewScreenshot, x.PreviewURL = old.PreviewScreenshot, old.PreviewURL
		return nil
	})
}
