package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/gavel-ads/gavel/node/config"
	"github.com/gavel-ads/gavel/node/operator"
)

// Commands of the guides that no test can run, because they belong to another machine, are commands of gavel.
func TestGuidesNameExistingCommands(t *testing.T) {
	checked := 0
	for _, g := range operator.Guides() {
		for i, part := range strings.Split("\n"+g.Text, "\n```") {
			text, isConsole := strings.CutPrefix(part, "console\n")
			if i%2 == 0 || !isConsole {
				continue
			}
			for line := range strings.Lines(text) {
				if words, ours := strings.CutPrefix(strings.TrimSpace(line), "gavel "); ours {
					checked++
					if err := parseOnly(strings.Fields(words)); err != nil {
						t.Errorf("%s: gavel %s: %v", g.Name, words, err)
					}
				}
			}
		}
	}
	if checked < 4 {
		t.Errorf("only %d commands were found", checked)
	}
	if parseOnly([]string{"cluster", "statsu"}) == nil || parseOnly([]string{"health", "--conf", "x"}) == nil {
		t.Error("a mistyped command or flag is accepted")
	}
}

// parseOnly reads a command line and runs nothing.
func parseOnly(words []string) error {
	words = withCommand(words)
	parser, err := kong.New(newCommands(words), kong.Name("gavel"), kong.Exit(func(int) {}), kong.Bind(&process{}))
	if err != nil {
		return err
	}
	_, err = parser.Parse(words)
	return err
}

// The guides name only settings, variables and alerts that exist.
func TestGuidesNameExistingSettings(t *testing.T) {
	known := map[string]bool{"GAVEL_MANAGE": true, "GAVEL_MANAGE_KEY": true}
	sections := map[string]bool{}
	for _, s := range config.Settings() {
		known[s.Key], known[s.Env] = true, true
		sections[s.Section] = true
	}
	rules, err := os.ReadFile("../../configs/prometheus/rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)alert: (\S+)$`).FindAllStringSubmatch(string(rules), -1) {
		known[found[1]] = true
	}
	word := regexp.MustCompile("`([a-z]+)\\.[a-z_]+`|\\bGAVEL_[A-Z_]+\\b|`Gavel[A-Z][A-Za-z]+`")
	checked := 0
	for _, g := range operator.Guides() {
		for _, found := range word.FindAllStringSubmatch(g.Text, -1) {
			if found[1] != "" && !sections[found[1]] {
				continue // Such as keys.json.
			}
			checked++
			if !known[strings.Trim(found[0], "`")] {
				t.Errorf("%s names %s, which does not exist", g.Name, found[0])
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d names were found", checked)
	}
}
