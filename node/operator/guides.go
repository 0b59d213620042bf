package operator

import "embed"

//go:embed guides/*.md
var guideFiles embed.FS

// Guide is a document for people who use Gavel, in Markdown. The management listener serves it at /docs/guides/NAME.
type Guide struct{ Name, Text string }

// guideNames are the guides in the order in which they are listed; each is guides/NAME.md.
var guideNames = []string{"first-hour", "storefront", "storefront-server", "catalog", "money", "cluster", "security", "upgrade", "capacity"}

// Guides returns all guides.
func Guides() []Guide {
	all := make([]Guide, len(guideNames))
	for i, name := range guideNames {
		text, err := guideFiles.ReadFile("guides/" + name + ".md")
		if err != nil {
			panic("operator: a guide is not embedded: " + err.Error())
		}
		all[i] = Guide{name, string(text)}
	}
	return all
}
