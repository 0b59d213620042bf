package apierr

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// interfaceTable reads errCode to statuses from a copy of the interface's table: rows "| `code`*, `code` | 400; 403 | … |".
func interfaceTable(t *testing.T, path string) map[string][]int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "## 8 errCode table")
	if !found {
		t.Fatalf("%s has no errCode table", path)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	code := regexp.MustCompile("`([a-z_]+)`")
	statuses := map[string][]int{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !code.MatchString(cells[1]) {
			continue
		}
		for _, m := range code.FindAllStringSubmatch(cells[1], -1) {
			for s := range strings.SplitSeq(cells[2], ";") {
				n, err := strconv.Atoi(strings.TrimSpace(s))
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				statuses[m[1]] = append(statuses[m[1]], n)
			}
		}
	}
	return statuses
}

// added are codes that Gavel has beyond the decisions. The copy of the table has them, so they are described in one place.
var added = map[string][]int{
	"limit_exceeded": {409}, "not_signed_in": {401}, "wrong_credentials": {401}, "forbidden_role": {403}, "cross_origin_request": {403},
	"second_factor_required": {401},
}

func TestTableIsTheInterface(t *testing.T) {
	paths := []string{"testdata/errcodes.md"}
	// The decisions themselves, of which testdata holds a copy of the table: beside the repository where they are at hand, or
	// where GAVEL_INTERFACE says, and then they have to be there.
	dir, required := os.LookupEnv("GAVEL_INTERFACE")
	if !required {
		dir = filepath.Join("..", "..", "..", "shared")
	}
	live := filepath.Join(dir, "interface-decisions.md")
	if _, err := os.Stat(live); err == nil || required {
		paths = append(paths, live)
	} else {
		t.Log("the interface is not at hand: compared with the copy of its table alone")
	}
	ours := map[string][]int{}
	for c := range Codes {
		if c := Code(c); c != OK && c != HeadTooLarge { // The interface names 431 beside the limit of the head.
			ours[c.String()] = append(ours[c.String()], c.Status())
		}
	}
	for _, path := range paths {
		theirs := interfaceTable(t, path)
		if path == live {
			for code, statuses := range added {
				if theirs[code] == nil {
					theirs[code] = statuses
				}
			}
		}
		for code, statuses := range theirs {
			if !slices.Equal(ours[code], statuses) {
				t.Errorf("%s: %s has status %v, the interface says %v", path, code, ours[code], statuses)
			}
		}
		for code := range ours {
			if theirs[code] == nil {
				t.Errorf("%s: %s is not in the interface", path, code)
			}
		}
	}
}

func TestEveryCodeSaysWhatIsWrong(t *testing.T) {
	for c := range Codes {
		c := Code(c)
		if c.Message() == "" || c.Reason() == "" || strings.HasSuffix(c.Message(), ".") || strings.ContainsAny(c.Message(), `"\`) {
			t.Errorf("%s: message %q, reason %q", c, c.Message(), c.Reason())
		}
	}
	if got := Code(255); got.Status() != 500 || got.String() != "internal_server_error" {
		t.Errorf("a code out of range reads as %s %d, want a defect", got, got.Status())
	}
}

func TestAppend(t *testing.T) {
	f := func(code Code, message, want string) {
		t.Helper()
		got := string(Append([]byte("x"), code, message, "https://ads.example"))
		if got != "x"+want {
			t.Errorf("got  %s\nwant x%s", got, want)
		}
		var object map[string]string
		if err := json.Unmarshal([]byte(got[1:]), &object); err != nil || len(object) != 4 {
			t.Errorf("%s: %v", got, err)
		}
		if message != "" && object["message"] != message {
			t.Errorf("message %q came back as %q", message, object["message"])
		}
	}
	f(ForbiddenAPIKey, "", `{"errCode":"invalid_api_key","docUrl":"https://ads.example/docs/errors#invalid_api_key",`+
		`"message":"the API key is of the wrong kind for this operation","error":"Forbidden"}`)
	f(RequestCanceled, "", `{"errCode":"request_canceled","docUrl":"https://ads.example/docs/errors#request_canceled",`+
		`"message":"the client closed the connection","error":"Client Closed Request"}`)
	f(BadRequest, "a\"b\\c\n\x00\x7fé\U0001F600", `{"errCode":"bad_request","docUrl":"https://ads.example/docs/errors#bad_request",`+
		`"message":"a\"b\\c\u000a\u0000`+"\x7fé\U0001F600"+`","error":"Bad Request"}`)
}

func TestErrorNamesCodeAndMessage(t *testing.T) {
	if got := New(InvalidVendor, "").Error(); got != "invalid_vendor: the vendor is unknown" {
		t.Error(got)
	}
	if got := New(InvalidVendor, "v9").Error(); got != "invalid_vendor: v9" {
		t.Error(got)
	}
}
