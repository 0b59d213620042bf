package manage

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strconv"
	"strings"
)

// markdown turns a document of this repository into HTML. It knows what these documents use: headings, paragraphs, lists of one
// level, tables and fenced blocks, and within text code, bold and links, also those that name a definition at the end of the
// document. Everything else stays text, and all text is escaped.
type markdown struct {
	out   strings.Builder
	lines []string
	// link returns the address that a link leads to, or, for a file of the repository that is not served, its path.
	link        func(target string) (address, file string)
	definitions map[string]string // Targets of links by name.
}

// renderMarkdown returns the HTML of a document.
func renderMarkdown(text string, link func(target string) (address, file string)) template.HTML {
	m := &markdown{link: link, definitions: map[string]string{}}
	text = definition.ReplaceAllStringFunc(text, func(line string) string {
		parts := definition.FindStringSubmatch(line)
		m.definitions[parts[1]] = parts[2]
		return ""
	})
	m.lines = strings.Split(text, "\n")
	for len(m.lines) > 0 {
		m.block()
	}
	return template.HTML(m.out.String()) //nolint:gosec // Every text was escaped.
}

var definition = regexp.MustCompile(`(?m)^\[([a-z]+)\]: (\S+)$`)

var numbered = regexp.MustCompile(`^[0-9]+\. `)

// block writes the block that begins at the first line, and removes its lines.
func (m *markdown) block() {
	line := m.lines[0]
	switch {
	case strings.TrimSpace(line) == "":
		m.lines = m.lines[1:]
	case strings.HasPrefix(line, "```"):
		m.fenced()
	case strings.HasPrefix(line, "#"):
		m.heading()
	case strings.HasPrefix(line, "|"):
		m.table()
	case strings.HasPrefix(line, "- "):
		m.list("ul", func(line string) (string, bool) { return strings.CutPrefix(line, "- ") })
	case numbered.MatchString(line):
		m.list("ol", func(line string) (string, bool) {
			at := numbered.FindStringIndex(line)
			if at == nil {
				return line, false
			}
			return line[at[1]:], true
		})
	default:
		fmt.Fprintf(&m.out, "<p>%s</p>\n", m.inline(strings.Join(m.take(inParagraph), "\n")))
	}
}

// take removes and returns the first line and those behind it that belong to the same block.
func (m *markdown) take(belongs func(line string) bool) []string {
	n := 1
	for n < len(m.lines) && belongs(m.lines[n]) {
		n++
	}
	taken := m.lines[:n]
	m.lines = m.lines[n:]
	return taken
}

func inParagraph(line string) bool {
	return strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "```") && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "|") &&
		!strings.HasPrefix(line, "- ") && !numbered.MatchString(line)
}

func (m *markdown) fenced() {
	block := m.take(func(line string) bool { return !strings.HasPrefix(line, "```") })
	fmt.Fprintf(&m.out, "<pre>%s</pre>\n", html.EscapeString(strings.Join(block[1:], "\n")))
	if len(m.lines) > 0 {
		m.lines = m.lines[1:] // The closing fence.
	}
}

func (m *markdown) heading() {
	text := strings.TrimLeft(m.lines[0], "#")
	level := min(len(m.lines[0])-len(text), 6)
	text = strings.TrimSpace(text)
	fmt.Fprintf(&m.out, "<h%d id=\"%s\">%s</h%d>\n", level, anchor(text), m.inline(text), level)
	m.lines = m.lines[1:]
}

// anchor returns the id of a heading: lower-case letters and digits, with dashes for spaces, as GitHub makes it.
func anchor(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-':
			return '-'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return -1
	}, strings.ToLower(text))
}

func (m *markdown) table() {
	rows := m.take(func(line string) bool { return strings.HasPrefix(line, "|") })
	m.out.WriteString("<table>\n")
	for i, row := range rows {
		if i == 1 && strings.Trim(row, "|-: ") == "" {
			continue // The line below the head.
		}
		cell := "td"
		if i == 0 {
			cell = "th"
		}
		m.out.WriteString("<tr>")
		for text := range strings.SplitSeq(strings.Trim(row, "| "), "|") {
			fmt.Fprintf(&m.out, "<%s>%s</%s>", cell, m.inline(strings.TrimSpace(text)), cell)
		}
		m.out.WriteString("</tr>\n")
	}
	m.out.WriteString("</table>\n")
}

// list writes the items of a list. A line that is indented continues its item.
func (m *markdown) list(tag string, item func(line string) (text string, begins bool)) {
	fmt.Fprintf(&m.out, "<%s>\n", tag)
	for len(m.lines) > 0 {
		if _, begins := item(m.lines[0]); !begins {
			break
		}
		lines := m.take(func(line string) bool { return strings.HasPrefix(line, "  ") })
		first, _ := item(lines[0])
		text := strings.Join(append([]string{first}, lines[1:]...), "\n")
		fmt.Fprintf(&m.out, "<li>%s</li>\n", m.inline(text))
	}
	fmt.Fprintf(&m.out, "</%s>\n", tag)
}

var (
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	kept       = regexp.MustCompile("\x00([0-9]+)\x00")
	boldText   = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	linkSyntax = regexp.MustCompile(`\[([^\]]+)\](?:\(([^()\s]+)\)|\[([a-z]+)\])`)
)

// inline returns the HTML of text within a block. Code is put aside first, because it may hold what looks like syntax.
func (m *markdown) inline(text string) string {
	text = strings.ReplaceAll(text, "\x00", "")
	var code []string
	text = codeSpan.ReplaceAllStringFunc(text, func(span string) string {
		code = append(code, "<code>"+html.EscapeString(strings.Trim(span, "`"))+"</code>")
		return "\x00" + strconv.Itoa(len(code)-1) + "\x00"
	})
	text = html.EscapeString(text)
	text = boldText.ReplaceAllString(text, "<strong>$1</strong>")
	text = linkSyntax.ReplaceAllStringFunc(text, func(found string) string {
		parts := linkSyntax.FindStringSubmatch(found)
		target := html.UnescapeString(parts[2])
		if target == "" {
			target = m.definitions[parts[3]]
		}
		address, file := m.link(target)
		if address == "" {
			return fmt.Sprintf("%s (<code>%s</code>)", parts[1], html.EscapeString(file))
		}
		return fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(address), parts[1])
	})
	return kept.ReplaceAllStringFunc(text, func(place string) string {
		n, err := strconv.Atoi(strings.Trim(place, "\x00"))
		if err != nil || n >= len(code) {
			return ""
		}
		return code[n]
	})
}
