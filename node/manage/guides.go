package manage

import (
	"html/template"
	"path"
	"strings"
)

// Guide is a document in Markdown, whose first line is its title. It is served at /docs/guides/NAME.
type Guide struct{ Name, Text string }

// guidePage is what the templates of the guides show.
type guidePage struct {
	Name, Title, Lead string
	Body              template.HTML
}

// guidePages returns the pages of the guides, in order.
func guidePages(guides []Guide) []guidePage {
	pages := make([]guidePage, len(guides))
	for i, g := range guides {
		title, rest, _ := strings.Cut(g.Text, "\n")
		lead, _, _ := strings.Cut(strings.TrimSpace(rest), "\n\n")
		pages[i] = guidePage{
			Name: g.Name, Title: strings.TrimPrefix(title, "# "), Lead: strings.ReplaceAll(lead, "`", ""),
			Body: renderMarkdown(g.Text, guideLink),
		}
	}
	return pages
}

// guideDirectory is where the guides lie in the repository, beside each other and below the runbook.
const guideDirectory = "node/operator/guides"

// guideLink returns where a link of a guide leads on this listener, or the path of a file that it does not serve.
func guideLink(target string) (address, file string) {
	name, fragment, within := strings.Cut(target, "#")
	if within {
		fragment = "#" + fragment
	}
	switch {
	case strings.HasPrefix(target, "/docs"), strings.HasPrefix(target, "https://"):
		return target, ""
	case name == "../RUNBOOK.md":
		return "/docs/runbook", ""
	case strings.HasSuffix(name, ".md") && !strings.Contains(name, "/"):
		return "/docs/guides/" + strings.TrimSuffix(name, ".md") + fragment, ""
	}
	return "", path.Join(guideDirectory, target)
}
