package command

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/gavel-ads/gavel/shard/model"
)

// TestExampleOfContributing compiles the row that CONTRIBUTING.md shows for a new campaign field, next to all rows of a
// campaign, and uses it.
func TestExampleOfContributing(t *testing.T) {
	const LevelNote = LevelNewest
	type campaign struct {
		model.Campaign
		Note string
	}
	type change struct {
		PatchCampaign
		Note *string
	}
	rows := []row[campaign]{
		fixed("old", value(campaigns), func(c *campaign) *model.Campaign { return &c.Campaign }),
		// What follows stands in CONTRIBUTING.md.
		patched(20, "note", text,
			func(c *campaign) *string { return &c.Note },
			func(p *change) **string { return &p.Note }).optional().since(LevelNote),
	}
	if used := campaigns.known | uint64(campaignPatches.known); used != 1<<20-1 {
		t.Errorf("the example does not have the next free number: %b are used", used)
	}
	table := newTable("campaign", rows...)
	patches := patchesOf[change](table)
	commands := newTable("patch", changes(patches))
	p := change{Note: new("for people")}
	cmd := appendCommand(nil, OpPatchCampaign, now, commands, &p)
	c, err := Open(cmd)
	if err != nil || c.Needs != LevelNote {
		t.Fatalf("it needs level %d, %v", c.Needs, err)
	}
	got, err := readCommand(&c, commands)
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%+v, %v", got, err)
	}
	before := campaign{Campaign: someCampaign}
	after := before
	patches.change(&after, &got)
	if note := patches.members("note"); after.Note != "for people" || patches.version(&before, note) == patches.version(&after, note) {
		t.Errorf("the changed campaign is %+v", after)
	}
	d := NewDecoder(table.append(nil, &after))
	var stored campaign
	if table.read(&d, &stored); d.Err() != nil || !reflect.DeepEqual(stored, after) {
		t.Errorf("%+v, %v", stored, d.Err())
	}

	document, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_field_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(document), "```go\n\tpatched(")
	shown, _, _ = strings.Cut(shown, "\n```")
	words := strings.Join(strings.Fields(shown), " ")
	if words == "" || !strings.Contains(strings.Join(strings.Fields(string(source)), " "), words) {
		t.Errorf("CONTRIBUTING.md shows another row:\n%s", shown)
	}
}
